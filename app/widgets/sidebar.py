"""The sidebar (spec 8, U17): what is to be done, what was changed, what runs beside."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.cells import cell_len
from textual.containers import VerticalScroll
from textual.content import Content
from textual.theme import Theme
from textual.widgets import Static

from agent.records.background import ShellInfo
from agent.records.blocks import DiffBlock, TodoItem
from agent.records.messages import Completed, ToolPart
from agent.session.api import BackgroundTaskStatus
from app.session.server_status import LspSummary, McpSummary
from app.session.view import Change, SessionView
from app.text.sanitize import sanitize_line
from app.text.units import count, money, tokens
from app.theme.preferences import appearance_of
from app.toolkit.app_of import app_of
from app.widgets.transcript.lines import cut

MIN_SCREEN_WIDTH = 60
"""Columns below which there is no room for one."""

WIDTH = 36
MAX_ROWS = 12
"""Rows of one section."""

_TODO = {
    "pending": ("☐", "$tone-faint", "$tone-muted"),
    "in_progress": ("▸", "$tone-accent", "$tone-text"),
    "completed": ("☑", "$tone-ok", "$tone-faint"),
    "cancelled": ("⊘", "$tone-faint", "$tone-faint"),
}

LineCounts = tuple[int, int]
"""Lines that were added and removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SidebarContent:
    """What the sidebar tells. *context* is tokens in use, *limit* the model's; *changes* are
    files with their added and removed lines, *shells* commands in the background that run,
    *background_tasks* what sub-agents do there."""

    context: int | None = None
    limit: int | None = None
    cost: float | None = None
    todos: tuple[TodoItem, ...] = ()
    changes: dict[str, LineCounts] = field(default_factory=dict[str, LineCounts])
    servers: McpSummary = field(default_factory=McpSummary)
    languages: LspSummary = field(default_factory=LspSummary)
    shells: tuple[ShellInfo, ...] = ()
    subagents: tuple[BackgroundTaskStatus, ...] = ()


def sidebar_text(side: SidebarContent, width: int) -> Content:
    """The sections that have something, one below the other, in rows of *width* cells."""
    sections = [
        list(section)
        for section in (
            _context(side),
            _todos(side, width),
            _changes(side, width),
            _servers(side, width),
            _languages(side, width),
            _background(side, width),
        )
    ]
    blank = Content("\n\n")
    return blank.join([Content("\n").join(rows) for rows in sections if rows])


def _title(text: str, note: str = "") -> Content:
    return Content.assemble((text, "bold"), (f"  {note}" if note else "", "$tone-muted"))


def _context(side: SidebarContent) -> Iterator[Content]:
    if side.context is None:
        return
    yield _title("Context")
    share = f", {min(1.0, side.context / side.limit):.0%}" if side.limit else ""
    yield Content.styled(f"{tokens(side.context)} tokens{share}", "$tone-muted")
    if side.cost is not None:
        yield Content.styled(f"{money(side.cost)} spent", "$tone-muted")


def _todos(side: SidebarContent, width: int) -> Iterator[Content]:
    if not side.todos:
        return
    done = sum(item.status == "completed" for item in side.todos)
    yield _title("Todo", f"{done} of {len(side.todos)} done")
    # What is done gives way first: the list is for what is left.
    left = [item for item in side.todos if item.status in {"pending", "in_progress"}]
    shown = side.todos if len(side.todos) <= MAX_ROWS else left[:MAX_ROWS]
    for item in shown:
        glyph, mark, tone = _TODO[item.status]
        text = cut(sanitize_line(item.content), width - 2)
        yield Content.assemble((f"{glyph} ", mark), (text, tone))
    yield from _rest(len(side.todos) - len(shown))


def _changes(side: SidebarContent, width: int) -> Iterator[Content]:
    if not side.changes:
        return
    yield _title("Changed files")
    for path, (added, removed) in list(side.changes.items())[:MAX_ROWS]:
        counts = [f"+{added}" if added else "", f"−{removed}" if removed else ""]
        told = " ".join(one for one in counts if one)
        name = _shortened(sanitize_line(path), width - cell_len(told) - 1)
        gap = " " * max(1, width - cell_len(name) - cell_len(told))
        signs = [
            (counts[0], "$tone-ok"),
            (" " if all(counts) else "", ""),
            (counts[1], "$tone-err"),
        ]
        yield Content.assemble((name, "$tone-muted"), gap, *signs)
    yield from _rest(len(side.changes) - MAX_ROWS)


def _servers(side: SidebarContent, width: int) -> Iterator[Content]:
    if not side.servers.wanted:
        return
    yield _title("MCP", f"{side.servers.connected} of {side.servers.wanted} connected")
    for name in side.servers.failing[:MAX_ROWS]:
        yield Content.styled(f"✕ {cut(sanitize_line(name), width - 2)}", "$tone-warn")


def _languages(side: SidebarContent, width: int) -> Iterator[Content]:
    languages = side.languages
    if not languages.running and not languages.failing:
        return
    yield _title("Language servers")
    for name, errors in languages.running[:MAX_ROWS]:
        found = f"  {count(errors, 'error')}" if errors else ""
        room = cut(sanitize_line(name), width - 2 - len(found))
        yield Content.assemble(("● ", "$tone-ok"), (room, "$tone-muted"), (found, "$tone-warn"))
    for name in languages.failing[:MAX_ROWS]:
        yield Content.styled(f"✕ {cut(sanitize_line(name), width - 2)}", "$tone-warn")


def _background(side: SidebarContent, width: int) -> Iterator[Content]:
    """Sub-agents, then commands."""
    named = [f"{line.agent.capitalize()}  {line.description}" for line in side.subagents]
    named += [shell.description or shell.command for shell in side.shells]
    if not named:
        return
    yield _title("In the background")
    for name in named[:MAX_ROWS]:
        text = cut(sanitize_line(name), width - 2)
        yield Content.assemble(("◐ ", "$tone-accent"), (text, "$tone-muted"))
    yield from _rest(len(named) - MAX_ROWS)


def _rest(hidden: int) -> Iterator[Content]:
    if hidden > 0:
        yield Content.styled(f"… {hidden} more", "$tone-faint")


def _shortened(path: str, width: int) -> str:
    """The end of *path*, where a file is told from others."""
    if cell_len(path) <= width:
        return path
    kept = ""
    for char in reversed(path):
        if cell_len(char + kept) > width - 1:
            break
        kept = char + kept
    return f"…{kept}"


class ChangedFiles:
    """The changed files of what is loaded of a session; each message is looked at when it
    changed."""

    def __init__(self) -> None:
        self._view: SessionView | None = None
        self._of: dict[str, list[tuple[str, LineCounts]]] = {}

    def update(self, view: SessionView | None, change: Change) -> None:
        if view is None or view is not self._view:
            self._view, self._of = view, {}
            touched = frozenset(view.message_ids) if view is not None else frozenset[str]()
        else:
            touched = change.messages | change.parts_of
        for message_id in touched:
            entry = view.entry(message_id) if view is not None else None
            found = [one for part in entry.parts for one in _changed_by(part)] if entry else []
            if found:
                self._of[message_id] = found
            else:
                self._of.pop(message_id, None)

    def files(self) -> dict[str, LineCounts]:
        """Added and removed lines by path, the newest change first."""
        total: dict[str, LineCounts] = {}
        for message_id in sorted(self._of):
            for path, (added, removed) in self._of[message_id]:
                before = total.pop(path, (0, 0))
                total[path] = (before[0] + added, before[1] + removed)
        return dict(reversed(total.items()))


def _changed_by(part: object) -> Iterator[tuple[str, LineCounts]]:
    if isinstance(part, ToolPart) and isinstance(part.state, Completed):
        for block in part.state.blocks:
            if isinstance(block, DiffBlock):
                yield block.path, (block.added, block.removed)


class Sidebar(VerticalScroll, can_focus=False):
    """Shows a ``Side``. Whether it stands follows from the width of the screen, from what the
    user wants, and from whether there is a session (see ``session.tcss``)."""

    def __init__(self, *, id: str | None = None) -> None:  # Textual's name
        super().__init__(id=id)
        self._side = SidebarContent()

    def compose(self) -> Iterator[Static]:
        yield Static(markup=False)

    def on_mount(self) -> None:
        app_of(self).theme_changed_signal.subscribe(self, self._themed)
        self._themed(None)

    def _themed(self, theme: Theme | None) -> None:
        del theme
        style = appearance_of(self).sidebar
        self.set_class(style == "auto", "-auto")
        self.set_class(style == "show", "-shown")
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def show(self, side: SidebarContent) -> None:
        if side != self._side:
            self._side = side
            self._draw()

    def _draw(self) -> None:
        if self.display and self.is_mounted:
            self.query_one(Static).update(sidebar_text(self._side, WIDTH - 4))
