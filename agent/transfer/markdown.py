"""A session as Markdown: the conversation, and the tool calls in short."""

import re
from collections.abc import Iterator
from html import escape

from agent.records.amounts import money
from agent.records.blocks import DiffBlock, ShellBlock
from agent.records.decisions import explain_decision
from agent.records.labels import label_of
from agent.records.messages import (
    CompactionPart,
    Failed,
    Pending,
    ReasoningPart,
    ReportPart,
    TextPart,
    ToolPart,
)
from agent.session.review.timeline import (
    TimelineTurn,
    result_text,
    synthetic_line,
    timeline,
    user_text,
)
from agent.transfer.bundle import (
    Bundle,
    Entry,
    FailedStep,
    UserEntry,
    date_time,
    diff_text,
    full_output,
    shell_text,
    turn_entries,
)


def as_markdown(bundle: Bundle) -> str:
    """Return the document. Headings are turns; sub-agents' sessions follow at the end."""
    return "\n".join(_document(bundle, 1)).strip() + "\n"


def _document(bundle: Bundle, level: int) -> Iterator[str]:
    session = bundle.session
    yield f"{'#' * level} {session.title or 'Untitled'}\n"
    facts = [date_time(session.created), session.model or "", f"`{session.directory}`"]
    if session.cost is not None:
        facts.append(money(session.cost))
    yield " · ".join(fact for fact in facts if fact) + "\n"
    for turn in timeline(bundle.messages):
        yield from _turn(turn, level + 1)
    for child in bundle.children:
        yield from _document(child, min(6, level + 1))


def turn_as_markdown(turn: TimelineTurn) -> str:
    """Return one turn as a document of its own."""
    return "\n".join(_turn(turn, 1)).strip() + "\n"


def _turn(turn: TimelineTurn, level: int) -> Iterator[str]:
    yield f"{'#' * min(6, level)} {date_time(turn.started)}\n"
    for entry in turn_entries(turn):
        yield from _entry(entry)


def _entry(entry: Entry) -> Iterator[str]:
    match entry:
        case UserEntry(message=item, first=first):
            label = "" if first else "*(while working)* "
            yield "\n".join(f"> {line}" for line in f"{label}{user_text(item)}".split("\n")) + "\n"
        case TextPart(text=text):
            yield f"{text.strip()}\n"
        case ReasoningPart(text=text):
            yield _folded("Thought", text)
        case ToolPart():
            yield from _tool(entry)
        case ReportPart():
            yield _folded(entry.headline, entry.body)
        case CompactionPart(summary=summary):
            yield _folded(synthetic_line(entry), summary)
        case FailedStep(error=error):
            yield f"**Failed:** {error}\n" if error else "*Interrupted*\n"


def _folded(head: str, text: str) -> str:
    if not text.strip():
        return f"*{head}*\n"
    return (
        f"<details><summary>{escape(head, quote=False)}</summary>\n\n{text.strip()}\n\n</details>\n"
    )


def _tool(part: ToolPart) -> Iterator[str]:
    state = part.state
    if isinstance(state, Pending):
        yield f"- **{label_of(part).verb}** (not run)\n"
        return
    label = label_of(part)
    failed = f" ({state.kind})" if isinstance(state, Failed) else ""
    object_code = f" {code(label.object)}" if label.object else ""
    yield f"- **{label.verb}**{object_code} {label.note}{failed}".rstrip() + "\n"
    for decision in part.decisions:
        yield f"  {explain_decision(decision)}\n"
        if decision.refused:
            yield fenced(decision.refused, "")
    shown = False
    for block in state.blocks:
        if isinstance(block, DiffBlock):
            shown = True
            yield fenced("\n".join(diff_text(block)), "diff")
        elif isinstance(block, ShellBlock):
            shown = True
            yield fenced(shell_text(block, part), "")
    if shown:
        return
    if isinstance(state, Failed):
        yield fenced(result_text(part), "")
    elif output := full_output(part).strip():
        yield _folded("Output", fenced(output, ""))


def fenced(text: str, language: str) -> str:
    """Return *text* in a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


def code(text: str) -> str:
    """Return *text* as inline code."""
    flat = " ".join(text.split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"
