"""The list of sessions by day: filter titles, search messages, preview, open."""

import asyncio
import re
import time
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from agent.records.amounts import count, money
from agent.records.errors import SessionNotFound
from agent.records.frozen import frozen
from agent.records.messages import MessageWithParts, TextPart, UserMessage
from app.screens.base.picker import MAX_ROWS, Picker, Row
from app.screens.base.small_dialogs import ConfirmScreen, TextScreen
from app.session_state.folder_facts import short_folder
from app.session_state.live_sessions import LiveSessions, State
from app.terminal.app_of import app_of
from app.terminal.tasks import Tasks, is_open, show_dialog
from app.text.dates import clock, day
from app.text.excerpt import excerpt
from app.text.sanitize import sanitize, sanitize_line
from app.widgets.transcript.lines import cut

if TYPE_CHECKING:  # imports the agent
    from agent.runtime.runtime import Runtime
    from agent.store.lease import Lease
    from agent.store.listing import SessionHit, SessionListItem
    from agent.store.store import Store


# The rows of the list of sessions: matching titles, similar titles, and sessions whose messages
# match. No Textual in here.

ENOUGH_MATCHES = 20
"""Matching titles from which on no similar ones are searched."""
MIN_SIMILARITY = 75
"""The similarity of a title to what is typed (0 to 100) from which it is listed as similar."""
MAX_TITLE = 24
"""Cells of a title before the text that was found in its session."""
FUZZY_FROM = 4
"""Characters below which nearly every title is similar."""


_WORKTREE = re.compile(r"/worktrees/[^/]+-[0-9a-f]{8}/([^/]+)")
"""The folder of a worktree of the program's own (``agent.runtime.worktrees``)."""


@frozen
class SessionFilter:
    """The sessions that the list is to show."""

    typed: str = ""
    everywhere: bool = False
    archived: bool = False

    def with_text(self, text: str) -> "SessionFilter":
        return replace(self, typed=text.strip())

    def toggled(self, *, everywhere: bool = False, archived: bool = False) -> "SessionFilter":
        """Return the filter with the named switches toggled."""
        return replace(
            self, everywhere=self.everywhere ^ everywhere, archived=self.archived ^ archived
        )


STATE_TONES: Mapping[State, str] = {
    "needs you": "$tone-warn",
    "failed": "$tone-err",
    "interrupted": "$tone-warn",
}


@frozen
class ListedState:
    """The state of a live session in the list."""

    text: str
    activity: str = ""
    """The running tool call."""
    tone: str = "$tone-muted"

    def before(self, facts: str) -> str:
        """Return the state and the activity, then *facts*."""
        return "  ".join(filter(None, (self.text, self.activity, facts.rstrip())))


def session_facts(
    line: "SessionListItem", *, everywhere: bool, here: str = "", live: bool = False
) -> str:
    """Return the facts of a session in a list, those of a *live* one without its time and cost. One
    of another place of the folder *here* is shown with that place."""
    found = ["pinned"] if live and line.pinned else []  # others have a heading for it
    found += ["archived"] if line.archived else []
    if everywhere:
        found.append(_folder(line))
    elif here and line.directory != here:
        ours = _WORKTREE.search(line.directory)
        found.append(sanitize_line(f"worktree {ours[1]}" if ours else line.directory))
    turns = count(line.turns, "turn") if line.turns else ""  # its first one has not ended
    amounts = f"{turns:>9}  {money(line.cost):>6}"
    amounts = amounts if live else f"{clock(line.updated)}{amounts}"
    return "  ".join(filter(None, [*found, amounts]))


def _folder(line: "SessionListItem") -> str:
    return line.directory.rstrip("/").rpartition("/")[2] or "/"


def session_row(
    line: "SessionListItem",
    now: float,
    *,
    everywhere: bool = False,
    here: str = "",
    state: "ListedState | None" = None,
) -> Row:
    """Return the row of a session at the time *now* (seconds since the epoch). *state* is that of
    a live one."""
    facts = session_facts(line, everywhere=everywhere, here=here, live=state is not None)
    if line.pinned and state is None:  # its heading does not say the day
        facts = f"{day(line.updated, now)} {facts}"
    return Row(
        key=line.id,
        title=line.title or "Untitled",
        right=state.before(facts) if state is not None else facts,
        short_right=state.text if state is not None else "",
        right_tone=state.tone if state is not None else "$tone-muted",
        group="Active"
        if state is not None
        else "Pinned"
        if line.pinned
        else day(line.updated, now),
    )


def matches(line: "SessionListItem", words: Sequence[str]) -> bool:
    """Return whether every word occurs in the title, the folder or the id."""
    text = f"{line.title}\n{line.directory}\n{line.id}".lower()
    return all(word in text for word in words)


def session_rows(
    lines: Sequence["SessionListItem"],
    hits: Sequence["SessionHit"],
    similar: Sequence["SessionListItem"],
    *,
    typed: str,
    session_filter: SessionFilter,
    now: float,
    here: str = "",
    states: "Mapping[str, ListedState] | None" = None,
) -> list[Row]:
    """Return the rows for what is *typed*: the live sessions, by their *states*, other matches by
    day, similar titles, then *hits*."""
    words, live = typed.lower().split(), list(states or {})
    fitting = list(islice((line for line in lines if matches(line, words)), MAX_ROWS))
    fitting.sort(key=lambda line: live.index(line.id) if line.id in live else len(live))

    def row_of(line: "SessionListItem") -> Row:
        state = (states or {}).get(line.id)
        everywhere = session_filter.everywhere
        return session_row(line, now, everywhere=everywhere, here=here, state=state)

    rows = [row_of(line) for line in fitting]
    shown = {line.id for line in fitting}
    for line in similar:
        if line.id not in shown:
            rows.append(replace(row_of(line), group="Similar titles"))
            shown.add(line.id)
    return [*rows, *_hit_rows(hits, now, everywhere=session_filter.everywhere)]


def _hit_rows(hits: Sequence["SessionHit"], now: float, *, everywhere: bool) -> Iterator[Row]:
    for found in hits:
        line, hit = found.session, found.hit
        when = day(line.updated, now)
        if everywhere:
            when += f"  {_folder(line)}"
        name = cut(line.title or "Untitled", MAX_TITLE)
        title = f"{name}: {' '.join(hit.snippet.split())}"
        yield Row(f"{line.id} {hit.message_id}", title, group="Found in messages", right=when)


async def similar_titles(typed: str, lines: Sequence["SessionListItem"]) -> list["SessionListItem"]:
    """Return sessions whose titles are similar to what is *typed*, the most similar first."""
    words = typed.lower().split()
    fitting = islice((line for line in lines if matches(line, words)), ENOUGH_MATCHES)
    if len(typed) < FUZZY_FROM or len(list(fitting)) == ENOUGH_MATCHES:
        return []
    return await asyncio.to_thread(_most_similar, typed.lower(), lines)


def _most_similar(typed: str, lines: Sequence["SessionListItem"]) -> list["SessionListItem"]:
    from rapidfuzz import fuzz, process  # kept out of start-up

    titles = [line.title.lower() for line in lines]
    found = process.extract(
        typed, titles, scorer=fuzz.partial_ratio, limit=10, score_cutoff=MIN_SIMILARITY
    )
    # A title much shorter than what is typed is similar only to a piece of it.
    return [lines[at] for title, _, at in found if len(title) >= len(typed) // 2]


OpenMode = Literal["open", "review", "fork"]
LEASE_SECONDS = 2.0
"""Seconds after which the list is read again: other programs use the same sessions."""
MIN_SEARCH = 2
"""Characters from which on messages are searched; scripts without spaces need fewer."""


class SessionListScreen(Picker):
    """Returns the key of the choice: the id of a session, or that and the id of a message to go to,
    separated by a space. *open_mode* then says what to do with it."""

    CSS_PATH: ClassVar[list[str]] = ["../base/picker.tcss", "session_list.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "everywhere", "All folders", priority=True),
        Binding("shift+tab", "archived", "Archived too", priority=True),
        Binding("ctrl+o", "leave('review')", "History", priority=True),
        Binding("ctrl+k", "leave('fork')", "Fork", priority=True),
        Binding("ctrl+f", "pin", "Pin", priority=True),
        Binding("ctrl+r", "rename", "Rename", priority=True),
        Binding("ctrl+e", "archive", "Archive", priority=True),
        Binding("ctrl+d", "delete", "Delete", priority=True),
    ]

    def __init__(
        self,
        runtime: "Runtime",
        *,
        current: str | None,
        tasks: Tasks,
        live: LiveSessions | None = None,
        now: float | None = None,
        home: str = "",
    ) -> None:
        """*home* is the folder that is shown as ``~``."""
        super().__init__(
            "Sessions of this folder",
            (),
            current=current,
            hints=(
                ("ctrl+o", "history"),
                ("ctrl+k", "fork"),
                ("ctrl+f", "pin"),
                ("ctrl+r", "rename"),
                ("ctrl+e", "archive"),
                ("ctrl+d", "delete"),
            ),
            enter="open",
            empty="Reading the sessions",
        )
        self.open_mode: OpenMode = "open"
        self._runtime = runtime
        self._home = home
        self._tasks = tasks
        self._live = live
        self._clock = time.time if now is None else lambda: now
        self._foreign: Mapping[str, Lease] = {}
        self._filter = SessionFilter()
        self._lines: Sequence[SessionListItem] = ()
        self._hits: Sequence[SessionHit] = ()
        self._similar: Sequence[SessionListItem] = ()
        self._searched_filter: SessionFilter | None = None
        self._searching = False
        self._is_read = self._is_choosing = False
        self._previewing = ("", "")
        """The row that is previewed, and what was typed then: its words are marked."""

    def compose_below_list(self) -> ComposeResult:
        yield Static(id="sessions-preview")

    def on_mount(self) -> None:
        super().on_mount()
        self._show_title()
        self._tasks.spawn(self._read(), "reading the sessions")
        self.set_interval(LEASE_SECONDS, self._read_again)
        if self._live is not None:
            self._live.listeners.add(self._live_changed)

    def on_unmount(self) -> None:
        if self._live is not None:
            self._live.listeners.discard(self._live_changed)

    def _live_changed(self) -> None:
        """Show the states again; a session that is new here is read too."""
        if not self.query("#picker-list"):  # the screen is being closed
            return
        states = self._live.all if self._live is not None else ()
        if {one.session.id for one in states} <= {line.id for line in self._lines}:
            self._refill()
        else:
            self._read_again()

    def _read_again(self) -> None:
        self._tasks.spawn(self._read(), "reading the sessions")

    # --- what is listed ---

    def matching_rows(self, typed: str) -> Sequence[Row]:
        return session_rows(
            self._lines,
            self._hits,
            self._similar,
            typed=typed,
            session_filter=self._filter,
            now=self._clock(),
            here=str(self._runtime.directory),
            states=self._states(),
        )

    def _states(self) -> dict[str, ListedState]:
        """Return the states of the live sessions, those of other programs last."""
        ours = self._live.all if self._live is not None else ()
        now = self._clock()
        found = {
            one.session.id: ListedState(
                one.lasting(now), one.short_activity, STATE_TONES.get(one.state, "$tone-muted")
            )
            for one in ours
        }
        for session_id, lease in self._foreign.items():
            if session_id not in found:
                text = f"◐ working in another opencode-py ({lease.pid})"
                found[session_id] = ListedState(text)
        return found

    async def _read(self) -> None:
        """Read the list again; the highlighted row stays."""
        session_filter = self._filter
        lines = await self._runtime.sessions.repository.lines(
            everywhere=session_filter.everywhere, archived=session_filter.archived
        )
        # Text typed meanwhile only filters; other toggles start a read of their own.
        if not is_open(self) or session_filter.with_text("") != self._filter.with_text(""):
            return
        foreign = await self._runtime.store.foreign_leases()
        if self._lines == lines and self._foreign == foreign and self._searched_filter is not None:
            self._refill()  # the durations
            return
        self._lines, self._foreign = lines, foreign
        self._is_read = True
        self._searched_filter = None
        self._refill()
        await self._search()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._filter = self._filter.with_text(event.value)
        self._hits, self._similar = (), ()
        super().on_input_changed(event)
        if (key := self.highlighted_key) is not None:
            self.preview_row(key)
        self._tasks.spawn(self._search(), "searching the sessions")

    async def _search(self) -> None:
        """Search for what is typed, one search at a time; outdated results are dropped."""
        if self._searching:
            return
        self._searching = True
        try:
            while is_open(self) and self._filter != self._searched_filter:
                session_filter = self._filter
                hits: Sequence[SessionHit] = ()
                if len(session_filter.typed) >= MIN_SEARCH or not session_filter.typed.isascii():
                    hits = await self._runtime.sessions.repository.search(
                        session_filter.typed,
                        everywhere=session_filter.everywhere,
                        archived=session_filter.archived,
                    )
                similar = await similar_titles(session_filter.typed, self._lines)
                self._searched_filter = session_filter
                if session_filter == self._filter and is_open(self):
                    self._hits, self._similar = hits, similar
                    self._refill()
        finally:
            self._searching = False
        if self._is_choosing and is_open(self):
            self.choose_early()

    def choose_early(self) -> None:
        """Choose once the first rows for what is typed are there."""
        self._is_choosing = not self._is_read or self._searched_filter != self._filter
        if not self._is_choosing:
            super().choose_early()

    def _refill(self) -> None:
        highlighted = self.highlighted_key
        empty = "No matching sessions" if self._filter.typed else "There are no sessions here yet"
        self.query_one("#picker-empty", Static).update(Content.styled(empty, "$tone-muted"))
        self.set_rows(self.matching_rows(self._filter.typed), keep=highlighted or self.current)

    # --- the preview ---

    def preview_row(self, key: str) -> None:
        wanted = key, self._filter.typed
        if wanted != self._previewing:
            self._previewing = wanted
            self._tasks.spawn(self._preview(*wanted), "reading a preview")

    async def _preview(self, key: str, typed: str) -> None:
        shown = await preview(self._runtime.store, key, typed, self._home)
        if (key, typed) == self._previewing and is_open(self):
            self.query_one("#sessions-preview", Static).update(shown)

    def _show_title(self) -> None:
        session_filter = self._filter
        where = "all folders" if session_filter.everywhere else "this folder"
        other = "this folder" if session_filter.everywhere else "all folders"
        hidden = "without archived" if session_filter.archived else "archived too"
        title = Content.assemble(
            (
                f"Sessions of {where}" + (", archived too" if session_filter.archived else ""),
                "bold",
            ),
            ("   tab", "bold $tone-muted"),
            (f" {other}", "$tone-muted"),
            ("   shift+tab", "bold $tone-muted"),
            (f" {hidden}", "$tone-muted"),
        )
        self.query_one("#picker-title", Static).update(title)

    # --- what can be done with them ---

    def action_everywhere(self) -> None:
        self._change(self._filter.toggled(everywhere=True))

    def action_archived(self) -> None:
        self._change(self._filter.toggled(archived=True))

    def _change(self, session_filter: SessionFilter) -> None:
        self._filter = session_filter
        self._show_title()
        self._tasks.spawn(self._read(), "reading the sessions")

    def action_leave(self, open_mode: OpenMode) -> None:
        row = self.highlighted_row()
        if row is not None:
            self.open_mode = open_mode
            self.dismiss(row.key)

    def action_pin(self) -> None:
        if (line := self._highlighted_session()) is not None:
            directory = self._runtime.sessions.repository
            self._change_and_reload(
                directory.pin(line.id, pinned=not line.pinned), "pinning a session"
            )

    def action_archive(self) -> None:
        if (line := self._highlighted_session()) is not None:
            directory = self._runtime.sessions.repository
            work = directory.archive(line.id, archived=not line.archived)
            self._change_and_reload(work, "archiving a session")

    def action_rename(self) -> None:
        if (line := self._highlighted_session()) is not None:
            self._change_and_reload(self._ask_name(line), "renaming a session")

    def action_delete(self) -> None:
        if (line := self._highlighted_session()) is not None:
            self._change_and_reload(self._confirm_delete(line), "deleting a session")

    def _highlighted_session(self) -> "SessionListItem | None":
        row = self.highlighted_row()
        id_ = row.key.partition(" ")[0] if row is not None else None
        every = (*self._lines, *(hit.session for hit in self._hits))
        return next((line for line in every if line.id == id_), None)

    def _change_and_reload(self, work: Awaitable[object], name: str) -> None:
        async def then_read() -> None:
            await work
            await self._read()

        self._tasks.spawn(then_read(), name)

    async def _confirm_delete(self, line: "SessionListItem") -> None:
        children = len(await self._runtime.store.children(line.id))
        also = f", with {count(children, 'session')} of its sub-agents" if children else ""
        detail = f"It will be deleted permanently{also}."
        title = f"Delete “{line.title or 'Untitled'}”?"
        question = ConfirmScreen(title, detail, yes="delete", destructive=True)
        if await show_dialog(app_of(self), question):
            await self._runtime.sessions.delete(line.id)

    async def _ask_name(self, line: "SessionListItem") -> None:
        dialog = TextScreen("Rename the session", line.title, enter="rename")
        title = await show_dialog(app_of(self), dialog)
        if title is not None:
            await self._runtime.sessions.repository.rename(line.id, title)


BEFORE, AFTER = 160, 600
"""Characters shown before and after the first search word."""
NEWEST_MESSAGES = 12
"""Messages of a session that are searched for its last response."""


async def preview(store: "Store", key: str, typed: str, home: str = "") -> Content:
    """Return the preview for the row *key* while *typed* is searched for. *home* is the folder that
    is shown as ``~``."""
    session_id, _, message_id = key.partition(" ")
    try:
        session = await store.session(session_id)
    except SessionNotFound:
        return Content("")
    folder = short_folder(Path(session.directory), home)
    head = Content.styled(
        sanitize_line(f"{folder}   {session.model or ''}   {session.agent}"), "$tone-faint"
    )
    lines: list[Content] = [head]
    if message_id:
        item = await store.message(message_id)
        words = typed.lower().split()
        text = next((t for t in _texts(item) if _first_position(t, words) >= 0), "")
        who = "You" if item and isinstance(item.message, UserMessage) else "Agent"
        lines.append(_speaker_line(who, text_around(text, words), words))
    else:
        lines += _newest_exchange(await store.messages(session_id, limit=NEWEST_MESSAGES))
    return Content("\n").join(lines)


def _newest_exchange(messages: Sequence[MessageWithParts]) -> Iterator[Content]:
    """Yield the newest prompt and the newest response."""
    prompt = response = ""
    for item in reversed(messages):
        text = "\n".join(_texts(item)).strip()
        if isinstance(item.message, UserMessage):
            prompt = prompt or ("" if item.message.synthetic else text)
        else:
            response = response or text
    if prompt:
        yield _speaker_line("You", single_line(prompt, 200), ())
    if response:
        yield _speaker_line("Agent", single_line(excerpt(response), AFTER), ())


def _texts(item: MessageWithParts | None) -> list[str]:
    parts = item.parts if item is not None else ()
    return [part.text for part in parts if isinstance(part, TextPart) and not part.synthetic]


def _speaker_line(who: str, text: str, words: Sequence[str]) -> Content:
    tone = "$tone-blue" if who == "You" else "$tone-accent"
    return Content.assemble((f"{who}  ", f"bold {tone}"), highlight_words(text, words))


def text_around(text: str, words: Sequence[str]) -> str:
    """Return *text* around the first of *words*, on one line."""
    at = max(0, _first_position(text, words))
    start, end = max(0, at - BEFORE), at + AFTER
    cut = single_line(text[start:end], BEFORE + AFTER)
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"


def single_line(text: str, max_length: int) -> str:
    """Return at most *most* characters of *text* with single spaces."""
    return " ".join(sanitize(text[: 4 * max_length]).split())[:max_length]


def _first_position(text: str, words: Iterable[str]) -> int:
    found = [at for word in words if (at := text.lower().find(word)) >= 0]
    return min(found, default=-1)


def highlight_words(text: str, words: Sequence[str]) -> Content:
    """Return *text* with all occurrences of *words* highlighted."""
    content, lower = Content(text), text.lower()
    for word in words if len(lower) == len(text) else ():
        at = lower.find(word)
        while at >= 0:
            content = content.stylize("bold $tone-accent", at, at + len(word))
            at = lower.find(word, at + len(word))
    return content
