"""The rows of a session's timeline: turns, what was said and done in them, and below the call
or the report of a sub-agent, once it is unfolded, what that said and did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from textual.content import Content

from agent.records.blocks import TodoItem
from agent.records.labels import label_of
from agent.records.messages import (
    AssistantMessage,
    CompactionPart,
    Completed,
    Failed,
    Idle,
    MessageWithParts,
    Part,
    Pending,
    ReasoningPart,
    ReportPart,
    Session,
    SyntheticPart,
    TextPart,
    ToolPart,
)
from agent.session.api import SessionSnapshot
from agent.session.review.timeline import (
    Step,
    TurnLine,
    answers_of,
    failed,
    is_edit,
    is_question,
    said_by,
    timeline,
    words_of,
)
from agent.store.store import Store
from app.session.view import SessionView
from app.text.excerpt import excerpt
from app.text.sanitize import sanitize_line
from app.text.units import clock, count, duration, money, tokens


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """One session with its turns, as it stood when it was read."""

    session: Session
    messages: tuple[MessageWithParts, ...]
    turns: tuple[TurnLine, ...]
    todos: tuple[TodoItem, ...] = ()

    def view(self) -> SessionView:
        """What a transcript draws."""
        snapshot = SessionSnapshot(
            session=self.session, messages=self.messages, status=Idle(), todos=self.todos
        )
        return SessionView(snapshot)

    def turn_of(self, message_id: str) -> int | None:
        """The index of the turn that holds a message."""
        for index, turn in enumerate(self.turns):
            if any(item.message.id == message_id for item in turn.messages):
                return index
        return None

    def item(self, message_id: str) -> MessageWithParts | None:
        return next((item for item in self.messages if item.message.id == message_id), None)

    def part(self, message_id: str, part_id: str) -> Part | None:
        item = self.item(message_id)
        return next((p for p in item.parts if p.id == part_id), None) if item else None

    def step(self, message_id: str) -> AssistantMessage | None:
        item = self.item(message_id)
        found = item.message if item is not None else None
        return found if isinstance(found, AssistantMessage) else None


UnfoldedSessions: TypeAlias = Mapping[str, LoadedSession]
"""Sessions of sub-agents that are unfolded, by the id of the part that each stands below."""


async def load_session(store: Store, session_id: str) -> LoadedSession:
    """A session as it is now. Raises ``SessionNotFound``."""
    session = await store.session(session_id)
    messages = tuple(await store.messages(session_id))
    todos = await store.todos(session_id)
    return LoadedSession(session, messages, timeline(messages), todos)


MAX_DEPTH = 8
"""Sub-agents of sub-agents that are unfolded below each other."""

Filter = Literal["everything", "tools", "errors", "edits", "questions"]
FILTERS: tuple[Filter, ...] = ("everything", "tools", "errors", "edits", "questions")


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One row. *turn* is the index of its turn in the session that is reviewed, *place* that of its
    turn in its own session *session_id*; *step* is the response it belongs to, if it is of one.
    *message_id* and *part_id* are where it stands in the transcript, *child* is the session of
    the sub-agent that it started or that reports in it."""

    key: str
    turn: int
    place: int
    session_id: str
    message_id: str
    part_id: str
    line: Content
    step: Step | None = None
    child: str | None = None
    is_turn: bool = False


@dataclass(frozen=True, slots=True)
class TimelineFilter:
    """What of the timeline is shown: *unfolded* are indexes of turns. A filter unfolds all."""

    filter: Filter = "everything"
    unfolded: frozenset[int] = field(default_factory=frozenset[int])

    def next_filter(self) -> "TimelineFilter":
        at = (FILTERS.index(self.filter) + 1) % len(FILTERS)
        return replace(self, filter=FILTERS[at])

    def toggled(self, turn: int) -> "TimelineFilter":
        return replace(self, unfolded=self.unfolded ^ {turn})


@dataclass(frozen=True, slots=True)
class _RowContext:
    """Where rows are made: in which turn, for a list of *width* cells, *depth* sessions below the
    one that is reviewed. *below* are the sessions that are unfolded."""

    turn: int
    filter: Filter
    width: int
    below: UnfoldedSessions
    depth: int = 0


def timeline_rows(
    reviewed: LoadedSession, shown: TimelineFilter, width: int, below: UnfoldedSessions
) -> Iterator[TimelineRow]:
    """The rows for a list of *width* cells. With a filter only turns that hold such a thing."""
    for index, turn in enumerate(reviewed.turns):
        everything = shown.filter == "everything"
        where = _RowContext(index, shown.filter, width, below)
        inner = list(_inner(reviewed, index, where))
        unfolded = index in shown.unfolded or not everything
        if everything or inner:
            yield TimelineRow(
                key=f"turn {index}",
                turn=index,
                place=index,
                session_id=reviewed.session.id,
                message_id=turn.first_id,
                part_id="",
                line=turn_line(turn, width, unfolded=unfolded),
                is_turn=True,
            )
            if unfolded:
                yield from inner


def _inner(reviewed: LoadedSession, place: int, where: _RowContext) -> Iterator[TimelineRow]:
    turn = reviewed.turns[place]

    def mark(message_id: str, part_id: str, line: Content, **more: Any) -> TimelineRow:
        return TimelineRow(
            key=part_id or message_id,
            turn=where.turn,
            place=place,
            session_id=reviewed.session.id,
            message_id=message_id,
            part_id=part_id,
            line=line,
            **more,
        )

    everything = where.filter == "everything"
    for item in turn.messages:
        id_ = item.message.id
        if turn.prompts and item is turn.prompts[0]:
            continue
        step = next((s for s in turn.steps if s.message.id == id_), None)
        if step is None and item in turn.prompts:
            if everything:
                yield mark(id_, "", _row("▌", "$tone-blue", words_of(item), where))
            continue
        for part in item.parts:
            if step is None and not isinstance(part, SyntheticPart):
                continue
            child = _child(part)
            below = where.below.get(part.id)
            line = _part_line(part, where, unfolded=below is not None)
            if line is not None:
                yield mark(id_, part.id, line, step=step, child=child)
            if below is not None and where.depth < MAX_DEPTH:
                inside = replace(where, depth=where.depth + 1)
                for number in range(len(below.turns)):
                    yield from _inner(below, number, inside)
        line = _end_line(step, where) if step is not None else None
        if line is not None:
            yield mark(id_, f"{id_}/end", line, step=step)


def _end_line(step: Step, where: _RowContext) -> Content | None:
    """How a step ended where it did not end well, None where that has no row under the filter."""
    error = step.message.error
    if step.message.interrupted:
        line = _row("⊘", "$tone-faint", "Interrupted", where, "$tone-faint")
        return line if where.filter == "everything" else None
    if error is None or where.filter not in {"everything", "errors"}:
        return None
    return _row("✕", "$tone-err", error.message, where, "$tone-err")


def _part_line(part: Part, where: _RowContext, *, unfolded: bool) -> Content | None:
    """The row of a part, None where it has none under the filter."""
    if isinstance(part, TextPart | ReasoningPart):
        if where.filter != "everything" or not part.text.strip():
            return None
        said = excerpt(part.text[: 8 * where.width])
        if isinstance(part, ReasoningPart):
            return _row("∴", "$tone-faint", said, where, "$tone-faint")
        return None if part.synthetic else _row(" ", "", said, where, "$tone-faint")
    if isinstance(part, CompactionPart | ReportPart):
        if where.filter != "everything":
            return None
        return _row("◇", "$tone-muted", said_by(part), where, folds=_folds(part, unfolded))
    if not isinstance(part, ToolPart):
        return None
    fits = {
        "everything": True,
        "tools": True,
        "errors": failed(part),
        "edits": is_edit(part),
        "questions": is_question(part),
    }
    if not fits[where.filter]:
        return None
    line = _tool_line(part, where, unfolded=unfolded)
    if where.filter != "questions":
        return line
    answers = [_row(" ", "", answer, where, "$tone-faint") for answer in answers_of(part)]
    return Content("\n").join([line, *answers])


def _tool_line(part: ToolPart, where: _RowContext, *, unfolded: bool) -> Content:
    state = part.state
    match state:
        case Completed():
            glyph, tone = "●", "$tone-ok"
        case Failed(kind="aborted"):
            glyph, tone = "⊘", "$tone-faint"
        case Failed():
            glyph, tone = "✕", "$tone-err"
        case _:
            glyph, tone = "○", "$tone-faint"
    label = label_of(part)
    said = f"{label.verb} {_short(label.object)} {label.note}".strip()
    words = "$tone-err" if failed(part) else "$tone-muted"
    return _row(glyph, tone, said, where, words, _folds(part, unfolded))


def _short(thing: str) -> str:
    """A path by its last part; anything else as it is."""
    return thing.rpartition("/")[2] or thing if thing and " " not in thing else thing


def _folds(part: Part, unfolded: bool) -> str:
    return "" if _child(part) is None else "▾" if unfolded else "▸"


def _child(part: Part) -> str | None:
    """The session of the sub-agent that *part* began or that reports in it."""
    if isinstance(part, ReportPart):
        return part.child_id or None
    if not isinstance(part, ToolPart) or isinstance(part.state, Pending):
        return None
    ids = (block.session_id for block in part.state.blocks if block.kind == "subtask")
    return next((id_ for id_ in ids if id_), None)


def _row(
    glyph: str, tone: str, text: str, where: _RowContext, words: str = "", folds: str = ""
) -> Content:
    said = " ".join(sanitize_line(text[: 4 * where.width]).split())
    rules = "│ " * where.depth
    line = Content.assemble(
        (f"{folds:<2}", "$tone-muted"), (rules, "$tone-faint"), (f"{glyph} ", tone), (said, words)
    )
    return line.truncate(where.width, ellipsis=True)


def turn_line(turn: TurnLine, width: int, *, unfolded: bool) -> Content:
    """Two rows: when and what, then how much."""
    tone = "$tone-warn" if turn.cancelled else "$tone-err" if turn.failures else ""
    title = " ".join(sanitize_line(turn.text[: 4 * width]).split()) or "Untitled"
    head = Content.assemble(
        ("▾ " if unfolded else "▸ ", "$tone-muted"),
        (f"{clock(turn.started)}  ", "$tone-muted"),
        (title, "$tone-warn" if turn.cancelled else ""),
    )
    facts = [count(len(turn.steps), "step") if turn.steps else "no step"]
    if turn.seconds is not None:
        facts.append(duration(turn.seconds))
    if turn.cost is not None:
        facts.append(money(turn.cost))
    note = Content.assemble(("  " + "  ".join(facts), "$tone-faint"))
    if turn.cancelled:
        note += Content.styled("  cancelled", tone)
    elif turn.failures:
        note += Content.styled(f"  {count(turn.failures, 'error')}", tone)
    if turn.usage.output:
        note += Content.styled(f"  {tokens(turn.usage.output)} out", "$tone-faint")
    rows = [row.truncate(width, ellipsis=True) for row in (head, note)]
    return Content("\n").join(rows)


KEYS = (
    ("/", "search"),
    ("f", "filter"),
    ("d", "turn's changes"),
    ("D", "all changes"),
    ("q", "request"),
    ("y", "copy"),
    ("w", "save"),
    ("x", "export"),
    ("r", "resume"),
    ("k", "fork"),
    ("esc", "close"),
)


def header_line(reviewed: LoadedSession, above: Sequence[str], shown: TimelineFilter) -> Content:
    """Where this is, and what there is of it."""
    session = reviewed.session
    trail = " / ".join(sanitize_line(title) for title in (*above, session.title))
    facts = f"   {count(len(reviewed.turns), 'turn')}  {money(session.cost)}"
    if shown.filter != "everything":
        facts += f"   only {shown.filter}"
    return Content.assemble(
        ("History", "bold"), ("  /  ", "$tone-muted"), trail or "Untitled", (facts, "$tone-muted")
    )


def key_hints(note: str, width: int) -> Content:
    """The keys in rows of *width* cells, none broken over two; before them *note*, what is to be
    said just now."""
    pieces = [Content.styled(f"{note} ", "$tone-warn")] if note else []
    pieces += [Content.assemble((key, "bold"), (f" {what}", "$tone-muted")) for key, what in KEYS]
    rows: list[list[Content]] = [[]]
    for piece in pieces:
        used = sum(held.cell_length + 2 for held in rows[-1])
        if rows[-1] and used + piece.cell_length > width:
            rows.append([])
        rows[-1].append(piece)
    return Content("\n").join([Content("  ").join(row) for row in rows])


def row_facts(reviewed: LoadedSession, mark: TimelineRow) -> Content:
    """What is to be known of a row: what its turn or step took, how it was allowed, what it
    opens."""
    if mark.step is None:
        facts = turn_facts(reviewed.turns[mark.place])
    else:
        facts = step_facts(mark.step.message, mark.step)
    part = reviewed.part(mark.message_id, mark.part_id)
    if isinstance(part, ToolPart) and (answers := answers_of(part)):
        said = "  ".join(" ".join(sanitize_line(answer).split()) for answer in answers)
        facts = Content.assemble((said, "$tone-accent"), "   ", facts)
    if mark.child is not None:
        keys = ("enter", "bold"), (" unfold  ", "$tone-muted"), ("o", "bold"), (" alone   ", "")
        facts = Content.assemble(*keys, facts)
    return facts


def step_facts(message: AssistantMessage, step: Step) -> Content:
    """What one response took: ``Step 3  sonnet  2.4s  in 18.2k (16.9k cached)  out 310``."""
    facts = [sanitize_line(message.model.partition("/")[2] or message.model)]
    if step.seconds is not None:
        facts.append(f"{step.seconds:.1f}s" if step.seconds < 60 else duration(step.seconds))
    if (usage := message.usage) is not None:
        cached = f" ({tokens(usage.cache_read)} cached)" if usage.cache_read else ""
        facts += [f"in {tokens(usage.input)}{cached}", f"out {tokens(usage.output)}"]
    if message.cost is not None:
        facts.append(money(message.cost))
    return Content.assemble((f"Step {message.step}  ", "bold"), ("  ".join(facts), "$tone-muted"))


def turn_facts(turn: TurnLine) -> Content:
    """What a turn took as a whole."""
    facts = [count(len(turn.steps), "step") if turn.steps else "no step"]
    if turn.seconds is not None:
        facts.append(duration(turn.seconds))
    usage = turn.usage
    if usage.input or usage.output:
        facts += [f"in {tokens(usage.input)}", f"out {tokens(usage.output)}"]
    facts.append(money(turn.cost))
    return Content.assemble(("Turn  ", "bold"), ("  ".join(facts), "$tone-muted"))
