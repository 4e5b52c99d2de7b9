"""The status line: who on the left, where on the right (spec 8, U5)."""

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from textual.content import Content
from textual.widget import Widget

from app.session.server_status import LspSummary, McpSummary
from app.text.sanitize import sanitize, sanitize_line
from app.text.units import count, money, tokens

if TYPE_CHECKING:  # for its name alone
    from agent.records.requests import PermissionMode

BAR_CELLS = 8
MODE_TONES = {
    "": "$tone-muted",
    "ask": "$tone-muted",
    "accept edits": "$tone-plan",
    "auto": "$tone-warn",
}
MAX_NAME = 16
NARROW = 60
"""Below this width the right side may be dropped, part by part."""

ROOMY = 100
"""From this width on there is room for what is only good to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the line tells. *context* is tokens in use, *limit* the model's, None if unknown;
    *changed* the number of changed files, None where git was not asked. Not *trusted* means
    that files of the folder are left out. *cached* is the share of the session's input that came
    from the provider's cache, None where nothing tells of caching (spec 2, C10). *mode* is how
    permissions are asked for, "" before that is known; *servers* are those of MCP, *languages*
    those that look at code, *shells* the commands and *background_tasks* the sub-agents that
    work in the background; *normal*: the prompt is in Vim's normal mode."""

    agent: str = "build"
    color: str = "accent"
    model: str = ""
    effort: str | None = None
    branch: str | None = None
    changed: int | None = None
    context: int | None = None
    limit: int | None = None
    cost: float | None = None
    cached: float | None = None
    mode: 'PermissionMode | Literal[""]' = ""
    trusted: bool = True
    servers: McpSummary = field(default_factory=McpSummary)
    languages: LspSummary = field(default_factory=LspSummary)
    shells: int = 0
    subagents: int = 0
    normal: bool = False


_ROLES = frozenset({"primary", "secondary", "success", "warning", "error"})
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")


def agent_tone(color: str) -> str:
    """What an agent of that *colour* is drawn in: a theme variable or a hex value. What is no
    colour is the accent."""
    if _HEX.fullmatch(color):
        return color
    if color in _ROLES:
        return f"${color}"
    return {"plan": "$tone-plan", "info": "$tone-blue"}.get(color, "$tone-accent")


def short_model(full_name: str) -> str:
    """``claude-sonnet-4.5`` of ``anthropic/claude-sonnet-4.5``; the demo keeps its whole name."""
    provider, _, name = full_name.partition("/")
    return full_name if provider == "demo" or not name else name


def _branch(status: Status) -> str:
    if status.branch is None:
        return ""
    return sanitize(status.branch) + (f" +{status.changed}" if status.changed else "")


def _context(status: Status) -> str:
    if status.context is None:
        return ""
    if not status.limit:
        return f"{tokens(status.context)} tokens" if status.context else ""
    share = min(1.0, status.context / status.limit)
    filled = round(share * BAR_CELLS)
    return "▰" * filled + "▱" * (BAR_CELLS - filled) + f" {share:.0%}"


def _servers(status: Status) -> str:
    servers = status.servers
    if not servers.wanted:
        return ""
    if servers.connected == servers.wanted:
        return f"mcp {servers.wanted}"
    return f"mcp {servers.connected}/{servers.wanted}"


def status_text(status: Status, width: int) -> Content:
    """One line of *width* cells. What does not fit goes: servers, then cost, then context, then
    branch, then effort; at last the line is cut with an ellipsis."""
    left = Content.styled("NORMAL  ", "bold $tone-warn") if status.normal else Content("")
    left += Content.assemble(
        (sanitize(status.agent), f"bold {agent_tone(status.color)}"),
        "  ",
        (sanitize(short_model(status.model)), "$tone-muted"),
    )
    left += Content.styled(f"  {status.mode}" if status.mode else "", MODE_TONES[status.mode])
    if not status.trusted:
        left += Content.styled("  not trusted", "$tone-warn")
    if status.subagents:
        left += Content.styled(f"  {count(status.subagents, 'sub-agent')}", "$tone-accent")
    if status.shells:
        left += Content.styled(f"  {count(status.shells, 'shell')}", "$tone-accent")
    if status.servers.failing:
        ill = status.servers.failing
        named = sanitize_line(ill[0])[:MAX_NAME] if len(ill) == 1 else str(len(ill))
        left += Content.styled(f"  mcp ✕ {named}", "$tone-warn")
    if status.languages.failing:
        named = sanitize_line(", ".join(status.languages.failing))[:MAX_NAME]
        left += Content.styled(f"  lsp ✕ {named}", "$tone-warn")
    tail = Content.styled(f" · {sanitize(status.effort)}" if status.effort else "", "$tone-muted")
    parts = [p for p in (_branch(status), _context(status), money(status.cost)) if p]
    if status.cached is not None:
        longer = [*parts[:-1], f"{status.cached:.0%} cached", parts[-1]]
        if width >= ROOMY and left.cell_length + tail.cell_length + _width(longer) + 2 <= width:
            parts = longer
    told = [*parts, *([servers] if (servers := _servers(status)) else [])]
    if left.cell_length + tail.cell_length + _width(told) + 2 <= width:
        parts = told
    if width < NARROW:
        while parts and left.cell_length + tail.cell_length + _width(parts) + 2 > width:
            parts.pop()
    if left.cell_length + tail.cell_length + _width(parts) > width:
        tail = Content("")
    right = Content.styled("   ".join(parts), "$tone-muted")
    room = width - left.cell_length - tail.cell_length - right.cell_length
    if room < 2:
        return (left + tail).truncate(max(1, width), ellipsis=True)
    return left + tail + Content(" " * room) + right


def _width(parts: list[str]) -> int:
    return Content("   ".join(parts)).cell_length


class StatusLine(Widget):
    """Shows a ``Status``; draws only when it changed. Its height is its screen's to say: no change
    of it is worth a layout."""

    def __init__(
        self, status: Status | None = None, *, id: str | None = None
    ) -> None:  # Textual's own name
        super().__init__(id=id)
        self._status = status or Status()

    @property
    def status(self) -> Status:
        return self._status

    def show(self, **changes: object) -> None:
        """Change some of the facts (names of ``Status`` fields)."""
        changed = replace(self._status, **changes)  # pyright: ignore[reportArgumentType] - names are fields
        if changed != self._status:
            self._status = changed
            self.refresh()

    def render(self) -> Content:
        return status_text(self._status, max(1, self.content_size.width))
