"""The review of a past session, read-only: its timeline next to its transcript."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent.records.errors import NothingToDo
from agent.records.frozen import frozen
from agent.records.messages import AssistantMessage, MessageWithParts
from agent.redact import redacted
from agent.session.review.comments import comments_message
from agent.session.review.timeline import find_text
from app.screens.base.dialog import Dialog
from app.screens.base.hints import KeyHints
from app.screens.base.page import PageScreen
from app.screens.base.small_dialogs import ConfirmScreen, TextScreen
from app.screens.review.extract import file_to_save, text_to_copy
from app.screens.review.timeline import (
    KEYS,
    LoadedSession,
    TimelineFilter,
    TimelineRow,
    header_line,
    load_session,
    row_facts,
    timeline_rows,
)
from app.terminal.app_of import app_of
from app.terminal.tasks import Tasks, is_open, show_dialog
from app.text.sanitize import sanitize, sanitize_line
from app.widgets.input.field import TextField
from app.widgets.transcript.transcript import Transcript

if TYPE_CHECKING:  # imports the agent
    from agent.runtime.runtime import Runtime

WIDE_FROM = 120
"""Columns from which the timeline is wider."""


NO_CHECKPOINT = "Choose a step of this session:"
"""The note for a row that is no checkpoint."""

ReviewAction = Literal["resume", "fork", "export", "comment", "restore", "worktree"]


@frozen
class ReviewChoice:
    """The action to take after a review."""

    action: ReviewAction
    """Resume the session, fork it, export it, send it the comments of a review, restore a
    checkpoint, or fork the session into a worktree with the files of one."""
    session_id: str
    message_id: str
    """The message to resume at. A fork ends with this response or, if it is a prompt, before it."""
    text: str = ""
    """The message with the comments."""


class ReviewScreen(Dialog[ReviewChoice | None]):
    """Returns a choice, or None.

    *above* are the titles of the sessions that led here, *secrets* values that must not be shown.
    """

    CSS_PATH = "review.tcss"
    AUTO_FOCUS = "#review-rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close"),
        Binding("j", "move(1)", "Down"),
        Binding("k", "move(-1)", "Up"),
        Binding("tab", "other", "Other side", priority=True),
        Binding("slash", "search", "Search", priority=True),
        Binding("n", "hit(1)", "Next"),
        Binding("N", "hit(-1)", "Previous"),
        Binding("f", "filter", "Filter"),
        Binding("d", "diff(False)", "Changes of the turn"),
        Binding("D", "diff(True)", "Changes of the session"),
        Binding("p", "sent", "Request"),
        Binding("y", "copy", "Copy"),
        Binding("w", "save", "Save this"),
        Binding("o", "alone", "Open the sub-agent alone"),
        Binding("x", "go('export')", "Export"),
        Binding("r", "go('resume')", "Resume"),
        Binding("c", "fork", "Fork from here"),
        Binding("u", "checkpoint('restore')", "Restore this checkpoint"),
        Binding("b", "checkpoint('worktree')", "Worktree from this checkpoint"),
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
        self._loaded: dict[str, LoadedSession] = {}
        self._unfolded_at: dict[str, str] = {}
        self._rows: dict[str, TimelineRow] = {}
        self._filter = TimelineFilter()
        self._hits: list[tuple[str, str]] = []
        self._hit_index = -1

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
        session = await load_session(self._runtime.store, self._session_id)
        if not is_open(self):
            return
        self._loaded[self._session_id] = session
        self.query_one(Transcript).show(session.view())
        at = session.turn_of(self._at_message)
        last = len(session.turns) - 1 if at is None else at
        self._filter = TimelineFilter(unfolded=frozenset((last,)) if last >= 0 else frozenset())
        self._show_top()
        self._fill(f"turn {last}")

    @property
    def _session(self) -> LoadedSession | None:
        return self._loaded.get(self._session_id)

    @property
    def _unfolded(self) -> dict[str, LoadedSession]:
        """Return the unfolded sessions by the part that each is shown below."""
        return {place: self._loaded[session_id] for session_id, place in self._unfolded_at.items()}

    async def _unfold(self, session_id: str, place: str) -> None:
        """Show or hide a sub-agent's session in both panes below the part *place*, its call or its
        report. It is shown in one place at a time."""
        loaded = self._loaded.pop(session_id, None)
        if self._unfolded_at.pop(session_id, "") != place:
            self._loaded[session_id] = loaded or await load_session(self._runtime.store, session_id)
            self._unfolded_at[session_id] = place
        if is_open(self):
            transcript = self.query_one(Transcript)
            transcript.nested = {place: one.view() for place, one in self._unfolded.items()}
            transcript.show(transcript.view)
            self._fill("")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE_FROM, "-roomy")
        self._show_top()
        self._show_keys()
        self.call_after_refresh(self._fill, "")

    def _fill(self, keep: str) -> None:
        """Rebuild the list; *keep* is the key of the row to highlight, "" for the current one."""
        listing = self.query_one(OptionList)
        width = max(10, listing.scrollable_content_region.width - 2)
        loaded = keep or (self._row.key if self._row is not None else "")
        session = self._session
        found = list(timeline_rows(session, self._filter, width, self._unfolded)) if session else []
        self._rows = {row.key: row for row in found}
        listing.set_options([Option(row.line, id=row.key) for row in found])
        at = next((n for n, row in enumerate(found) if row.key == loaded), 0)
        if found:
            listing.highlighted = at
        elif session is not None:
            none = f"There are no {self._filter.filter} in this session."
            text = none if session.turns else "This session is empty."
            self.query_one("#review-facts", Static).update(Content.styled(text, "$tone-muted"))

    @property
    def _row(self) -> TimelineRow | None:
        option = self.query_one(OptionList).highlighted_option
        return self._rows.get(option.id or "") if option is not None else None

    # --- what is shown ---

    def _show_top(self) -> None:
        if (session := self._session) is not None:
            top = header_line(session, self._above, self._filter)
            self.query_one("#review-top", Static).update(top)

    def _show_keys(self, note: str = "") -> None:
        self.query_one("#review-keys", Static).update(
            KeyHints(*KEYS, note=note, gap=2, most_lines=2)
        )

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        row = self._rows.get(event.option_id or "")
        if row is None:
            return
        facts = row_facts(self._loaded[row.session_id], row)
        self.query_one("#review-facts", Static).update(facts)
        self.query_one(Transcript).go_to(row.message_id, row.part_id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Handle Enter: unfold a turn, a sub-agent's session, or a block of the transcript."""
        event.stop()
        row = self._rows.get(event.option_id or "")
        if row is None:
            return
        if row.is_turn:
            self._filter = self._filter.toggled(row.turn)
            self._fill(row.key)
        elif row.child is not None:
            self._toggle_child(row.child, row.part_id)
        else:
            self.query_one(Transcript).action_toggle_fold()

    def on_transcript_open_session(self, event: Transcript.OpenSession) -> None:
        event.stop()
        self._toggle_child(event.session_id, event.place)

    def _toggle_child(self, session_id: str, place: str) -> None:
        self._spawn(lambda: self._unfold(session_id, place), "unfolding a sub-agent")

    def action_alone(self) -> None:
        """Review a sub-agent's session on its own."""
        row, session = self._row, self._session
        if row is None or row.child is None or session is None:
            self._show_keys("Select the call or report of a sub-agent first")
            return
        above = (*self._above, session.session.title or "Untitled")
        child = ReviewScreen(
            self._runtime, row.child, self._tasks, above=above, secrets=self._secrets
        )

        async def show() -> None:
            chosen = await show_dialog(app_of(self), child)
            if chosen is not None:
                self.dismiss(chosen)

        self._spawn(show, "reviewing a sub-agent")

    # --- search and filter ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let a slash be typed in the search."""
        return action != "search" or not isinstance(self.focused, Input)

    def action_search(self) -> None:
        """Open the search at once: what follows the slash in the same read belongs to it."""
        box = self.query_one(Input)
        box.add_class("-open")
        self.set_focus(box)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        loaded = (one.messages for one in self._loaded.values())
        self._hits = [hit for messages in loaded for hit in find_text(messages, event.value)]
        self._hit_index = -1
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
        """Go to the next or previous search result."""
        if not self._hits:
            return
        self._hit_index = (self._hit_index + step) % len(self._hits)
        message_id, part_id = self._hits[self._hit_index]
        row = self._row_of(message_id, part_id)
        if row is not None:
            self._filter = TimelineFilter(unfolded=self._filter.unfolded | {row.turn})
            self._show_top()
            self._fill(row.key)
        self.query_one(Transcript).go_to(message_id, part_id)
        self._show_keys(f"{self._hit_index + 1} of {len(self._hits)}, n next")

    def _row_of(self, message_id: str, part_id: str) -> TimelineRow | None:
        """Return the row of a part, else of its message."""
        if (session := self._session) is None:
            return None
        everything = TimelineFilter(unfolded=frozenset(range(len(session.turns))))
        found = list(timeline_rows(session, everything, 20, self._unfolded))
        part = next((row for row in found if row.part_id == part_id), None)
        return part or next((row for row in found if row.message_id == message_id), None)

    def action_filter(self) -> None:
        self._filter = self._filter.next_filter()
        self._show_top()
        self._fill("")

    # --- what can be done ---

    def action_other(self) -> None:
        """Switch between the timeline and the transcript."""
        transcript = self.query_one(Transcript)
        reading = not transcript.has_focus
        self.set_class(reading, "-reading")
        (transcript if reading else self.query_one(OptionList)).focus()

    def action_scroll(self, pages: int) -> None:
        transcript = self.query_one(Transcript)
        transcript.scroll_to(y=transcript.scroll_y + pages * (transcript.size.height - 2))

    def action_copy(self) -> None:
        row = self._row
        text = text_to_copy(self._loaded[row.session_id], row) if row is not None else ""
        if text:
            app_of(self).copy_to_clipboard(text)

    def action_save(self) -> None:
        if (row := self._row) is not None:
            self._spawn(lambda: self._save(row), "saving a part of a session")

    async def _save(self, row: TimelineRow) -> None:
        """Write the current row to a file; what looks like a key is redacted."""
        from agent.transfer.exporter import write_text  # only needed for this action

        extracted = file_to_save(self._loaded[row.session_id], row)
        folder = self._runtime.directory
        name = await show_dialog(
            app_of(self), TextScreen("Save to which file?", extracted.name, enter="save")
        )
        if not name:
            return
        text = redacted(extracted.text, self._secrets)
        try:
            await asyncio.to_thread(lambda: write_text(text, folder / Path(name).expanduser()))
        except NothingToDo as error:
            self._show_keys(error.message.replace(f"{folder}/", ""))
        else:
            self._show_keys(f"Saved to {sanitize_line(name)}, without what looks like a key")

    def action_diff(self, whole: bool) -> None:
        row, session = self._row, self._session
        if session is None:
            return
        title, until = "Changes of the session", None
        messages: Sequence[MessageWithParts] = session.messages
        if row is not None and not whole:
            turns = self._loaded[row.session_id].turns
            title, messages = "Changes of the turn", turns[row.place].messages
            until = next((turn.first_id for turn in turns[row.place + 1 :]), None)
        self._spawn(lambda: self._show_changes(title, messages, until), "reading changes")

    async def _show_changes(
        self, title: str, messages: Sequence[MessageWithParts], until: str | None
    ) -> None:
        from app.screens.review.changes import REVERT, ChangesScreen  # only needed for this action

        undo = self._runtime.sessions.undo
        files = await undo.changes.files(messages, until)
        if not files:
            self._show_keys("No file was changed")
            return
        screen = ChangesScreen(
            title,
            files,
            tasks=self._tasks,
            write=undo.hunk_writer(self._runtime.project).write,
            labels=REVERT,
        )
        state = await show_dialog(app_of(self), screen)
        if state is not None and state.send and self._session is not None:
            text = comments_message(f"the {title[0].lower()}{title[1:]}", state.comments)
            self.dismiss(ReviewChoice("comment", self._session_id, "", text))

    def action_sent(self) -> None:
        row = self._row
        if row is None or row.step is None:
            self._show_keys("Select a step first: a call or a response")
            return

        messages = self._loaded[row.session_id].messages
        screen = PastRequestScreen(messages, row.step.message, self._secrets)
        self._spawn(lambda: show_dialog(app_of(self), screen), "showing a request")

    def action_go(self, action: ReviewAction) -> None:
        row = self._row
        if self._session is None:
            return
        if row is None or action == "export":
            at = row.message_id if row is not None else ""
            self.dismiss(ReviewChoice(action, self._session_id, at))
        else:
            self.dismiss(ReviewChoice(action, row.session_id, row.message_id))

    def action_checkpoint(self, action: ReviewAction) -> None:
        """Use the checkpoint of the current row: its step, in the session that is reviewed."""
        row = self._row
        if row is None or row.step is None or row.session_id != self._session_id:
            self._show_keys(NO_CHECKPOINT)
        else:
            self.action_go(action)

    def action_fork(self) -> None:
        """Fork the session from the current row, once the user has confirmed it."""
        question = ConfirmScreen(
            "Fork the session from here?",
            "You continue in a copy that ends here; this session stays as it is.",
        )

        async def ask() -> None:
            if await show_dialog(app_of(self), question):
                self.action_go("fork")

        if self._session is not None:
            self._spawn(ask, "forking a session")

    def action_move(self, step: int) -> None:
        listing = self.query_one(OptionList)
        (listing.action_cursor_down if step > 0 else listing.action_cursor_up)()

    def action_close(self) -> None:
        if self.query_one(Input).has_class("-open"):
            self._end_search()
        elif self.has_class("-reading"):
            self.action_other()
        else:
            self.dismiss(None)

    def _spawn(self, work: Callable[[], Coroutine[object, object, object]], name: str) -> None:
        self._tasks.spawn(work(), name)


# The page of a review with the request of a past step.

MAX_SECTION = 60_000
"""Characters of a section that are shown, because a page is laid out as a whole."""

LEFT_OUT = (
    "The base system prompt and the tool definitions, the same in every session, are not shown."
)


class PastRequestScreen(PageScreen):
    """Shows the request that *message* responded to as the model got it, with secrets redacted."""

    def __init__(
        self,
        messages: Sequence[MessageWithParts],
        message: AssistantMessage,
        secrets: Sequence[str],
    ) -> None:
        from agent.session.review.past_request import past_request  # imports the provider's records

        sections = [
            Content.assemble((f"{heading}\n", "bold $tone-accent"), sanitize(_cut(text)))
            for heading, text in past_request(messages, message.id, secrets)
        ]
        facts = Content.styled(
            f"{message.model}   agent {message.agent}\n{LEFT_OUT}", "$tone-muted"
        )
        super().__init__(
            f"Request of step {message.step}", Content("\n\n").join([facts, *sections])
        )


def _cut(text: str) -> str:
    if len(text) <= MAX_SECTION:
        return text
    return f"{text[:MAX_SECTION]}\n… {len(text) - MAX_SECTION:,} more characters"
