"""The rows of a session's timeline: turns, and what was said and done in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from textual.content import Content

from agent.model import (
    AssistantMessage,
    Completed,
    Failed,
    MessageWithParts,
    Part,
    Pending,
    TextPart,
    ToolPart,
)
from agent.session.timeline import Step, TurnLine, failed, is_edit, is_question, words_of
from app.clean import clean_line
from app.glance import glance
from app.words import clock, count, duration, money, tokens

Filter = Literal["everything", "tools", "errors", "edits", "questions"]
FILTERS: tuple[Filter, ...] = ("everything", "tools", "errors", "edits", "questions")


@dataclass(frozen=True, slots=True)
class Mark:
    """One row. *turn* is the index of its turn, *step* the response it belongs to, if it is of
    one; *message_id* and *part_id* are where it stands in the transcript, *child* the session
    of the sub-agent it started."""

    key: str
    turn: int
    message_id: str
    part_id: str
    line: Content
    step: Step | None = None
    child: str | None = None
    heads: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What of the timeline is shown: *unfolded* are indexes of turns. A filter unfolds all."""

    filter: Filter = "everything"
    unfolded: frozenset[int] = field(default_factory=frozenset[int])

    def next_filter(self) -> "Shown":
        at = (FILTERS.index(self.filter) + 1) % len(FILTERS)
        return replace(self, filter=FILTERS[at])

    def toggled(self, turn: int) -> "Shown":
        return replace(self, unfolded=self.unfolded ^ {turn})


def marks(turns: Sequence[TurnLine], shown: Shown, width: int) -> Iterator[Mark]:
    """The rows for a list of *width* cells. With a filter only turns that hold such a thing."""
    for index, turn in enumerate(turns):
        everything = shown.filter == "everything"
        inner = list(_inner(turn, index, shown.filter, width))
        unfolded = index in shown.unfolded or not everything
        if everything or inner:
            yield Mark(
                f"turn {index}",
                index,
                turn.first_id,
                "",
                turn_line(turn, width, unfolded=unfolded),
                heads=True,
            )
            if unfolded:
                yield from inner


def _inner(turn: TurnLine, index: int, wanted: Filter, width: int) -> Iterator[Mark]:
    for item in turn.messages[1:] if turn.prompts else turn.messages:
        step = next((s for s in turn.steps if s.message.id == item.message.id), None)
        if step is None:
            if wanted == "everything":
                line = _row("▌", "$tone-blue", words_of(item), width)
                yield Mark(item.message.id, index, item.message.id, "", line)
            continue
        for part in item.parts:
            line = _part_line(part, wanted, width)
            if line is not None:
                child = _child(part)
                yield Mark(part.id, index, item.message.id, part.id, line, step, child)
        message = step.message
        if message.error is not None and wanted in {"everything", "errors"}:
            line = _row("✕", "$tone-err", message.error.message, width, "$tone-err")
            yield Mark(f"{message.id}/end", index, message.id, f"{message.id}/end", line, step)


def _part_line(part: Part, wanted: Filter, width: int) -> Content | None:
    """The row of a part, None where it has none under the filter."""
    if isinstance(part, TextPart):
        if wanted == "everything" and part.text.strip() and not part.synthetic:
            said = glance(part.text[: 8 * width])
            return _row(" ", "$tone-faint", said, width, "$tone-faint")
        return None
    if not isinstance(part, ToolPart):
        return None
    fits = {
        "everything": True,
        "tools": True,
        "errors": failed(part),
        "edits": is_edit(part),
        "questions": is_question(part),
    }
    return _tool_line(part, width) if fits[wanted] else None


def _tool_line(part: ToolPart, width: int) -> Content:
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
    if isinstance(state, Pending):
        said = part.tool
    else:
        label = state.label
        said = f"{label.verb or part.tool} {_short(label.object)} {label.note}".strip()
    return _row(glyph, tone, said, width, "$tone-err" if failed(part) else "$tone-muted")


def _short(thing: str) -> str:
    """A path by its last part; anything else as it is."""
    return thing.rpartition("/")[2] or thing if thing and " " not in thing else thing


def _child(part: Part) -> str | None:
    if not isinstance(part, ToolPart) or isinstance(part.state, Pending):
        return None
    ids = (block.session_id for block in part.state.blocks if block.kind == "subtask")
    return next((id_ for id_ in ids if id_), None)


def _row(glyph: str, tone: str, text: str, width: int, words: str = "") -> Content:
    said = " ".join(clean_line(text[: 4 * width]).split())
    line = Content.assemble((f"  {glyph} ", tone), (said, words))
    return line.truncate(width, ellipsis=True)


def turn_line(turn: TurnLine, width: int, *, unfolded: bool) -> Content:
    """Two rows: when and what, then how much."""
    tone = "$tone-warn" if turn.cancelled else "$tone-err" if turn.failures else ""
    title = " ".join(clean_line(turn.text[: 4 * width]).split()) or "The agent went on"
    head = Content.assemble(
        ("▾ " if unfolded else "▸ ", "$tone-muted"),
        (f"{clock(turn.started)}  ", "$tone-muted"),
        (title, "$tone-warn" if turn.cancelled else ""),
    )
    facts = [count(len(turn.steps), "step")]
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


def step_facts(message: AssistantMessage, step: Step) -> Content:
    """What one response took: ``Step 3  sonnet  2.4s  in 18.2k (16.9k cached)  out 310``."""
    facts = [clean_line(message.model.partition("/")[2] or message.model)]
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
    facts = [count(len(turn.steps), "step")]
    if turn.seconds is not None:
        facts.append(duration(turn.seconds))
    usage = turn.usage
    if usage.input or usage.output:
        facts += [f"in {tokens(usage.input)}", f"out {tokens(usage.output)}"]
    facts.append(money(turn.cost))
    return Content.assemble(("Turn  ", "bold"), ("  ".join(facts), "$tone-muted"))


def copied(messages: Sequence[MessageWithParts], mark: Mark) -> str:
    """What a copy of *mark* takes: the words, or a call with what it gave."""
    from agent.session.timeline import result_of  # noqa: PLC0415 - for copies only

    item = next((m for m in messages if m.message.id == mark.message_id), None)
    part = next((p for p in item.parts if p.id == mark.part_id), None) if item else None
    if isinstance(part, ToolPart) and not isinstance(part.state, Pending):
        label = part.state.label
        return f"{label.verb} {label.object}\n{result_of(part)}".strip()
    if isinstance(part, TextPart):
        return part.text
    return words_of(item) if item is not None else ""
