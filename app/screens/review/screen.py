"""A past session, read-only: its timeline beside the same transcript (spec 8, U11 and U12)."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent.records.errors import NothingToDo
from agent.records.messages import MessageWithParts
from agent.redact import redacted
from agent.session.review.timeline import found_in
from app.screens.base.dialog import Dialog
from app.screens.base.text_input import TextScreen
from app.screens.review.extract import file_to_save, text_to_copy
from app.screens.review.timeline import (
    LoadedSession,
    TimelineFilter,
    TimelineRow,
    header_line,
    key_hints,
    load_session,
    row_facts,
    timeline_rows,
)
from app.text.sanitize import sanitize_line
from app.toolkit.app_of import app_of
from app.toolkit.tasks import Tasks, show_dialog
from app.widgets.input.field import TextField
from app.widgets.transcript.transcript import Transcript

if TYPE_CHECKING:  # brings the harness
    from agent.runtime.runtime import Runtime

WIDE_FROM = 120
"""Columns from which the timeline is wider."""


ReviewAction = Literal["resume", "fork", "export"]


@dataclass(frozen=True, slots=True)
class ReviewChoice:
    """What to do after a review: go on with the session, at *message_id*, or in a copy that
    ends with the response *message_id* or, where that is a prompt, before it; or export it."""

    action: ReviewAction
    session_id: str
    message_id: str


class ReviewScreen(Dialog[ReviewChoice | None]):
    """Gives back a choice, or None when it was only looked at. *above* are the titles of the
    sessions that led here, *secrets* values that are not to be shown."""

    CSS_PATH = "review.tcss"
    AUTO_FOCUS = "#review-rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        Binding("tab", "other", "Other side", priority=True),
        Binding("slash", "search", "Search"),
        Binding("n", "hit(1)", "Next"),
        Binding("N", "hit(-1)", "Previous"),
        Binding("f", "filter", "Filter"),
        Binding("d", "diff(False)", "Changes of the turn"),
        Binding("D", "diff(True)", "Changes of the session"),
        Binding("q", "sent", "Request"),
        Binding("y", "copy", "Copy"),
        Binding("w", "save", "Save this"),
        Binding("o", "alone", "Open the sub-agent alone"),
        Binding("x", "go('export')", "Export"),
        Binding("r", "go('resume')", "Resume"),
        Binding("k", "go('fork')", "Copy from here"),
        Binding("pageup", "scroll(-1)", "Up", priority=True),
        Binding("pagedown", "scroll(1)", "Down", priority=True),
    ]

    def __init__(
        self,
        runtime: "Runtime",
        session_id: str,
        tasks: Tasks,
        *,
        at_message: str = "",
        above: tuple[str, ...] = (),
        secrets: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._runtime = runtime
        self._session_id = session_id
        self._tasks = tasks
        self._at_message = at_message
        self._above = above
        self._secrets = secrets
        self._held: dict[str, LoadedSession] = {}
        self._places: dict[str, str] = {}
        self._marks: dict[str, TimelineRow] = {}
        self._shown = TimelineFilter()
        self._hits: list[tuple[str, str]] = []
        self._at_hit = -1

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("History", "bold"), id="review-top")
        with Horizontal(id="review-body"):
            yield OptionList(id="review-rows", markup=False, compact=True)
            with Vertical(id="review-right"):
                yield Static(
                    Content.styled("Reading the session", "$tone-muted"), id="review-facts"
                )
                yield Transcript(id="review-transcript")
        yield TextField(placeholder="Search in this session", id="review-search")
        yield Static(id="review-keys")

    def on_mount(self) -> None:
        self._spawn(self._read, "reading a session")
        self._show_keys()

    # --- reading ---

    async def _read(self) -> None:
        reviewed = await load_session(self._runtime.store, self._session_id)
        if not self.is_attached:
            return
        self._held[self._session_id] = reviewed
        self.query_one(Transcript).show(reviewed.view())
        at = reviewed.turn_of(self._at_message)
        last = len(reviewed.turns) - 1 if at is None else at
        self._shown = TimelineFilter(unfolded=frozenset((last,)) if last >= 0 else frozenset())
        self._show_top()
        self._fill(f"turn {last}")

    @property
    def _reviewed(self) -> LoadedSession | None:
        """The session that is reviewed, once it was read."""
        return self._held.get(self._session_id)

    @property
    def _below(self) -> dict[str, LoadedSession]:
        """What is unfolded, by the part that it stands below."""
        return {place: self._held[session_id] for session_id, place in self._places.items()}

    async def _unfold(self, session_id: str, place: str) -> None:
        """Show a sub-agent's session in both sides below the part *place*, its call or its report,
        or no longer. It stands in one place at a time."""
        held = self._held.pop(session_id, None)
        if self._places.pop(session_id, "") != place:
            self._held[session_id] = held or await load_session(self._runtime.store, session_id)
            self._places[session_id] = place
        if self.is_attached:
            transcript = self.query_one(Transcript)
            transcript.nested = {place: one.view() for place, one in self._below.items()}
            transcript.show(transcript.view)
            self._fill("")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE_FROM, "-roomy")
        self._show_top()
        self._show_keys()
        self.call_after_refresh(self._fill, "")

    def _fill(self, keep: str) -> None:
        """List the rows as they are to be shown now; the bar goes to *keep*, else stays."""
        listing = self.query_one(OptionList)
        width = max(10, listing.scrollable_content_region.width - 2)
        held = keep or (self._mark.key if self._mark is not None else "")
        reviewed = self._reviewed
        found = list(timeline_rows(reviewed, self._shown, width, self._below)) if reviewed else []
        self._marks = {mark.key: mark for mark in found}
        listing.set_options([Option(mark.line, id=mark.key) for mark in found])
        at = next((n for n, mark in enumerate(found) if mark.key == held), 0)
        if found:
            listing.highlighted = at
        elif reviewed is not None:
            none = f"There are no {self._shown.filter} in this session."
            text = none if reviewed.turns else "There is nothing in this session yet."
            self.query_one("#review-facts", Static).update(Content.styled(text, "$tone-muted"))

    @property
    def _mark(self) -> TimelineRow | None:
        option = self.query_one(OptionList).highlighted_option
        return self._marks.get(option.id or "") if option is not None else None

    # --- what is shown ---

    def _show_top(self) -> None:
        if (reviewed := self._reviewed) is not None:
            top = header_line(reviewed, self._above, self._shown)
            self.query_one("#review-top", Static).update(top)

    def _show_keys(self, note: str = "") -> None:
        width = max(20, self.size.width - 4)
        self.query_one("#review-keys", Static).update(key_hints(note, width))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        mark = self._marks.get(event.option_id or "")
        if mark is None:
            return
        facts = row_facts(self._held[mark.session_id], mark)
        self.query_one("#review-facts", Static).update(facts)
        self.query_one(Transcript).go_to(mark.message_id, mark.part_id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter: unfold a turn, a sub-agent's session, what else it is."""
        event.stop()
        mark = self._marks.get(event.option_id or "")
        if mark is None:
            return
        if mark.is_turn:
            self._shown = self._shown.toggled(mark.turn)
            self._fill(mark.key)
        elif mark.child is not None:
            self._toggle_child(mark.child, mark.part_id)
        else:
            self.query_one(Transcript).action_toggle_fold()

    def on_transcript_open_session(self, event: Transcript.OpenSession) -> None:
        event.stop()
        self._toggle_child(event.session_id, event.place)

    def _toggle_child(self, session_id: str, place: str) -> None:
        self._spawn(lambda: self._unfold(session_id, place), "unfolding a sub-agent")

    def action_alone(self) -> None:
        """Review a sub-agent's session by itself."""
        mark, reviewed = self._mark, self._reviewed
        if mark is None or mark.child is None or reviewed is None:
            self._show_keys("Choose the call or the report of a sub-agent")
            return
        above = (*self._above, reviewed.session.title or "Untitled")
        child = ReviewScreen(
            self._runtime, mark.child, self._tasks, above=above, secrets=self._secrets
        )

        async def show() -> None:
            chosen = await show_dialog(app_of(self), child)
            if chosen is not None:
                self.dismiss(chosen)

        self._spawn(show, "reviewing a sub-agent")

    # --- search and filter ---

    def action_search(self) -> None:
        box = self.query_one(Input)
        box.add_class("-open")
        box.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        held = (one.messages for one in self._held.values())
        self._hits = sorted(hit for messages in held for hit in found_in(messages, event.value))
        self._at_hit = -1
        self._end_search()
        if self._hits:
            self.action_hit(1)
        else:
            self._show_keys(f"“{sanitize_line(event.value)}” is not in this session")

    def _end_search(self) -> None:
        box = self.query_one(Input)
        box.remove_class("-open")
        self.query_one(OptionList).focus()

    def action_hit(self, step: int) -> None:
        """Go to the next or previous thing that holds what was searched for."""
        if not self._hits:
            return
        self._at_hit = (self._at_hit + step) % len(self._hits)
        message_id, part_id = self._hits[self._at_hit]
        mark = self._mark_at(message_id, part_id)
        if mark is not None:
            self._shown = TimelineFilter(unfolded=self._shown.unfolded | {mark.turn})
            self._show_top()
            self._fill(mark.key)
        self.query_one(Transcript).go_to(message_id, part_id)
        self._show_keys(f"{self._at_hit + 1} of {len(self._hits)}, n next")

    def _mark_at(self, message_id: str, part_id: str) -> TimelineRow | None:
        """The row of a part, else of its message."""
        if (reviewed := self._reviewed) is None:
            return None
        everything = TimelineFilter(unfolded=frozenset(range(len(reviewed.turns))))
        found = list(timeline_rows(reviewed, everything, 20, self._below))
        part = next((mark for mark in found if mark.part_id == part_id), None)
        return part or next((mark for mark in found if mark.message_id == message_id), None)

    def action_filter(self) -> None:
        self._shown = self._shown.next_filter()
        self._show_top()
        self._fill("")

    # --- what can be done ---

    def action_other(self) -> None:
        """Between the timeline and the transcript."""
        transcript = self.query_one(Transcript)
        reading = not transcript.has_focus
        self.set_class(reading, "-reading")
        (transcript if reading else self.query_one(OptionList)).focus()

    def action_scroll(self, pages: int) -> None:
        transcript = self.query_one(Transcript)
        transcript.scroll_to(y=transcript.scroll_y + pages * (transcript.size.height - 2))

    def action_copy(self) -> None:
        mark = self._mark
        text = text_to_copy(self._held[mark.session_id], mark) if mark is not None else ""
        if text:
            app_of(self).copy_to_clipboard(text)

    def action_save(self) -> None:
        if (mark := self._mark) is not None:
            self._spawn(lambda: self._save(mark), "saving a part of a session")

    async def _save(self, mark: TimelineRow) -> None:
        """Write what is chosen to a file of its own; what looks like a key is left out."""
        from agent.transfer.exporter import write_text  # when it is asked for

        taken = file_to_save(self._held[mark.session_id], mark)
        folder = self._runtime.directory
        name = await show_dialog(app_of(self), TextScreen("Save this to which file?", taken.name))
        if not name:
            return
        text = redacted(taken.text, self._secrets)
        try:
            await asyncio.to_thread(lambda: write_text(text, folder / Path(name).expanduser()))
        except NothingToDo as error:
            self._show_keys(error.message.replace(f"{folder}/", ""))
        else:
            self._show_keys(f"Saved to {sanitize_line(name)}, without what looks like a key")

    def action_diff(self, whole: bool) -> None:
        mark, reviewed = self._mark, self._reviewed
        if reviewed is None:
            return
        title, until = "Changes of the session", None
        messages: Sequence[MessageWithParts] = reviewed.messages
        if mark is not None and not whole:
            turns = self._held[mark.session_id].turns
            title, messages = "Changes of the turn", turns[mark.place].messages
            until = next((turn.first_id for turn in turns[mark.place + 1 :]), None)
        self._spawn(lambda: self._show_changes(title, messages, until), "reading changes")

    async def _show_changes(
        self, title: str, messages: Sequence[MessageWithParts], until: str | None
    ) -> None:
        from app.screens.review.changes import ChangesScreen  # when it is asked for

        blocks = await self._runtime.sessions.undo.changes.of(messages, until)
        if blocks:
            await show_dialog(app_of(self), ChangesScreen(title, blocks))
        else:
            self._show_keys("No file was changed")

    def action_sent(self) -> None:
        mark = self._mark
        if mark is None or mark.step is None:
            self._show_keys("Choose a step: a call or an answer")
            return
        from app.screens.review.request import PastRequestScreen  # when it is asked for

        messages = self._held[mark.session_id].messages
        screen = PastRequestScreen(messages, mark.step.message, self._secrets)
        self._spawn(lambda: show_dialog(app_of(self), screen), "showing a request")

    def action_go(self, how: ReviewAction) -> None:
        mark = self._mark
        if self._reviewed is None:
            return
        if mark is None or how == "export":
            at = mark.message_id if mark is not None else ""
            self.dismiss(ReviewChoice(how, self._session_id, at))
        else:
            self.dismiss(ReviewChoice(how, mark.session_id, mark.message_id))

    def action_close(self) -> None:
        if self.query_one(Input).has_class("-open"):
            self._end_search()
        elif self.has_class("-reading"):
            self.action_other()
        else:
            self.dismiss(None)

    def interrupt(self) -> None:
        self.dismiss(None)

    def _spawn(self, work: Callable[[], Coroutine[object, object, object]], name: str) -> None:
        self._tasks.spawn(work(), name)
