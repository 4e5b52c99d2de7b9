"""The sidebar: context, to-do list, changed files, servers, and background work."""

from collections.abc import Iterator
from dataclasses import field

from rich.cells import cell_len
from textual.containers import VerticalScroll
from textual.content import Content
from textual.theme import Theme
from textual.widgets import Static

from agent.records.amounts import count, money, tokens
from agent.records.background import ShellInfo
from agent.records.blocks import DiffBlock, TodoItem
from agent.records.frozen import frozen
from agent.records.messages import Completed, ToolPart
from agent.session.api import BackgroundTaskStatus
from app.session_state.folder_facts import LspSummary, McpSummary
from app.session_state.view import Change, SessionView
from app.terminal.app_of import app_of
from app.text.sanitize import sanitize_line
from app.theme.appearance import appearance_of
from app.widgets.transcript.lines import cut

MIN_SCREEN_WIDTH = 60
"""Columns below which there is no space for a sidebar."""

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
"""The numbers of added and removed lines."""


@frozen(kw_only=True)
class SidebarContent:
    """The content of the sidebar."""

    context: int | None = None
    """Tokens in use."""
    limit: int | None = None
    """The model's context limit in tokens."""
    cost: float | None = None
    todos: tuple[TodoItem, ...] = ()
    changes: dict[str, LineCounts] = field(default_factory=dict[str, LineCounts])
    """Changed files by path."""
    servers: McpSummary = field(default_factory=McpSummary)
    languages: LspSummary = field(default_factory=LspSummary)
    shells: tuple[ShellInfo, ...] = ()
    """Commands that run in the background."""
    subagents: tuple[BackgroundTaskStatus, ...] = ()
    """Sub-agents that work in the background."""


def sidebar_text(content: SidebarContent, width: int) -> Content:
    """Return the sections that have content, below each other, in rows of *width* cells."""
    sections = [
        list(section)
        for section in (
            _context_rows(content),
            _todo_rows(content, width),
            _change_rows(content, width),
            _server_rows(content, width),
            _language_rows(content, width),
            _background_rows(content, width),
        )
    ]
    blank = Content("\n\n")
    return blank.join([Content("\n").join(rows) for rows in sections if rows])


def _title(text: str, note: str = "") -> Content:
    return Content.assemble((text, "bold"), (f"  {note}" if note else "", "$tone-muted"))


def _context_rows(content: SidebarContent) -> Iterator[Content]:
    if content.context is None:
        return
    yield _title("Context")
    share = f", {min(1.0, content.context / content.limit):.0%}" if content.limit else ""
    yield Content.styled(f"{tokens(content.context)} tokens{share}", "$tone-muted")
    if content.cost is not None:
        yield Content.styled(f"{money(content.cost)} spent", "$tone-muted")


def _todo_rows(content: SidebarContent, width: int) -> Iterator[Content]:
    if not content.todos:
        return
    done = sum(item.status == "completed" for item in content.todos)
    yield _title("To-do", f"{done} of {len(content.todos)} done")
    # Finished items are dropped first: the list is for the open ones.
    left = [item for item in content.todos if item.status in {"pending", "in_progress"}]
    shown = content.todos if len(content.todos) <= MAX_ROWS else left[:MAX_ROWS]
    for item in shown:
        glyph, mark, tone = _TODO[item.status]
        text = cut(sanitize_line(item.content), width - 2)
        yield Content.assemble((f"{glyph} ", mark), (text, tone))
    yield from _hidden_row(len(content.todos) - len(shown))


def _change_rows(content: SidebarContent, width: int) -> Iterator[Content]:
    if not content.changes:
        return
    yield _title("Changed files")
    for path, (added, removed) in list(content.changes.items())[:MAX_ROWS]:
        counts = [f"+{added}" if added else "", f"−{removed}" if removed else ""]
        counts_text = " ".join(one for one in counts if one)
        name = _shorten_path(sanitize_line(path), width - cell_len(counts_text) - 1)
        gap = " " * max(1, width - cell_len(name) - cell_len(counts_text))
        signs = [
            (counts[0], "$tone-ok"),
            (" " if all(counts) else "", ""),
            (counts[1], "$tone-err"),
        ]
        yield Content.assemble((name, "$tone-muted"), gap, *signs)
    yield from _hidden_row(len(content.changes) - MAX_ROWS)


def _server_rows(content: SidebarContent, width: int) -> Iterator[Content]:
    if not content.servers.wanted:
        return
    yield _title("MCP", f"{content.servers.connected} of {content.servers.wanted} connected")
    for name in content.servers.failing[:MAX_ROWS]:
        yield Content.styled(f"✕ {cut(sanitize_line(name), width - 2)}", "$tone-warn")


def _language_rows(content: SidebarContent, width: int) -> Iterator[Content]:
    languages = content.languages
    if not languages.running and not languages.failing:
        return
    yield _title("Language servers")
    for name, errors in languages.running[:MAX_ROWS]:
        found = f"  {count(errors, 'error')}" if errors else ""
        label = cut(sanitize_line(name), width - 2 - len(found))
        yield Content.assemble(("● ", "$tone-ok"), (label, "$tone-muted"), (found, "$tone-warn"))
    for name in languages.failing[:MAX_ROWS]:
        yield Content.styled(f"✕ {cut(sanitize_line(name), width - 2)}", "$tone-warn")


def _background_rows(content: SidebarContent, width: int) -> Iterator[Content]:
    """Yield the rows of sub-agents, then of commands."""
    named = [f"{line.agent.capitalize()}  {line.description}" for line in content.subagents]
    named += [shell.description or shell.command for shell in content.shells]
    if not named:
        return
    yield _title("In the background")
    for name in named[:MAX_ROWS]:
        text = cut(sanitize_line(name), width - 2)
        yield Content.assemble(("◐ ", "$tone-accent"), (text, "$tone-muted"))
    yield from _hidden_row(len(named) - MAX_ROWS)


def _hidden_row(hidden: int) -> Iterator[Content]:
    if hidden > 0:
        yield Content.styled(f"… {hidden} more", "$tone-faint")


def _shorten_path(path: str, width: int) -> str:
    """Return the end of *path*, the part in which files differ most."""
    if cell_len(path) <= width:
        return path
    kept = ""
    for char in reversed(path):
        if cell_len(char + kept) > width - 1:
            break
        kept = char + kept
    return f"…{kept}"


class ChangedFiles:
    """Collects the changed files of the loaded part of a session, by message."""

    def __init__(self) -> None:
        self._view: SessionView | None = None
        self._by_message: dict[str, list[tuple[str, LineCounts]]] = {}

    def update(self, view: SessionView | None, change: Change) -> None:
        if view is None or view is not self._view:
            self._view, self._by_message = view, {}
            touched = frozenset(view.message_ids) if view is not None else frozenset[str]()
        else:
            touched = change.messages | change.parts_of
        for message_id in touched:
            entry = view.entry(message_id) if view is not None else None
            found = [one for part in entry.parts for one in _changes_of(part)] if entry else []
            if found:
                self._by_message[message_id] = found
            else:
                self._by_message.pop(message_id, None)

    def files(self) -> dict[str, LineCounts]:
        """Return added and removed lines by path, the newest change first."""
        total: dict[str, LineCounts] = {}
        for message_id in sorted(self._by_message, key=self._place):
            for path, (added, removed) in self._by_message[message_id]:
                before = total.pop(path, (0, 0))
                total[path] = (before[0] + added, before[1] + removed)
        return dict(reversed(total.items()))

    def _place(self, message_id: str) -> int:
        """Return the position of a message, -1 for one that is no longer in memory."""
        at = self._view.index(message_id) if self._view is not None else None
        return -1 if at is None else at


def _changes_of(part: object) -> Iterator[tuple[str, LineCounts]]:
    if isinstance(part, ToolPart) and isinstance(part.state, Completed):
        for block in part.state.blocks:
            if isinstance(block, DiffBlock):
                yield block.path, (block.added, block.removed)


class Sidebar(VerticalScroll, can_focus=False):
    """Shows a ``SidebarContent``.

    Its visibility depends on the width of the screen, the user's preference, and whether
    there is a session (see ``main.tcss``).
    """

    def __init__(self, *, id: str | None = None) -> None:  # Textual's parameter
        super().__init__(id=id)
        self._content = SidebarContent()

    def compose(self) -> Iterator[Static]:
        yield Static(markup=False)

    def on_mount(self) -> None:
        app_of(self).theme_changed_signal.subscribe(self, self._on_theme_changed)
        self._on_theme_changed(None)

    def _on_theme_changed(self, theme: Theme | None) -> None:
        style = appearance_of(self).sidebar
        self.set_class(style == "auto", "-auto")
        self.set_class(style == "show", "-shown")
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def show(self, content: SidebarContent) -> None:
        if content != self._content:
            self._content = content
            self._draw()

    def _draw(self) -> None:
        if self.display and self.is_mounted:
            self.query_one(Static).update(sidebar_text(self._content, WIDTH - 4))
