"""The timeline of a session that is reviewed: the session, its rows, and the lines around them.

Rows are turns, their messages and calls, and below the call or report of a sub-agent, once it is
unfolded, the rows of its session.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, TypeAlias

from textual.content import Content

from agent.records.amounts import count, duration, money, tokens
from agent.records.blocks import TodoItem
from agent.records.frozen import frozen
from agent.records.labels import label_of
from agent.records.messages import (
    AssistantMessage,
    CompactionPart,
    Completed,
    Failed,
    Idle,
    MessageWithParts,
    Part,
    PatchPart,
    Pending,
    ReasoningPart,
    ReportPart,
    Session,
    StepFinishPart,
    SyntheticPart,
    TextPart,
    ToolPart,
)
from agent.records.usage import Usage
from agent.session.api import SessionSnapshot
from agent.session.review.timeline import (
    TimelineStep,
    TimelineTurn,
    decision_lines,
    is_edit,
    is_failed,
    is_question,
    synthetic_line,
    timeline,
    user_text,
)
from agent.store.store import Store
from app.session_state.session_facts import hit_rate
from app.session_state.view import SessionView
from app.text.dates import clock
from app.text.excerpt import excerpt
from app.text.sanitize import sanitize_line


@frozen
class LoadedSession:
    """A session with its turns, as it was when it was read."""

    session: Session
    messages: tuple[MessageWithParts, ...]
    turns: tuple[TimelineTurn, ...]
    todos: tuple[TodoItem, ...] = ()

    def view(self) -> SessionView:
        """Return the view that a transcript draws."""
        snapshot = SessionSnapshot(
            session=self.session, messages=self.messages, status=Idle(), todos=self.todos
        )
        return SessionView(snapshot)

    def turn_of(self, message_id: str) -> int | None:
        """Return the index of the turn that contains a message."""
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
"""Unfolded sessions of sub-agents by the id of the part that each is shown below."""


async def load_session(store: Store, session_id: str) -> LoadedSession:
    """Return a session as it is now. Raises ``SessionNotFound``."""
    session = await store.session(session_id)
    messages = tuple(await store.messages(session_id))
    todos = await store.todos(session_id)
    return LoadedSession(session, messages, timeline(messages), todos)


MAX_DEPTH = 8
"""Levels of nested sub-agents that can be unfolded."""

Filter = Literal["everything", "tools", "errors", "edits", "questions"]
FILTERS: tuple[Filter, ...] = ("everything", "tools", "errors", "edits", "questions")


@frozen
class TimelineRow:
    """One row of the timeline."""

    key: str
    turn: int
    """The index of its turn in the reviewed session."""
    place: int
    """The index of its turn in its own session *session_id*."""
    session_id: str
    message_id: str
    """With *part_id*, its position in the transcript."""
    part_id: str
    line: Content
    step: TimelineStep | None = None
    """The response that it belongs to, if any."""
    child: str | None = None
    """The session of the sub-agent that it started or that reports in it."""
    is_turn: bool = False
    """True if it is the heading of a turn."""


@frozen
class TimelineFilter:
    """The shown part of the timeline. Any filter but "everything" unfolds all turns."""

    filter: Filter = "everything"
    unfolded: frozenset[int] = field(default_factory=frozenset[int])
    """Indexes of turns."""

    def next_filter(self) -> "TimelineFilter":
        at = (FILTERS.index(self.filter) + 1) % len(FILTERS)
        return replace(self, filter=FILTERS[at])

    def toggled(self, turn: int) -> "TimelineFilter":
        return replace(self, unfolded=self.unfolded ^ {turn})


@frozen
class _RowContext:
    """The context in which rows are created."""

    turn: int
    """The index of the turn in the reviewed session."""
    filter: Filter
    width: int
    """Cells of the list."""
    below: UnfoldedSessions
    depth: int = 0
    """Sessions between the reviewed one and this one."""


def timeline_rows(
    loaded: LoadedSession, filtered: TimelineFilter, width: int, below: UnfoldedSessions
) -> Iterator[TimelineRow]:
    """Yield the rows for a list of *width* cells. A filter leaves out turns without a match."""
    for index, turn in enumerate(loaded.turns):
        everything = filtered.filter == "everything"
        context = _RowContext(index, filtered.filter, width, below)
        inner = list(_rows_of_turn(loaded, index, context))
        unfolded = index in filtered.unfolded or not everything
        if everything or inner:
            yield TimelineRow(
                key=f"turn {index}",
                turn=index,
                place=index,
                session_id=loaded.session.id,
                message_id=turn.first_id,
                part_id="",
                line=turn_line(turn, width, unfolded=unfolded),
                is_turn=True,
            )
            if unfolded:
                yield from inner


def _rows_of_turn(loaded: LoadedSession, place: int, context: _RowContext) -> Iterator[TimelineRow]:
    turn = loaded.turns[place]

    def row(message_id: str, part_id: str, line: Content, **more: Any) -> TimelineRow:
        return TimelineRow(
            key=part_id or message_id,
            turn=context.turn,
            place=place,
            session_id=loaded.session.id,
            message_id=message_id,
            part_id=part_id,
            line=line,
            **more,
        )

    everything = context.filter == "everything"
    for item in turn.messages:
        id_ = item.message.id
        if turn.prompts and item is turn.prompts[0]:
            continue
        step = next((s for s in turn.steps if s.message.id == id_), None)
        if step is None and item in turn.prompts:
            if everything:
                yield row(id_, "", _line("▌", "$tone-blue", user_text(item), context))
            continue
        for part in item.parts:
            if step is None and not isinstance(part, SyntheticPart):
                continue
            child = _child_session(part)
            below = context.below.get(part.id)
            line = _part_line(part, context, unfolded=below is not None)
            if line is not None:
                yield row(id_, part.id, line, step=step, child=child)
            if below is not None and context.depth < MAX_DEPTH:
                inside = replace(context, depth=context.depth + 1)
                for number in range(len(below.turns)):
                    yield from _rows_of_turn(below, number, inside)
        line = _end_line(step, context) if step is not None else None
        if line is not None:
            yield row(id_, f"{id_}/end", line, step=step)


def _end_line(step: TimelineStep, context: _RowContext) -> Content | None:
    """Return the line for a step that did not end normally, None if the filter hides it."""
    error = step.message.error
    if step.message.interrupted:
        line = _line("⊘", "$tone-faint", "Interrupted", context, "$tone-faint")
        return line if context.filter == "everything" else None
    if error is None or context.filter not in {"everything", "errors"}:
        return None
    return _line("✕", "$tone-err", error.message, context, "$tone-err")


def _part_line(part: Part, context: _RowContext, *, unfolded: bool) -> Content | None:
    """Return the line of a part, None if the filter hides it."""
    if isinstance(part, TextPart | ReasoningPart):
        if context.filter != "everything" or not part.text.strip():
            return None
        text = excerpt(part.text[: 8 * context.width])
        if isinstance(part, ReasoningPart):
            return _line("∴", "$tone-faint", text, context, "$tone-faint")
        return None if part.synthetic else _line(" ", "", text, context, "$tone-faint")
    if isinstance(part, PatchPart):
        if context.filter not in {"everything", "edits"}:
            return None
        names = ", ".join(_short_path(path) for path in part.files)
        return _line("◉", "$tone-blue", f"Checkpoint {names}", context, "$tone-muted")
    if not isinstance(part, ToolPart):
        everything = context.filter == "everything"
        return _note_line(part, context, unfolded=unfolded) if everything else None
    fits = {
        "everything": True,
        "tools": True,
        "errors": is_failed(part),
        "edits": is_edit(part),
        "questions": is_question(part),
    }
    if not fits[context.filter]:
        return None
    line = _tool_line(part, context, unfolded=unfolded)
    if context.filter != "questions":
        return line
    answers = [_line(" ", "", answer, context, "$tone-faint") for answer in decision_lines(part)]
    return Content("\n").join([line, *answers])


def _note_line(part: Part, context: _RowContext, *, unfolded: bool) -> Content | None:
    """Return the line of a compaction, a report, or a step that missed the cache."""
    if isinstance(part, CompactionPart | ReportPart):
        fold = _fold_glyph(part, unfolded)
        return _line("◇", "$tone-muted", synthetic_line(part), context, folds=fold)
    if isinstance(part, StepFinishPart) and part.cache_miss is not None:
        text = f"Cache missed: {part.cache_miss.sentence}"
        return _line("◆", "$tone-warn", text, context, "$tone-muted")
    return None


def _tool_line(part: ToolPart, context: _RowContext, *, unfolded: bool) -> Content:
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
    text = f"{label.verb} {_short_path(label.object)} {label.note}".strip()
    words = "$tone-err" if is_failed(part) else "$tone-muted"
    return _line(glyph, tone, text, context, words, _fold_glyph(part, unfolded))


def _short_path(thing: str) -> str:
    """Return the last component of a path, anything else unchanged."""
    return thing.rpartition("/")[2] or thing if thing and " " not in thing else thing


def _fold_glyph(part: Part, unfolded: bool) -> str:
    return "" if _child_session(part) is None else "▾" if unfolded else "▸"


def _child_session(part: Part) -> str | None:
    """Return the session of the sub-agent that *part* started or that reports in it."""
    if isinstance(part, ReportPart):
        return part.linked_session or None
    if not isinstance(part, ToolPart) or isinstance(part.state, Pending):
        return None
    ids = (block.session_id for block in part.state.blocks if block.kind == "subtask")
    return next((id_ for id_ in ids if id_), None)


def _line(
    glyph: str, tone: str, text: str, context: _RowContext, words: str = "", folds: str = ""
) -> Content:
    text = " ".join(sanitize_line(text[: 4 * context.width]).split())
    rules = "│ " * context.depth
    line = Content.assemble(
        (f"{folds:<2}", "$tone-muted"), (rules, "$tone-faint"), (f"{glyph} ", tone), (text, words)
    )
    return line.truncate(context.width, ellipsis=True)


def turn_line(turn: TimelineTurn, width: int, *, unfolded: bool) -> Content:
    """Return two lines: time and title, then the turn's numbers."""
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
    note = Content.assemble(("  " + "  ".join(facts), "$tone-muted"))
    if turn.cancelled:
        note += Content.styled("  canceled", tone)
    elif turn.failures:
        note += Content.styled(f"  {count(turn.failures, 'error')}", tone)
    if turn.usage.output:
        note += Content.styled(f"  {tokens(turn.usage.output)} out", "$tone-muted")
    if turn.cache_misses:
        note += Content.styled("  cache missed", "$tone-warn")
    rows = [row.truncate(width, ellipsis=True) for row in (head, note)]
    return Content("\n").join(rows)


KEYS = (
    ("/", "search"),
    ("f", "filter"),
    ("d", "turn changes"),
    ("D", "all changes"),
    ("p", "request"),
    ("y", "copy"),
    ("w", "save"),
    ("x", "export"),
    ("r", "resume"),
    ("c", "fork"),
    ("u", "restore"),
    ("b", "worktree"),
    ("q", "close"),
)


def header_line(loaded: LoadedSession, parents: Sequence[str], filtered: TimelineFilter) -> Content:
    """Return the title and the totals of the reviewed session."""
    session = loaded.session
    trail = " / ".join(sanitize_line(title) for title in (*parents, session.title))
    facts = f"   {count(len(loaded.turns), 'turn')}  {money(session.cost)}"
    if filtered.filter != "everything":
        facts += f"   only {filtered.filter}"
    return Content.assemble(
        ("History", "bold"), ("  /  ", "$tone-muted"), trail or "Untitled", (facts, "$tone-muted")
    )


def row_facts(loaded: LoadedSession, row: TimelineRow) -> Content:
    """Return the facts about a row: what it used, how it was allowed, what it opens."""
    if row.step is None:
        facts = turn_facts(loaded.turns[row.place])
    else:
        facts = step_facts(row.step.message, row.step)
    part = loaded.part(row.message_id, row.part_id)
    if isinstance(part, ToolPart) and (answers := decision_lines(part)):
        text = "  ".join(" ".join(sanitize_line(answer).split()) for answer in answers)
        facts = Content.assemble((text, "$tone-accent"), "   ", facts)
    if isinstance(part, StepFinishPart) and part.cache_miss is not None:
        facts = Content.styled(sanitize_line(part.cache_miss.sentence), "$tone-warn")
    if row.child is not None:
        keys = (
            ("enter", "bold"),
            (" unfold  ", "$tone-muted"),
            ("o", "bold"),
            (" open   ", "$tone-muted"),
        )
        facts = Content.assemble(*keys, facts)
    return facts


def step_facts(message: AssistantMessage, step: TimelineStep) -> Content:
    """Return what one response used: ``Step 3  sonnet  2.4s  in 18.2k (16.9k cached)  out 310``."""
    facts = [sanitize_line(message.model.partition("/")[2] or message.model)]
    if step.seconds is not None:
        facts.append(f"{step.seconds:.1f}s" if step.seconds < 60 else duration(step.seconds))
    if (usage := message.usage) is not None:
        facts += _token_facts(usage)
    if message.cost is not None:
        facts.append(money(message.cost))
    return Content.assemble((f"Step {message.step}  ", "bold"), ("  ".join(facts), "$tone-muted"))


def turn_facts(turn: TimelineTurn) -> Content:
    """Return what a turn used in total."""
    facts = [count(len(turn.steps), "step") if turn.steps else "no step"]
    if turn.seconds is not None:
        facts.append(duration(turn.seconds))
    usage = turn.usage
    if usage.input or usage.output:
        facts += _token_facts(usage)
    facts.append(money(turn.cost))
    return Content.assemble(("Turn  ", "bold"), ("  ".join(facts), "$tone-muted"))


def _token_facts(usage: Usage) -> list[str]:
    """Return the tokens read and written, with the share of the input that came from the cache."""
    rate = hit_rate(usage)
    cached = f" ({rate:.0%} cached)" if rate is not None else ""
    return [f"in {tokens(usage.input)}{cached}", f"out {tokens(usage.output)}"]
