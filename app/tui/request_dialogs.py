"""Dialogs for pending permission requests and questions, one at a time, oldest first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from textual.app import App

from agent.records.requests import PermissionReply, PermissionRequest, Question, QuestionReply
from app.screens.permission.question import QuestionOutcome, QuestionScreen
from app.screens.permission.screen import Outcome, PermissionScreen
from app.session.live import LiveSession

Reply = PermissionReply | QuestionReply


def send_reply(live: LiveSession, request_id: str, reply: Reply) -> None:
    """Send the user's reply to the service that made the request."""
    runtime = live.runtime
    if isinstance(reply, QuestionReply):
        runtime.questions.reply(request_id, reply)
    else:
        runtime.permissions.reply(request_id, reply)


@dataclass(slots=True, eq=False)
class RequestDialogs:
    """Shows the oldest pending request while no other dialog is open, and closes it when the
    request is withdrawn.

    *reply* passes on an answer by the request's id, *cancel* stops the work of the session (by its
    id) that made the request, *may_show* returns whether a dialog can open, and *grace* is how long
    one ignores keys, in seconds.
    """

    app: App[int]
    reply: Callable[[str, Reply], object]
    cancel: Callable[[str], None]
    may_show: Callable[[], bool]
    grace: float
    _shown: PermissionScreen | QuestionScreen | None = field(default=None, init=False)
    _answered: set[str] = field(default_factory=set[str], init=False)

    def sync(self, pending: Sequence[PermissionRequest | Question]) -> None:
        """Show the dialog that the *pending* requests call for; close an outdated one."""
        self._answered &= {request.id for request in pending}
        unanswered = [request for request in pending if request.id not in self._answered]
        shown = self._shown
        if shown is not None:
            if shown.key not in {request.id for request in unanswered}:
                if shown.is_current:
                    shown.dismiss(None)
            else:
                shown.set_pending(len(unanswered))
        elif unanswered and self.may_show():
            self._show(unanswered[0], len(unanswered))

    def _show(self, request: PermissionRequest | Question, pending: int) -> None:
        def closed(outcome: Outcome | QuestionOutcome) -> None:
            self._shown = None
            if outcome is None:
                return
            self._answered.add(request.id)
            if outcome == "cancel":
                self.cancel(request.session_id)
            else:
                self.reply(request.id, outcome)

        if isinstance(request, Question):
            question = QuestionScreen(request, pending=pending, grace=self.grace)
            self._shown = question
            self.app.push_screen(question, closed)
        else:
            permission = PermissionScreen(request, pending=pending, grace=self.grace)
            self._shown = permission
            self.app.push_screen(permission, closed)
