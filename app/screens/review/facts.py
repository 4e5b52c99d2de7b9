"""The lines round a timeline: what is reviewed, what a step took, which keys there are."""

from collections.abc import Sequence

from textual.content import Content

from agent.records.messages import AssistantMessage, ToolPart
from agent.session.review.timeline import Step, TurnLine, answers_of
from app.screens.review.loaded_session import LoadedSession
from app.screens.review.rows import TimelineFilter, TimelineRow
from app.text.sanitize import sanitize_line
from app.text.units import count, duration, money, tokens

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
