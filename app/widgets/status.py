"""The status line: agent and model at the left, location and usage at the right."""

import re
from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

from textual.content import Content
from textual.widget import Widget

from agent.records.amounts import count, money, tokens
from agent.records.frozen import frozen
from app.session_state.folder_facts import LspSummary, McpSummary
from app.text.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:  # only for annotations
    from agent.records.requests import PermissionMode

BAR_CELLS = 8
MODE_TONES = {
    "": "$tone-muted",
    "ask": "$tone-muted",
    "accept edits": "$tone-plan",
    "judge": "$tone-blue",
    "auto": "$tone-warn",
}
MAX_NAME = 16
NARROW = 60
"""The width below which a missing sandbox is not shown."""


@frozen(kw_only=True)
class Status:
    """The content of the line."""

    agent: str = "build"
    color: str = "accent"
    model: str = ""
    fallback: str = ""
    """The model that answers in its place, "" for none."""
    effort: str | None = None
    branch: str | None = None
    """The git branch, None outside of a repository."""
    worktree: str = ""
    """The name of the program's own worktree that is open, "" for none."""
    changed: int | None = None
    """The number of changed files, None if git was not asked."""
    context: int | None = None
    """Tokens in use."""
    limit: int | None = None
    """The model's context limit in tokens, None if unknown."""
    cost: float | None = None
    cached: float | None = None
    """The share of the input that came from the provider's cache, None if unknown."""
    mode: 'PermissionMode | Literal[""]' = ""
    """The permission mode, "" before it is known."""
    trusted: bool = True
    """False while the folder's own files are ignored."""
    servers: McpSummary = field(default_factory=McpSummary)
    languages: LspSummary = field(default_factory=LspSummary)
    shells: int = 0
    """Background commands."""
    subagents: int = 0
    """Sub-agents in the background."""
    sandboxed: bool = True
    """False once it is known that commands run without a sandbox."""
    normal: bool = False
    """True in Vim's normal mode."""
    custom: str = ""
    """The line that the user's own command printed, "" without one."""
    hints: tuple[tuple[str, str], ...] = ()
    """Keys and what they do, shown instead of everything else."""


_ROLES = frozenset({"primary", "secondary", "success", "warning", "error"})
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")


def agent_tone(color: str) -> str:
    """Return an agent's color: a theme variable or a hex value, by default the accent."""
    if _HEX.fullmatch(color):
        return color
    if color in _ROLES:
        return f"${color}"
    return {"plan": "$tone-plan", "info": "$tone-blue"}.get(color, "$tone-accent")


def short_model(full_name: str) -> str:
    """Return a model without its provider; the demo keeps its whole name."""
    provider, _, name = full_name.partition("/")
    return full_name if provider == "demo" or not name else name


def _branch_text(status: Status) -> str:
    if status.branch is None:
        return ""
    place = f"worktree {status.worktree}" if status.worktree else status.branch
    return sanitize(place) + (f" +{status.changed}" if status.changed else "")


def _context_text(status: Status) -> str:
    if status.context is None:
        return ""
    if not status.limit:
        return f"{tokens(status.context)} tokens" if status.context else ""
    share = min(1.0, status.context / status.limit)
    filled = round(share * BAR_CELLS)
    return "▰" * filled + "▱" * (BAR_CELLS - filled) + f" {share:.0%}"


def _servers_text(status: Status) -> str:
    servers = status.servers
    if not servers.wanted:
        return ""
    if servers.connected == servers.wanted:
        return f"mcp {servers.wanted}"
    return f"mcp {servers.connected}/{servers.wanted}"


def status_text(status: Status, width: int) -> Content:
    """Return one line of *width* cells.

    If it does not fit, these are dropped in order: the word "mode", the cached share, servers,
    cost, context, branch, effort; at last the line is cut with an ellipsis.
    """
    left = Content.styled("NORMAL  ", "bold $tone-warn") if status.normal else Content("")
    left += Content.assemble(
        (sanitize(status.agent), f"bold {agent_tone(status.color)}"),
        "  ",
        (f"{sanitize(short_model(status.fallback))} for " if status.fallback else "", "$tone-warn"),
        (sanitize(short_model(status.model)), "$tone-muted"),
    )
    tail = Content.styled(f" · {sanitize(status.effort)}" if status.effort else "", "$tone-muted")
    parts = [p for p in (_branch_text(status), _context_text(status), money(status.cost)) if p]

    def fits(after: Content, parts: list[str]) -> bool:
        fixed = left.cell_length + tail.cell_length + after.cell_length
        return fixed + _width(parts) + 2 <= width

    after = _after_model(status, width, word=" mode")
    if not fits(after, parts):
        after = _after_model(status, width)
    if status.cached is not None:
        with_cache = [*parts[:-1], f"{status.cached:.0%} cached", parts[-1]]
        parts = with_cache if fits(after, with_cache) else parts
    servers = _servers_text(status)
    if servers and fits(after, [*parts, servers]):
        parts.append(servers)
    while parts and not fits(after, parts):
        parts.pop()
    if not parts and left.cell_length + tail.cell_length + after.cell_length > width:
        tail = Content("")
    left += tail + after
    right = Content.styled("   ".join(parts), "$tone-muted")
    gap = width - left.cell_length - right.cell_length
    if gap < 2:
        return left.truncate(max(1, width), ellipsis=True)
    return left + Content(" " * gap) + right


def _after_model(status: Status, width: int, *, word: str = "") -> Content:
    """Return the permission mode with *word* after it, and what is not as usual or runs in the
    background."""
    named = f"  {status.mode}{word}" if status.mode else ""
    after = Content.styled(named, MODE_TONES[status.mode])
    if not status.trusted:
        after += Content.styled("  not trusted", "$tone-warn")
    if not status.sandboxed and width >= NARROW:
        after += Content.styled("  no sandbox", "$tone-warn")
    if status.subagents:
        after += Content.styled(f"  {count(status.subagents, 'sub-agent')}", "$tone-accent")
    if status.shells:
        after += Content.styled(f"  {count(status.shells, 'shell')}", "$tone-accent")
    if status.servers.failing:
        failing = status.servers.failing
        named = sanitize_line(failing[0])[:MAX_NAME] if len(failing) == 1 else str(len(failing))
        after += Content.styled(f"  mcp ✕ {named}", "$tone-warn")
    if status.languages.failing:
        named = sanitize_line(", ".join(status.languages.failing))[:MAX_NAME]
        after += Content.styled(f"  lsp ✕ {named}", "$tone-warn")
    return after


def hints_text(hints: Sequence[tuple[str, str]], width: int) -> Content:
    """Return keys and what they do, without the last ones before the end where they do not fit."""
    pairs = [Content.assemble((key, "bold"), (f" {what}", "$tone-muted")) for key, what in hints]
    while len(pairs) > 1 and Content("   ").join(pairs).cell_length > width:
        del pairs[-2]
    return Content("   ").join(pairs).truncate(width, ellipsis=True)


def custom_text(status: Status, width: int) -> Content:
    """Return the user's own line, with what must always be visible at the right: the permission
    mode, another agent than the usual one, and what is not as usual."""
    right = mode = Content.styled(status.mode, MODE_TONES[status.mode])
    if status.agent != Status().agent:
        agent = Content.styled(sanitize(status.agent), f"bold {agent_tone(status.color)}")
        right = agent + Content("  ") + right
    if not status.sandboxed:
        right = Content.styled("no sandbox  ", "$tone-warn") + right
    if not status.trusted:
        right = Content.styled("not trusted  ", "$tone-warn") + right
    if status.normal:
        right = Content.styled("NORMAL  ", "bold $tone-warn") + right
    right = right if right.cell_length + 2 <= width else mode
    room = max(1, width - right.cell_length - 2)
    left = Content(sanitize_line(status.custom)).truncate(room, ellipsis=True)
    line = left + Content(" " * max(2, width - left.cell_length - right.cell_length)) + right
    return line.truncate(max(1, width), ellipsis=True)


def _width(parts: list[str]) -> int:
    return Content("   ".join(parts)).cell_length


class StatusLine(Widget):
    """Shows a ``Status``. Its height is fixed, so that no change needs a layout."""

    def __init__(self, *, id: str | None = None) -> None:  # Textual's parameter
        super().__init__(id=id)
        self._status = Status()

    @property
    def status(self) -> Status:
        return self._status

    def show(self, **changes: Any) -> None:
        """Change some of the facts, given by the names of ``Status`` fields."""
        changed = replace(self._status, **changes)
        if changed != self._status:
            self._status = changed
            self.refresh()

    def render(self) -> Content:
        width = max(1, self.content_size.width)
        if self._status.hints:
            return hints_text(self._status.hints, width)
        if self._status.custom:
            return custom_text(self._status, width)
        return status_text(self._status, width)
