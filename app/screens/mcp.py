"""The MCP servers: how each stands, and what it offers (spec 10.4)."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from agent.mcp.records import Definition, Standing
from app.screens.base.page import PageScreen
from app.screens.base.picker import Picker, Row
from app.text.sanitize import sanitize, sanitize_line
from app.text.units import count
from app.widgets.transcript.lines import cut

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
WORDS = {
    "connected": "connected",
    "connecting": "connecting…",
    "needs auth": "needs a login",
    "failed": "failed",
    "disabled": "off",
}
REASON = 34
"""Columns of a reason in the list; it is whole on the server's own page."""

DESCRIBED = 200
"""Characters of a tool's description; the model reads more."""

EMPTY = "No MCP server is configured. Add one with: opencode-py mcp add"


def server_row(standing: Standing) -> Row:
    """How a server is listed."""
    name = sanitize_line(standing.server.name)
    note = WORDS[standing.state]
    if standing.state == "connected":
        note = f"{count(len(standing.tools), 'tool')}"
        changed = len(standing.changed) + (standing.new_words is not None)
        if changed:
            note += f", {changed} changed"
        if standing.problems:
            note += f", {count(len(standing.problems), 'problem')}"
    elif standing.reason:
        note += f": {cut(sanitize_line(standing.reason), REASON)}"
    return Row(
        key=standing.server.name,
        title=f"{GLYPHS[standing.state]} {name}",
        note=note,
        hidden=sanitize_line(standing.server.shown),
    )


def server_rows(standings: Sequence[Standing]) -> list[Row]:
    return [server_row(standing) for standing in standings]


class McpScreen(Picker):
    """Gives back the name of a server that is to be shown. *do* is called with what is wanted
    of the highlighted one: ``switch``, ``reconnect``, ``login`` or ``accept``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+t", "do('switch')", "On/off", priority=True),
        Binding("ctrl+r", "do('reconnect')", "Reconnect", priority=True),
        Binding("ctrl+l", "do('login')", "Log in", priority=True),
        Binding("ctrl+y", "do('accept')", "Accept changes", priority=True),
    ]

    def __init__(
        self,
        standings: Sequence[Standing],
        do: Callable[[str, str], object],
        *,
        current: str | None = None,
    ) -> None:
        super().__init__(
            "MCP servers",
            server_rows(standings),
            current=current,
            hints=(("^t", "on/off"), ("^r", "retry"), ("^l", "log in"), ("^y", "accept")),
            enter="show",
            empty=EMPTY,
        )
        self._do = do

    def action_do(self, what: str) -> None:
        row = self.highlighted()
        if row is not None:
            self._do(row.key, what)


class ServerScreen(PageScreen):
    """One server, whole."""

    def __init__(self, standing: Standing) -> None:
        super().__init__(sanitize_line(standing.server.name), server_text(standing))


class LoginScreen(PageScreen):
    """Where to log in; closing it gives up."""

    def __init__(self, name: str, address: str, *, opened: bool) -> None:
        where = "Log in on the page that opens in your browser, or at:"
        super().__init__(
            f"Log in at {sanitize_line(name)}",
            Content.assemble(
                where if opened else "Open this page in a browser on this machine:",
                "\n\n",
                (sanitize_line(address), "$tone-accent"),
                "\n\n",
                ("Waiting for the browser to come back… esc gives up.", "$tone-muted"),
            ),
        )


def server_text(standing: Standing) -> Content:
    """All that is known of a server."""
    state = Content.styled(
        f"{GLYPHS[standing.state]} {WORDS[standing.state]}", TONES[standing.state]
    )
    if standing.reason:
        state += Content(f"  {sanitize(standing.reason)}")
    parts = [state, _facts(standing)]
    if standing.problems:
        parts.append(_section("Problems", [Content(sanitize(one)) for one in standing.problems]))
    if standing.words or standing.new_words is not None:
        parts.append(_section("Instructions", _words(standing)))
    if standing.tools:
        parts.append(
            _section("Tools", [_tool(standing, name, one) for name, one in standing.tools])
        )
    if standing.prompts:
        prompts = [
            _named(f"/{standing.server.name}:{one.name}", one.description)
            for one in standing.prompts
        ]
        parts.append(_section("Prompts", prompts))
    if standing.resources:
        resources = [
            _named(f"@{standing.server.name}:{one.uri}", one.name) for one in standing.resources
        ]
        parts.append(_section("Resources", resources))
    if standing.log and standing.state != "connected":
        parts.append(_section("What its program printed", [Content(sanitize(standing.log))]))
    return Content("\n\n").join(parts)


def _facts(standing: Standing) -> Content:
    wire = {"stdio": "program", "http": "HTTP", "sse": "SSE"}.get(standing.wire or "", "")
    words = [sanitize_line(standing.server.shown), *([wire] if wire else [])]
    if standing.about:
        words.append(sanitize_line(standing.about))
    return Content.styled(" · ".join(words), "$tone-muted")


def _words(standing: Standing) -> list[Content]:
    """What models are told of the server as a whole, and what it says instead now."""
    lines = [Content(f"  {sanitize_line(line)}") for line in standing.words.splitlines()]
    if standing.new_words is not None:
        lines += [
            Content.styled("  changed since they were kept; ^y in the list accepts:", "$tone-warn"),
            *(Content(f"  {sanitize_line(line)}") for line in standing.new_words.splitlines()),
        ]
    return lines


def _section(title: str, lines: Sequence[Content]) -> Content:
    return Content("\n").join([Content.styled(title, "bold"), *lines])


def _tool(standing: Standing, name: str, definition: Definition) -> Content:
    line = _named(name, definition.description or definition.title)
    if definition.name in standing.changed:
        line += Content.styled("  changed since you allowed it; a call asks", "$tone-warn")
    return line


def _named(name: str, description: str) -> Content:
    said = sanitize_line(" ".join(description.split()))
    if len(said) > DESCRIBED:
        said = said[:DESCRIBED] + "…"
    return Content.assemble(
        f"  {sanitize_line(name)}", (f"  {said}" if said else "", "$tone-muted")
    )
