"""The context of an action: everything that it can use."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeVar

from textual.app import App
from textual.screen import Screen

from agent.records.frozen import frozen
from agent.records.messages import Delivery, Session
from app.session_state.live import LiveSession
from app.session_state.live_sessions import LiveSessions
from app.session_state.notices import NoticeLog
from app.session_state.permission_mode import PermissionModeCycle
from app.terminal.tasks import Tasks, show_dialog
from app.widgets.input.prompt import Prompt
from app.widgets.transcript.paging import HistoryPager
from app.widgets.transcript.transcript import Transcript

if TYPE_CHECKING:  # imports the agent
    from agent.runtime.folder_controls import FolderControls

ResultT = TypeVar("ResultT")

BUSY = "The agent is working. Try again when it is done."
NONE_OPEN = "No session is open yet. Send a prompt first."


@frozen
class ActionContext:
    """The session, the widgets and the services of an action.

    An action runs in a task of its own, so it can wait for dialogs.
    """

    app: App[int]
    live: LiveSession
    live_sessions: LiveSessions
    paging: HistoryPager
    tasks: Tasks
    transcript: Transcript
    """The widget of the session screen, as is ``prompt``."""
    prompt: Prompt
    keys_of: Callable[[str], tuple[str, ...]]
    """Returns the keys of an action by its id, as they are shown."""
    reopen: Callable[[], Awaitable[None]]
    """Opens the folder again with its present settings."""
    env: Mapping[str, str]
    send: Callable[[str, Delivery], Awaitable[None]]
    """Sends a prompt, which returns to the editor if it is refused."""
    refresh: Callable[[], None]
    """Updates the lines around the prompt."""
    take_up_requests: Callable[[], bool]
    """Shows the requests of the open session that were put aside; returns whether there were
    any."""
    new_worktree: Callable[[str], Awaitable[None]]
    """Makes a worktree of that name ("" for a free one) and uses it, with no session yet."""
    leave_worktree: Callable[[Literal["keep", "remove"]], Awaitable[str]]
    """Uses the folder that the worktree was made from; with ``remove``, removes the worktree.
    Returns what was done."""
    browse: Callable[[], None]
    """Lets the keyboard go through the rows of the transcript."""
    modes: PermissionModeCycle
    notices: NoticeLog
    see_notices: Callable[[], None]
    """Resets the count of notices above the prompt."""

    @property
    def controls(self) -> "FolderControls":
        """The controls of the folder of the open session, here or at its server."""
        from agent.runtime.local_controls import controls_of  # loads the agent package

        return controls_of(self.live.runtime)

    async def show(self, screen: Screen[ResultT]) -> ResultT | None:
        """Show a screen and return its result once it closes."""
        return await show_dialog(self.app, screen)

    def notify(self, sentence: str, *, warning: bool = False) -> None:
        """Show a notice above the prompt for a while; it is listed in ``/status``. It is not parsed
        as markup."""
        severity = "warning" if warning else "information"
        self.app.notify(sentence, severity=severity, markup=False)


def with_session(
    run: Callable[[ActionContext, str, Session], Awaitable[None]],
) -> Callable[[ActionContext, str], Awaitable[None]]:
    """Pass the open session to the decorated action; without one, notify the user instead."""

    async def run_with_session(context: ActionContext, argument: str) -> None:
        session = context.live.session
        if session is None:
            context.notify(NONE_OPEN)
        else:
            await run(context, argument, session)

    return run_with_session
