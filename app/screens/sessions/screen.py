"""The list of sessions, by day (spec 8, U11): type to filter titles and to search what was
written in them, see where it stands, Enter opens it there."""

import time
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static
from textual.widgets.option_list import Option

from app.screens.base.confirm import ConfirmScreen
from app.screens.base.picker import Picker, Row, TwoColumnRow
from app.screens.base.text_input import TextScreen
from app.screens.sessions.rows import SessionFilter, session_rows, similar_titles
from app.text.sanitize import sanitize_line
from app.text.units import count
from app.toolkit.app_of import app_of
from app.toolkit.tasks import Tasks, show_dialog

if TYPE_CHECKING:  # brings the harness
    from agent.runtime.runtime import Runtime
    from agent.store.listing import SessionHit, SessionListItem

OpenMode = Literal["open", "review", "fork"]
MIN_SEARCH = 2
"""Characters from which on texts are searched; scripts without spaces need no more."""


class SessionsScreen(Picker):
    """Gives back the key of what was chosen: the id of a session, or that and of the message to
    go to, with a blank between. *how* then tells what to do with it."""

    CSS_PATH: ClassVar[list[str]] = ["../base/picker.tcss", "sessions.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "everywhere", "All folders", priority=True),
        Binding("shift+tab", "archived", "Archived too", priority=True),
        Binding("ctrl+o", "leave('review')", "Look", priority=True),
        Binding("ctrl+k", "leave('fork')", "Copy", priority=True),
        Binding("ctrl+f", "pin", "Pin", priority=True),
        Binding("ctrl+r", "rename", "Rename", priority=True),
        Binding("ctrl+e", "archive", "Archive", priority=True),
        Binding("ctrl+d", "delete", "Delete", priority=True),
    ]

    def __init__(
        self, runtime: "Runtime", *, current: str | None, tasks: Tasks, now: float | None = None
    ) -> None:
        super().__init__(
            "Sessions of this folder",
            (),
            current=current,
            hints=(
                ("ctrl+o", "look"),
                ("ctrl+k", "copy"),
                ("ctrl+f", "pin"),
                ("ctrl+r", "rename"),
                ("ctrl+e", "archive"),
                ("ctrl+d", "delete"),
            ),
            empty="Reading the sessions",
        )
        self.open_mode: OpenMode = "open"
        self._runtime = runtime
        self._tasks = tasks
        self._now = time.time() if now is None else now
        self._wanted = SessionFilter()
        self._lines: Sequence[SessionListItem] = ()
        self._hits: Sequence[SessionHit] = ()
        self._near: Sequence[SessionListItem] = ()
        self._searched: SessionFilter | None = None
        self._searching = False
        self._previewing = ""

    def compose_below_list(self) -> ComposeResult:
        yield Static(id="sessions-preview")

    def on_mount(self) -> None:
        super().on_mount()
        self._show_title()
        self._tasks.spawn(self._read(), "reading the sessions")

    # --- what is listed ---

    def matching_rows(self, typed: str) -> Sequence[Row]:
        return session_rows(
            self._lines, self._hits, self._near, typed=typed, wanted=self._wanted, now=self._now
        )

    async def _read(self) -> None:
        """Read the list as it is now; the bar stays on its row."""
        wanted = self._wanted
        lines = await self._runtime.sessions.repository.lines(
            everywhere=wanted.everywhere, archived=wanted.archived
        )
        # What was typed meanwhile only filters; other switches are read for on their own.
        if not self.is_attached or wanted.with_text("") != self._wanted.with_text(""):
            return
        self._lines = lines
        self._searched = None
        self._refill()
        await self._search()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._wanted = self._wanted.with_text(event.value)
        self._hits, self._near = (), ()
        super().on_input_changed(event)
        self._tasks.spawn(self._search(), "searching the sessions")

    async def _search(self) -> None:
        """Search for what is typed, one search at a time: those that are overtaken are left."""
        if self._searching:
            return
        self._searching = True
        try:
            while self.is_attached and self._wanted != self._searched:
                wanted = self._wanted
                hits: Sequence[SessionHit] = ()
                if len(wanted.typed) >= MIN_SEARCH or not wanted.typed.isascii():
                    hits = await self._runtime.sessions.repository.search(
                        wanted.typed, everywhere=wanted.everywhere, archived=wanted.archived
                    )
                near = await similar_titles(wanted.typed, self._lines)
                self._searched = wanted
                if wanted == self._wanted and self.is_attached:
                    self._hits, self._near = hits, near
                    self._refill()
        finally:
            self._searching = False

    def _refill(self) -> None:
        held = self.highlighted_key
        empty = "No session fits" if self._wanted.typed else "There are no sessions here yet"
        self.query_one("#picker-empty", Static).update(Content.styled(empty, "$tone-muted"))
        self.set_rows(self.matching_rows(self._wanted.typed), keep=held or self.current)

    def _option(self, row: Row) -> Option:
        """One line: what does not fit of the title goes, the facts at the right stay."""
        note = Content.styled(sanitize_line(row.note), "$tone-muted")
        mark = "● " if row.key == self.current else "  "
        title = Content.assemble((mark, "$tone-accent"), sanitize_line(row.title))
        return Option(TwoColumnRow(title, note), id=row.key)

    # --- the preview ---

    def preview_row(self, key: str) -> None:
        if key != self._previewing:
            self._previewing = key
            self._tasks.spawn(self._preview(key), "reading a preview")

    async def _preview(self, key: str) -> None:
        from app.screens.sessions.preview import preview  # for this list only

        shown = await preview(self._runtime.store, key, self._wanted.typed)
        if key == self._previewing and self.is_attached:
            self.query_one("#sessions-preview", Static).update(shown)

    def _show_title(self) -> None:
        wanted = self._wanted
        where = "all folders" if wanted.everywhere else "this folder"
        other = "this folder" if wanted.everywhere else "all folders"
        hidden = "without archived" if wanted.archived else "archived too"
        title = Content.assemble(
            (f"Sessions of {where}" + (", archived too" if wanted.archived else ""), "bold"),
            ("   tab", "bold $tone-muted"),
            (f" {other}", "$tone-muted"),
            ("   shift+tab", "bold $tone-muted"),
            (f" {hidden}", "$tone-muted"),
        )
        self.query_one("#picker-title", Static).update(title)

    # --- what can be done with them ---

    def action_everywhere(self) -> None:
        self._change(self._wanted.toggled(everywhere=True))

    def action_archived(self) -> None:
        self._change(self._wanted.toggled(archived=True))

    def _change(self, wanted: SessionFilter) -> None:
        self._wanted = wanted
        self._show_title()
        self._tasks.spawn(self._read(), "reading the sessions")

    def action_leave(self, how: OpenMode) -> None:
        row = self.highlighted_row()
        if row is not None:
            self.open_mode = how
            self.dismiss(row.key)

    def action_pin(self) -> None:
        if (line := self._line()) is not None:
            directory = self._runtime.sessions.repository
            self._do(directory.pin(line.id, pinned=not line.pinned), "pinning a session")

    def action_archive(self) -> None:
        if (line := self._line()) is not None:
            directory = self._runtime.sessions.repository
            work = directory.archive(line.id, archived=not line.archived)
            self._do(work, "archiving a session")

    def action_rename(self) -> None:
        if (line := self._line()) is not None:
            self._do(self._ask_name(line), "renaming a session")

    def action_delete(self) -> None:
        if (line := self._line()) is not None:
            self._do(self._confirm_delete(line), "deleting a session")

    def _line(self) -> "SessionListItem | None":
        """The session under the bar."""
        row = self.highlighted_row()
        id_ = row.key.partition(" ")[0] if row is not None else None
        every = (*self._lines, *(hit.session for hit in self._hits))
        return next((line for line in every if line.id == id_), None)

    def _do(self, work: Awaitable[object], name: str) -> None:
        async def then_read() -> None:
            await work
            await self._read()

        self._tasks.spawn(then_read(), name)

    async def _confirm_delete(self, line: "SessionListItem") -> None:
        children = len(await self._runtime.store.children(line.id))
        also = f", with {count(children, 'session')} of its sub-agents" if children else ""
        detail = f"It is removed for good{also}."
        question = ConfirmScreen(f"Delete “{line.title or 'Untitled'}”?", detail)
        if await show_dialog(app_of(self), question):
            await self._runtime.sessions.delete(line.id)

    async def _ask_name(self, line: "SessionListItem") -> None:
        title = await show_dialog(app_of(self), TextScreen("Name this session", line.title))
        if title is not None:
            await self._runtime.sessions.repository.rename(line.id, title)
