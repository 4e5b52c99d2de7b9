"""A past session, read-only: its timeline beside the same transcript (spec 8, U11 and U12)."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent.model import Idle, MessageWithParts, Session
from agent.session.timeline import TurnLine, found_in, timeline
from agent.session.view import SessionSnapshot
from app.clean import clean_line
from app.review.marks import Mark, Shown, copied, marks, step_facts, turn_facts
from app.screens.dialog import Dialog
from app.state import SessionView
from app.tasks import Tasks, ask
from app.typed import app_of
from app.widgets.field import Field
from app.widgets.transcript.view import Transcript
from app.words import count, money

if TYPE_CHECKING:  # brings the harness
    from agent.runtime import Runtime

ROOMY = 120
"""Columns from which the timeline is wider."""


How = Literal["resume", "fork", "export"]


@dataclass(frozen=True, slots=True)
class ReviewChoice:
    """What to do after a review: go on with the session, at *message_id*, or in a copy that
    ends with the response *message_id* or, where that is a prompt, before it; or export it."""

    how: How
    session_id: str
    message_id: str


class ReviewScreen(Dialog[ReviewChoice | None]):
    """Gives back a choice, or None when it was only looked at. *above* are the titles of the
    sessions that led here, *secrets* values that are not to be shown."""

    CSS_PATH = "review.tcss"
    AUTO_FOCUS = "#review-marks"
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
        self._session: Session | None = None
        self._messages: Sequence[MessageWithParts] = ()
        self._turns: Sequence[TurnLine] = ()
        self._marks: dict[str, Mark] = {}
        self._shown = Shown()
        self._hits: list[tuple[str, str]] = []
        self._at_hit = -1

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("History", "bold"), id="review-top")
        with Horizontal(id="review-body"):
            yield OptionList(id="review-marks", markup=False, compact=True)
            with Vertical(id="review-right"):
                yield Static(
                    Content.styled("Reading the session", "$tone-muted"), id="review-facts"
                )
                yield Transcript(id="review-transcript")
        yield Field(placeholder="Search in this session", id="review-search")
        yield Static(id="review-keys")

    def on_mount(self) -> None:
        self._spawn(self._read, "reading a session")
        self._show_keys()

    # --- reading ---

    async def _read(self) -> None:
        store = self._runtime.store
        session = await store.session(self._session_id)
        messages = await store.messages(self._session_id)
        if not self.is_attached:
            return
        self._session, self._messages = session, messages
        self._turns = timeline(messages)
        todos = await store.todos(self._session_id)
        snapshot = SessionSnapshot(
            session=session, messages=tuple(messages), status=Idle(), todos=todos
        )
        self.query_one(Transcript).show(SessionView(snapshot))
        at = next((n for n, turn in enumerate(self._turns) if self._holds(turn)), None)
        last = len(self._turns) - 1 if at is None else at
        self._shown = Shown(unfolded=frozenset((last,)) if last >= 0 else frozenset())
        self._show_top()
        self._fill(f"turn {last}")

    def _holds(self, turn: TurnLine) -> bool:
        return any(item.message.id == self._at_message for item in turn.messages)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= ROOMY, "-roomy")
        self._show_top()
        self.call_after_refresh(self._fill, "")

    def _fill(self, keep: str) -> None:
        """List the rows as they are to be shown now; the bar goes to *keep*, else stays."""
        listing = self.query_one(OptionList)
        width = max(10, listing.scrollable_content_region.width - 2)
        held = keep or (self._mark.key if self._mark is not None else "")
        found = list(marks(self._turns, self._shown, width))
        self._marks = {mark.key: mark for mark in found}
        listing.set_options([Option(mark.line, id=mark.key) for mark in found])
        at = next((n for n, mark in enumerate(found) if mark.key == held), 0)
        if found:
            listing.highlighted = at
        else:
            none = f"There are no {self._shown.filter} in this session."
            text = none if self._turns else "There is nothing in this session yet."
            self.query_one("#review-facts", Static).update(Content.styled(text, "$tone-muted"))

    @property
    def _mark(self) -> Mark | None:
        option = self.query_one(OptionList).highlighted_option
        return self._marks.get(option.id or "") if option is not None else None

    # --- what is shown ---

    def _show_top(self) -> None:
        session = self._session
        if session is None:
            return
        trail = " / ".join(clean_line(title) for title in (*self._above, session.title))
        facts = f"   {count(len(self._turns), 'turn')}  {money(session.cost)}"
        if self._shown.filter != "everything":
            facts += f"   only {self._shown.filter}"
        top = Content.assemble(
            ("History", "bold"),
            ("  /  ", "$tone-muted"),
            trail or "Untitled",
            (facts, "$tone-muted"),
        )
        self.query_one("#review-top", Static).update(top)

    def _show_keys(self, note: str = "") -> None:
        pairs = (
            ("/", "search"),
            ("f", "filter"),
            ("d", "turn's changes"),
            ("D", "all changes"),
            ("q", "request as sent"),
            ("y", "copy"),
            ("x", "export"),
            ("r", "resume here"),
            ("k", "fork here"),
            ("esc", "close"),
        )
        text = Content("  ").join(
            [Content.assemble((key, "bold"), (f" {what}", "$tone-muted")) for key, what in pairs]
        )
        said = Content.styled(f"{note}   ", "$tone-warn") if note else Content("")
        self.query_one("#review-keys", Static).update(said + text)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        mark = self._marks.get(event.option_id or "")
        if mark is None:
            return
        step = mark.step
        facts = step_facts(step.message, step) if step else turn_facts(self._turns[mark.turn])
        self.query_one("#review-facts", Static).update(facts)
        self.query_one(Transcript).go_to(mark.message_id, mark.part_id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter: unfold a turn, open a sub-agent's session, unfold what else it is."""
        event.stop()
        mark = self._marks.get(event.option_id or "")
        if mark is None:
            return
        if mark.heads:
            self._shown = self._shown.toggled(mark.turn)
            self._fill(mark.key)
        elif mark.child is not None:
            self._open_child(mark.child)
        else:
            self.query_one(Transcript).action_toggle_fold()

    def on_transcript_open_session(self, event: Transcript.OpenSession) -> None:
        event.stop()
        self._open_child(event.session_id)

    def _open_child(self, session_id: str) -> None:
        title = self._session.title if self._session is not None else ""
        above = (*self._above, title or "Untitled")
        child = ReviewScreen(
            self._runtime, session_id, self._tasks, above=above, secrets=self._secrets
        )

        async def show() -> None:
            chosen = await ask(app_of(self), child)
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
        self._hits = found_in(self._messages, event.value)
        self._at_hit = -1
        self._end_search()
        if self._hits:
            self.action_hit(1)
        else:
            self._show_keys(f"“{clean_line(event.value)}” is not in this session")

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
        turn = next(
            (
                n
                for n, t in enumerate(self._turns)
                if any(m.message.id == message_id for m in t.messages)
            ),
            None,
        )
        if turn is not None:
            self._shown = Shown(unfolded=self._shown.unfolded | {turn})
            self._show_top()
            keys = {mark.key for mark in marks(self._turns, self._shown, 20)}
            inner = next((key for key in (part_id, message_id) if key in keys), f"turn {turn}")
            self._fill(inner)
        self.query_one(Transcript).go_to(message_id, part_id)
        self._show_keys(f"{self._at_hit + 1} of {len(self._hits)}, n next")

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
        text = copied(self._messages, mark) if mark is not None else ""
        if text:
            app_of(self).copy_to_clipboard(text)

    def action_diff(self, whole: bool) -> None:
        mark = self._mark
        messages = self._messages if whole or mark is None else self._turns[mark.turn].messages
        self._spawn(lambda: self._show_changes(messages, whole=whole), "reading changes")

    async def _show_changes(self, messages: Sequence[MessageWithParts], *, whole: bool) -> None:
        from app.screens.changes import ChangesScreen  # noqa: PLC0415 - when it is asked for

        blocks = await self._runtime.sessions.undo.changes.of(messages)
        if blocks:
            title = "Changes of the session" if whole else "Changes of the turn"
            await ask(app_of(self), ChangesScreen(title, blocks))
        else:
            self._show_keys("No file was changed")

    def action_sent(self) -> None:
        mark = self._mark
        if mark is None or mark.step is None:
            self._show_keys("Choose a step: a call or an answer")
            return
        from app.screens.sent import SentScreen  # noqa: PLC0415 - when it is asked for

        screen = SentScreen(self._messages, mark.step.message, self._secrets)
        self._spawn(lambda: ask(app_of(self), screen), "showing a request")

    def action_go(self, how: How) -> None:
        mark = self._mark
        if self._session is not None:
            message_id = mark.message_id if mark is not None else ""
            self.dismiss(ReviewChoice(how, self._session.id, message_id))

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
