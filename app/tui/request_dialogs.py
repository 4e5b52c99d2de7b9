"""Dialogs for pending permission requests and questions, one at a time, oldest first."""

from collections.abc import Callable, Sequence

from textual.app import App

from agent.records.requests import PermissionReply, PermissionRequest, Question, QuestionReply
from app.screens.permission.question import QuestionOutcome, QuestionScreen
from app.screens.permission.screen import Outcome, PermissionScreen
from app.session.live import LiveSession

Answer = PermissionReply | QuestionReply


def send_reply(live: LiveSession, request_id: str, reply: Answer) -> None:
    """Send the user's reply to the service that made the request."""
    runtime = live.runtime
    if isinstance(reply, QuestionReply):
        runtime.questions.reply(request_id, reply)
    else:
        runtime.permissions.reply(request_id, reply)


class RequestDialogs:
    """Shows the oldest pending request while no other dialog is open, and closes it when the
    request is withdrawn.

    *reply* passes on an answer by the request's id, *cancel* stops the work of the session (by its
    id) that made the request, *may_show* returns whether a dialog can open, and *grace* is how long
    one ignores keys, in seconds.
    """

    def __init__(
        self,
        app: App[int],
        reply: Callable[[str, Answer], object],
        cancel: Callable[[str], None],
        may_show: Callable[[], bool],
        grace: float,
    ) -> None:
        self._app = app
        self._reply = reply
        self._cancel = cancel
        self._may_show = may_show
        self._grace = grace
        self._shown: PermissionScreen | QuestionScreen | None = None
        self._answered: set[str] = set()

    def sync(self, pending: Sequence[PermissionRequest | Question]) -> None:
        """Show the dialog that the *pending* requests call for, and close one that is out of
        date."""
        self._answered &= {request.id for request in pending}
        unanswered = [request for request in pending if request.id not in self._answered]
        shown = self._shown
        if shown is not None:
            if shown.key not in {request.id for request in unanswered}:
                if shown.is_current:
                    shown.dismiss(None)
            else:
                shown.set_pending(len(unanswered))
        elif unanswered and self._may_show():
            self._show(unanswered[0], len(unanswered))

    def _show(self, request: PermissionRequest | Question, pending: int) -> None:
        def closed(outcome: Outcome | QuestionOutcome) -> None:
            self._shown = None
            if outcome is None:
                return
            self._answered.add(request.id)
            if outcome == "cancel":
                self._cancel(request.session_id)
            else:
                self._reply(request.id, outcome)

        if isinstance(request, Question):
            question = QuestionScreen(request, pending=pending, grace=self._grace)
            self._shown = question
            self._app.push_screen(question, closed)
        else:
            permission = PermissionScreen(request, pending=pending, grace=self._grace)
            self._shown = permission
            self._app.push_screen(permission, closed)
