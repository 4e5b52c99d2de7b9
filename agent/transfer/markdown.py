"""A session as Markdown: what was said, and what was done in short."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape

from agent.records.blocks import DiffBlock, ShellBlock
from agent.records.consent import explained
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
from agent.records.units import money
from agent.session.review.timeline import TurnLine, result_of, said_by, timeline, words_of
from agent.transfer.bundle import Bundle
from agent.transfer.entries import Entry, FailedStep, UserEntry, turn_entries

MAX_LINES = 60
"""Lines of output that are shown of one call."""


def as_markdown(bundle: Bundle) -> str:
    """The document. Headings are turns; sub-agents' sessions follow at the end."""
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


def turn_as_markdown(turn: TurnLine) -> str:
    """One turn as a document of its own."""
    return "\n".join(_turn(turn, 1)).strip() + "\n"


def _turn(turn: TurnLine, level: int) -> Iterator[str]:
    yield f"{'#' * min(6, level)} {date_time(turn.started)}\n"
    for entry in turn_entries(turn):
        yield from _entry(entry)


def _entry(entry: Entry) -> Iterator[str]:
    match entry:
        case UserEntry(item=item, first=first):
            label = "" if first else "*(while it worked)* "
            yield "\n".join(f"> {line}" for line in f"{label}{words_of(item)}".split("\n")) + "\n"
        case TextPart(text=text):
            yield f"{text.strip()}\n"
        case ReasoningPart(text=text):
            yield _folded("Thought", text)
        case ToolPart():
            yield from _tool(entry)
        case ReportPart():
            yield _folded(entry.line, entry.body)
        case CompactionPart(summary=summary):
            yield _folded(said_by(entry), summary)
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
    thing = f" {code(label.object)}" if label.object else ""
    yield f"- **{label.verb}**{thing} {label.note}{failed}".rstrip() + "\n"
    for consent in part.consents:
        yield f"  {explained(consent)}\n"
    shown = False
    for block in state.blocks:
        if isinstance(block, DiffBlock):
            shown = True
            yield fenced("\n".join(diff_text(block)), "diff")
        elif isinstance(block, ShellBlock):
            shown = True
            yield fenced(shortened(shell_text(block)), "")
    if isinstance(state, Failed) and not shown:
        yield fenced(shortened(result_of(part)), "")


def shell_text(block: ShellBlock) -> str:
    """*block* as a terminal has it, with a line for what is not kept of its output."""
    earlier = f"… {block.earlier} earlier lines\n" if block.earlier else ""
    return f"$ {block.command}\n{earlier}{block.output}".strip()


def diff_text(block: DiffBlock) -> Iterator[str]:
    """*block* as lines of a unified diff without file headers, as ``patch`` takes it."""
    sign = {"context": " ", "add": "+", "remove": "-"}
    for hunk in block.hunks:
        old = next((line.old for line in hunk.lines if line.old is not None), 0)
        new = next((line.new for line in hunk.lines if line.new is not None), 0)
        gone = sum(line.kind != "add" for line in hunk.lines)
        come = sum(line.kind != "remove" for line in hunk.lines)
        yield f"@@ -{old},{gone} +{new},{come} @@"
        yield from (sign[line.kind] + line.text for line in hunk.lines)
    if block.omitted:
        yield f"… {block.omitted} more lines"


def fenced(text: str, language: str) -> str:
    """*text* in a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


def code(text: str) -> str:
    """*text* as code within a line."""
    flat = " ".join(text.split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def shortened(text: str) -> str:
    """The first and last lines of a long text."""
    lines = text.split("\n")
    if len(lines) <= MAX_LINES:
        return text
    half = MAX_LINES // 2
    left = len(lines) - 2 * half
    return "\n".join([*lines[:half], f"… {left} more lines", *lines[-half:]])


def date_time(when: float) -> str:
    """Date and time, of the place where it is written."""
    return datetime.fromtimestamp(when, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
