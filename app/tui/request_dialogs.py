"""Dialogs for pending permission requests and questions, one at a time, oldest first."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from textual.app import App

from agent.records.requests import PermissionReply, Question, QuestionReply
from app.screens.requests.permission import Outcome, PermissionScreen
from app.screens.requests.question import QuestionDialog, QuestionOutcome, QuestionScreen
from app.session_state.live_sessions import LiveSessions, Request

Reply = PermissionReply | QuestionReply


def send_reply(sessions: LiveSessions, request_id: str, reply: Reply) -> None:
    """Send the user's reply to the service that made the request."""
    for runtime in sessions.runtimes:
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
    one ignores keys, in seconds. *source* names the session that a request comes from if it is not
    the open one.
    """

    app: App[int]
    reply: Callable[[str, Reply], object]
    cancel: Callable[[str], None]
    may_show: Callable[[], bool]
    grace: float
    source: Callable[[Request], str] = lambda _: ""
    _shown: PermissionScreen | QuestionDialog | None = field(default=None, init=False)
    _answered: set[str] = field(default_factory=set[str], init=False)
    _put_aside: set[str] = field(default_factory=set[str], init=False)

    def sync(self, pending: Sequence[Request]) -> None:
        """Show the dialog that the *pending* requests call for; close an outdated one."""
        self._answered &= {request.id for request in pending}
        self._put_aside &= {request.id for request in pending}
        hidden = self._answered | self._put_aside
        unanswered = [request for request in pending if request.id not in hidden]
        shown = self._shown
        if shown is not None:
            asked = next((one for one in unanswered if one.id == shown.key), None)
            # Shown again, with the right source, when another session was opened meanwhile.
            if asked is None or self.source(asked) != shown.source:
                if shown.is_current:
                    shown.dismiss(None)
            else:
                shown.set_pending(len(unanswered))
        elif unanswered and self.may_show():
            self._show(unanswered[0], len(unanswered))

    def take_up(self, requests: Iterable[Request]) -> bool:
        """Let those of *requests* that were put aside be shown again; return whether any was."""
        found = self._put_aside & {request.id for request in requests}
        self._put_aside -= found
        return bool(found)

    def _show(self, request: Request, pending: int) -> None:
        def closed(outcome: Outcome | QuestionOutcome) -> None:
            self._shown = None
            if outcome is None:
                return
            if outcome == "later":
                self._put_aside.add(request.id)
                return
            self._answered.add(request.id)
            if outcome == "cancel":
                self.cancel(request.session_id)
            else:
                self.reply(request.id, outcome)

        source = self.source(request)
        if isinstance(request, Question):
            question = _screen_of(request)(
                request, pending=pending, grace=self.grace, source=source
            )
            self._shown = question
            self.app.push_screen(question, closed)
        else:
            permission = PermissionScreen(request, pending=pending, grace=self.grace, source=source)
            self._shown = permission
            self.app.push_screen(permission, closed)


def _screen_of(question: Question) -> type[QuestionDialog]:
    if not question.fields:
        return QuestionScreen
    from app.screens.requests.form import FormScreen  # reads JSON schemas

    return FormScreen
