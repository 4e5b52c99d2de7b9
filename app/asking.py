"""Which of the open questions is on the screen (spec 4, M5: one at a time, oldest first)."""

from collections.abc import Callable, Sequence

from textual.app import App

from agent.questions import PermissionReply, PermissionRequest
from app.screens.permission import Outcome, PermissionScreen


class Asking:
    """Shows the oldest question while nothing else is open, and closes it when it is
    withdrawn. *reply* hands an answer to the service, *cancel* cancels the open turn."""

    def __init__(
        self,
        app: App[int],
        reply: Callable[[str, PermissionReply], object],
        cancel: Callable[[], None],
        may_show: Callable[[], bool],
        grace: float,
    ) -> None:
        self._app = app
        self._reply = reply
        self._cancel = cancel
        self._may_show = may_show
        self._grace = grace
        self._shown: PermissionScreen | None = None
        self._answered: set[str] = set()

    def sync(self, pending: Sequence[PermissionRequest]) -> None:
        """Bring the screen in line with the questions that wait now."""
        self._answered &= {request.id for request in pending}
        waiting = [request for request in pending if request.id not in self._answered]
        shown = self._shown
        if shown is not None:
            if shown.request.id not in {request.id for request in waiting}:
                if shown.is_current:
                    shown.dismiss(None)
            else:
                shown.set_waiting(len(waiting))
        elif waiting and self._may_show():
            self._show(waiting[0], len(waiting))

    def _show(self, request: PermissionRequest, waiting: int) -> None:
        screen = PermissionScreen(request, waiting=waiting, grace=self._grace)
        self._shown = screen

        def closed(outcome: Outcome) -> None:
            self._shown = None
            if outcome is None:
                return
            self._answered.add(request.id)
            if outcome == "cancel":
                self._cancel()
            else:
                self._reply(request.id, outcome)

        self._app.push_screen(screen, closed)
