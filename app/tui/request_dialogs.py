"""Which of the open questions is on the screen (spec 4, M5: one at a time, oldest first)."""

from collections.abc import Callable, Sequence

from textual.app import App

from agent.records.requests import PermissionReply, PermissionRequest, Question, QuestionReply
from app.screens.permission.question import QuestionOutcome, QuestionScreen
from app.screens.permission.screen import Outcome, PermissionScreen

Answer = PermissionReply | QuestionReply


class RequestDialogs:
    """Shows the oldest permission or question while nothing else is open, and closes it when
    it is withdrawn. *reply* hands an answer to the service, *cancel* ends what asks in a
    session (its id)."""

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
        """Bring the screen in line with what waits now."""
        self._answered &= {asked.id for asked in pending}
        waiting = [asked for asked in pending if asked.id not in self._answered]
        shown = self._shown
        if shown is not None:
            if shown.key not in {asked.id for asked in waiting}:
                if shown.is_current:
                    shown.dismiss(None)
            else:
                shown.set_pending(len(waiting))
        elif waiting and self._may_show():
            self._show(waiting[0], len(waiting))

    def _show(self, asked: PermissionRequest | Question, waiting: int) -> None:
        def closed(outcome: Outcome | QuestionOutcome) -> None:
            self._shown = None
            if outcome is None:
                return
            self._answered.add(asked.id)
            if outcome == "cancel":
                self._cancel(asked.session_id)
            else:
                self._reply(asked.id, outcome)

        if isinstance(asked, Question):
            question = QuestionScreen(asked, pending=waiting, grace=self._grace)
            self._shown = question
            self._app.push_screen(question, closed)
        else:
            permission = PermissionScreen(asked, pending=waiting, grace=self._grace)
            self._shown = permission
            self._app.push_screen(permission, closed)
