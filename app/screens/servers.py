"""MCP servers (the list with their status, a page for each, the login) and language servers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content

from agent.mcp.records import STATE_LABELS, ServerStatus
from agent.records.amounts import count
from app.screens.base.page import PageScreen
from app.screens.base.picker import Picker, Row
from app.session_state.folder_facts import short_folder
from app.text.sanitize import sanitize, sanitize_line, without_colors

if TYPE_CHECKING:  # imports the agent
    from agent.lsp.connection import LspStatus, ServerSpec
    from agent.lsp.formatters import Formatter

GLYPHS = {
    "connected": "●",
    "connecting": "◐",
    "needs auth": "◆",
    "failed": "✕",
    "disabled": "○",
}
TONES = {
    "connected": "$tone-ok",
    "connecting": "$tone-accent",
    "needs auth": "$tone-warn",
    "failed": "$tone-err",
    "disabled": "$tone-muted",
}
LSP_GLYPHS = {"starting": "◐", "ready": "●", "failed": "✕", "ended": "○"}
LSP_TONES = {
    "starting": "$tone-accent",
    "ready": "$tone-ok",
    "failed": "$tone-err",
    "ended": "$tone-muted",
}

NO_SERVER = (
    "No language server is running. A server on your PATH starts when a file of its language is "
    'read or changed. Servers that run code of the project also need "lsp": true in your settings.'
)
NO_FORMATTER = 'No formatters are enabled. Set "formatter": true in your settings to enable them.'

MAX_DESCRIPTION = 200
"""Characters of a tool's description that are shown; the model reads all of it."""

MAX_NAME = 32
"""Cells of a tool's name up to which descriptions are in one column."""

CHANGED = "Changed since you allowed it: calls ask. ctrl+y in the list accepts the change."

EMPTY = "No MCP server is configured. Add one with: opencode-py mcp add"


def server_row(status: ServerStatus) -> Row:
    name = sanitize_line(status.server.name)
    note = STATE_LABELS[status.state]
    if status.state == "connected":
        note = f"{count(len(status.tools), 'tool')}"
        changed = len(status.changed_tools) + (status.new_instructions is not None)
        if changed:
            note += f", {changed} changed"
        if status.problems:
            note += f", {count(len(status.problems), 'problem')}"
    elif status.reason:
        note += f": {sanitize_line(status.reason)}"
    return Row(
        key=status.server.name,
        title=f"{GLYPHS[status.state]} {name}",
        note=note,
        hidden=sanitize_line(status.server.endpoint),
        tone=TONES[status.state],
        note_tone="$tone-err" if status.state == "failed" else "$tone-muted",
    )


def server_rows(statuses: Sequence[ServerStatus]) -> list[Row]:
    return [server_row(status) for status in statuses]


class McpScreen(Picker):
    """Returns the name of the server to show.

    *on_action* is called with the highlighted server and what to do: ``switch``, ``reconnect``,
    ``login`` or ``accept``.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+t", "do('switch')", "On/off", priority=True),
        Binding("ctrl+r", "do('reconnect')", "Reconnect", priority=True),
        Binding("ctrl+l", "do('login')", "Log in", priority=True),
        Binding("ctrl+y", "do('accept')", "Accept changes", priority=True),
    ]

    def __init__(
        self,
        rows: Sequence[Row],
        on_action: Callable[[str, str], object],
        *,
        current: str | None = None,
    ) -> None:
        super().__init__(
            "MCP servers",
            rows,
            current=current,
            hints=(
                ("ctrl+t", "on/off"),
                ("ctrl+r", "retry"),
                ("ctrl+l", "log in"),
                ("ctrl+y", "accept changes"),
            ),
            enter="show",
            empty=EMPTY,
        )
        self._on_action = on_action

    def action_do(self, what: str) -> None:
        self.with_highlighted(lambda name: self._on_action(name, what))


class McpServerScreen(PageScreen):
    """The page of one server."""

    def __init__(self, status: ServerStatus) -> None:
        super().__init__(sanitize_line(status.server.name), server_text(status))


class LoginScreen(PageScreen):
    """Shows where to log in; closing it gives up. *copy* copies the address."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "copy", "Copy the address")]

    def __init__(
        self, name: str, address: str, *, opened: bool, copy: Callable[[str], object]
    ) -> None:
        self._address, self._copy = address, copy
        where = "Log in on the page that opens in your browser, or at:"
        super().__init__(
            f"Log in to {sanitize_line(name)}",
            Content.assemble(
                where if opened else "Open this page in a browser on this machine:",
                "\n\n",
                (sanitize_line(address), "$tone-accent"),
                "\n\n",
                ("Waiting for the login…", "$tone-muted"),
            ),
            hints=(("c", "copy address"),),
            close="cancel",
        )

    def action_copy(self) -> None:
        self._copy(self._address)


def server_text(status: ServerStatus) -> Content:
    """Return everything known about a server."""
    state = Content.styled(
        f"{GLYPHS[status.state]} {STATE_LABELS[status.state]}", TONES[status.state]
    )
    if status.reason:
        state += Content(f"  {sanitize(status.reason)}")
    parts = [state, _facts_line(status)]
    if status.problems:
        parts.append(_section("Problems", [Content(sanitize(one)) for one in status.problems]))
    if status.instructions or status.new_instructions is not None:
        parts.append(_section("Instructions", _instruction_lines(status)))
    if status.tools:
        parts.append(_section("Tools", _tool_lines(status)))
    if status.prompts:
        prompts = [
            _name_with_description(f"/{status.server.name}:{one.name}", one.description)
            for one in status.prompts
        ]
        parts.append(_section("Prompts", prompts))
    if status.resources:
        resources = [
            _name_with_description(f"@{status.server.name}:{one.uri}", one.name)
            for one in status.resources
        ]
        parts.append(_section("Resources", resources))
    if status.log and status.state != "connected":
        parts.append(_section("Program output", [Content(without_colors(status.log))]))
    return Content("\n\n").join(parts)


def _facts_line(status: ServerStatus) -> Content:
    wire = {"stdio": "program", "http": "HTTP", "sse": "SSE"}.get(status.transport or "", "")
    words = [sanitize_line(status.server.endpoint), *([wire] if wire else [])]
    if status.server.sandbox != "off":
        words.append(f"sandbox {status.server.sandbox}")
    if status.server_info:
        words.append(sanitize_line(status.server_info))
    return Content.styled(" · ".join(words), "$tone-muted")


def _instruction_lines(status: ServerStatus) -> list[Content]:
    """Return the server's instructions for models, and changed ones not yet accepted."""
    lines = [Content(f"  {sanitize_line(line)}") for line in status.instructions.splitlines()]
    if status.new_instructions is not None:
        lines += [
            Content.styled(
                "  changed since you accepted them; ctrl+y in the list accepts:", "$tone-warn"
            ),
            *(Content(f"  {sanitize_line(line)}") for line in status.new_instructions.splitlines()),
        ]
    return lines


def _section(title: str, lines: Sequence[Content]) -> Content:
    return Content("\n").join([Content.styled(title, "bold"), *lines])


def _tool_lines(status: ServerStatus) -> list[Content]:
    column = max(cell_len(sanitize_line(name)) for name, _ in status.tools)
    lines: list[Content] = []
    for name, tool in status.tools:
        lines.append(_name_with_description(name, tool.description or tool.title, column))
        if tool.name in status.changed_tools:
            lines.append(Content.styled(f"    {CHANGED}", "$tone-warn"))
    return lines


def _name_with_description(name: str, description: str, column: int = 0) -> Content:
    """Return a name, at least *column* cells wide, and its description."""
    text = sanitize_line(" ".join(description.split()))
    if len(text) > MAX_DESCRIPTION:
        text = text[:MAX_DESCRIPTION] + "…"
    shown = sanitize_line(name)
    shown += " " * (min(column, MAX_NAME) - cell_len(shown))
    return Content.assemble(f"  {shown}", (f"  {text}" if text else "", "$tone-muted"))


def lsp_text(
    statuses: "Sequence[LspStatus]",
    specs: "Sequence[ServerSpec]",
    formatters: "Sequence[Formatter]",
    home: str = "",
) -> Content:
    """Return the page; *home* is the folder that is shown as ``~``."""
    lines = [Content.styled("Language servers", "bold")]
    lines += [_server_row(status, home) for status in statuses]
    running = {status.id for status in statuses}
    lines += [_idle_server_row(spec) for spec in specs if spec.id not in running]
    if len(lines) == 1:
        lines.append(Content.styled(NO_SERVER, "$tone-muted"))
    lines += [Content(""), Content.styled("Formatters", "bold")]
    lines += [_formatter_row(formatter) for formatter in formatters] or [
        Content.styled(NO_FORMATTER, "$tone-muted")
    ]
    return Content("\n").join(lines)


def _server_row(status: "LspStatus", home: str) -> Content:
    facts = [sanitize_line(short_folder(Path(status.root), home))]
    if status.state == "ready":
        facts += [count(status.files, "file"), count(status.errors, "error")]
    line = Content.assemble(
        (f"{LSP_GLYPHS[status.state]} {sanitize_line(status.id)}", LSP_TONES[status.state]),
        (f"  {'  '.join(facts)}", "$tone-muted"),
    )
    return line + Content(f"\n  {sanitize_line(status.reason)}") if status.reason else line


def _idle_server_row(spec: "ServerSpec") -> Content:
    extensions = " or ".join(spec.extensions)
    return Content.styled(
        f"○ {sanitize_line(spec.id)}  starts with the first {extensions} file", "$tone-muted"
    )


def _formatter_row(formatter: "Formatter") -> Content:
    command, extensions = sanitize_line(" ".join(formatter.command)), " ".join(formatter.extensions)
    return Content.assemble(
        f"  {sanitize_line(formatter.id)}", (f"  {command}  {extensions}", "$tone-muted")
    )


class LspScreen(PageScreen):
    """Shows the page; *restart* stops every server."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+r", "restart", "Restart")]

    def __init__(self, text: Content, restart: Callable[[], object]) -> None:
        super().__init__("Language servers and formatters", text, hints=(("ctrl+r", "restart"),))
        self._restart = restart

    def action_restart(self) -> None:
        self._restart()
        self.dismiss(None)
