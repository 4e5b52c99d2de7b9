"""Work in the background: lists of commands and sub-agents, and the output of a command."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agent.records.amounts import duration
from agent.records.background import ShellInfo
from app.screens.base.dialog import Dialog
from app.screens.base.hints import KeyHints
from app.screens.base.picker import Picker, Row
from app.text.sanitize import sanitize, sanitize_line, without_colors

if TYPE_CHECKING:  # imports the agent
    from agent.runtime.folder_controls import ShellOutput


def shell_row(shell: ShellInfo, now: float) -> Row:
    return Row(
        key=shell.id,
        title=sanitize_line(shell.command.strip().partition("\n")[0]),
        note=f"{shell_status(shell, now)}  {shell.id}",
        group="Running" if shell.state == "running" else "Ended",
    )


def shell_status(shell: ShellInfo, now: float) -> str:
    """Return the status of a command: ``running 4s``, ``exit 1 after 2s``."""
    took = duration((now if shell.ended is None else shell.ended) - shell.started)
    match shell.state:
        case "running":
            return f"running {took}"
        case "exited" if shell.exit_code is not None:
            return f"exit {shell.exit_code} after {took}"
        case "exited":
            return f"{shell.signal or 'ended by a signal'} after {took}"
        case state:
            return f"{state} after {took}"


def shell_rows(shells: Sequence[ShellInfo], now: float) -> list[Row]:
    """Return the rows of the list: running commands first, newest first."""
    newest = sorted(shells, key=lambda shell: (shell.state != "running", -shell.started))
    return [shell_row(shell, now) for shell in newest]


SubagentState = Literal["working", "background", "needs you", "done"]

_SUBAGENT_GLYPHS: dict[SubagentState, str] = {
    "working": "◐",
    "background": "◐",
    "needs you": "◆",
    "done": "●",
}
_SUBAGENT_TONES: dict[SubagentState, str] = {
    "working": "$tone-accent",
    "background": "$tone-accent",
    "needs you": "$tone-warn",
    "done": "$tone-muted",
}
_SUBAGENT_WORDS: dict[SubagentState, str] = {"background": "in the background"}


def subagent_row(
    key: str, title: str, agent: str, state: SubagentState = "done", lasted: str = ""
) -> Row:
    """Return the row of a sub-agent's session: its task, its agent and its state. *lasted* is for
    how long its turn has been running."""
    words = " ".join(filter(None, (_SUBAGENT_WORDS.get(state, state), lasted)))
    title = f"{_SUBAGENT_GLYPHS[state]} {title or 'Untitled'}"
    return Row(key, title, f"{agent}, {words}", tone=_SUBAGENT_TONES[state])


class BackgroundList(Picker):
    """Lists work in the background. *stop* ends that of a row, by its key."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+d", "stop", "Stop", priority=True)]

    def __init__(
        self,
        title: str,
        rows: Sequence[Row],
        *,
        stop: Callable[[str], object],
        stop_hint: str = "stop",
        **more: Any,
    ) -> None:
        super().__init__(title, rows, hints=(("ctrl+d", stop_hint),), **more)
        self._stop = stop

    def action_stop(self) -> None:
        self.with_highlighted(self._stop)


class ShellScreen(Dialog[None]):
    """Shows the end of a command's output, live. *kill* ends the command."""

    CSS_PATH = "background.tcss"
    AUTO_FOCUS = "#shell-scroll"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close"),
        Binding("ctrl+d", "kill", "End"),
    ]

    def __init__(
        self,
        shell: ShellInfo,
        output: "ShellOutput",
        *,
        clock: Callable[[], float],
        kill: Callable[[str], object],
    ) -> None:
        super().__init__()
        self._shell = shell
        self._output = output
        self._clock = clock
        self._kill = kill
        self._stop: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        with Vertical(id="shell"):
            yield Static(
                Content.styled(sanitize(self._shell.command.strip()), "bold"), id="shell-top"
            )
            yield Static(id="shell-status")
            with VerticalScroll(id="shell-scroll"):
                yield Static(id="shell-output")
            yield Static(KeyHints(("ctrl+d", "stop"), ("esc", "close")), id="shell-keys")

    def on_mount(self) -> None:
        self._stop = self._output.listen(self._shell.id, self._show)
        self._show()

    def on_unmount(self) -> None:
        self._stop()

    def _show(self) -> None:
        """Show the newest output; the view follows it only if it was at the end."""
        self._shell = self._output.find(self._shell.id) or self._shell
        scroll = self.query_one("#shell-scroll", VerticalScroll)
        at_end = scroll.scroll_y >= scroll.max_scroll_y
        text = without_colors(self._output.tail(self._shell.id)).rstrip("\n")
        output = Content(text) if text else Content.styled("No output yet", "$tone-muted")
        self.query_one("#shell-output", Static).update(output)
        status = Content.styled(shell_status(self._shell, self._clock()), "$tone-muted")
        self.query_one("#shell-status", Static).update(status)
        if at_end:
            scroll.scroll_end(animate=False)

    def action_kill(self) -> None:
        self._kill(self._shell.id)
