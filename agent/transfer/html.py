"""A session as one HTML file without scripts, fonts or links to other files.

All text is escaped, Markdown is rendered without raw HTML, and a content security policy forbids
whatever a browser could load.
"""

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from agent.records.blocks import Block, DiffBlock, ShellBlock, SubtaskBlock, TodoBlock
from agent.records.decisions import Decision, explain_decision
from agent.records.labels import label_of
from agent.records.messages import (
    CompactionPart,
    Completed,
    Failed,
    FilePart,
    Part,
    Pending,
    ReasoningPart,
    ReportPart,
    TextPart,
    ToolPart,
)
from agent.records.units import money
from agent.session.review.timeline import (
    TimelineTurn,
    is_failed,
    synthetic_line,
    timeline,
    user_text,
)
from agent.transfer.bundle import Bundle
from agent.transfer.document import (
    Entry,
    FailedStep,
    UserEntry,
    date_time,
    full_output,
    shell_text,
    turn_entries,
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def as_html(bundle: Bundle) -> str:
    """Return the page."""
    style = files("agent.transfer").joinpath("export.css").read_text(encoding="utf-8")
    title = escape(bundle.session.title or "Untitled")
    body = "\n".join(_session(bundle, 0))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n</body>\n"
        "</html>\n"
    )


def _session(bundle: Bundle, depth: int) -> Iterator[str]:
    session = bundle.session
    turns = timeline(bundle.messages)
    level = min(6, depth + 1)
    yield f'<header id="{escape(session.id)}"><h{level}>{escape(session.title or "Untitled")}'
    yield f"</h{level}>"
    facts = [date_time(session.created), session.model or "", session.directory]
    facts.append(f"{len(turns)} turn{'' if len(turns) == 1 else 's'}")
    if session.cost is not None:
        facts.append(money(session.cost))
    yield f'<p class="facts">{_facts(facts)}</p></header>'
    if depth == 0 and len(turns) > 1:
        yield from _table_of_contents(turns)
    for turn in turns:
        yield from _turn(turn)
    for child in bundle.children:
        yield '<section class="child">'
        yield from _session(child, depth + 1)
        yield "</section>"


def _table_of_contents(turns: Sequence[TimelineTurn]) -> Iterator[str]:
    yield '<nav aria-label="Turns"><ol>'
    for turn in turns:
        first = (turn.text.strip().splitlines() or ["Untitled"])[0][:120]
        yield f'<li><a href="#{escape(turn.first_id)}">{escape(first)}</a></li>'
    yield "</ol></nav>"


def _turn(turn: TimelineTurn) -> Iterator[str]:
    yield f'<section class="turn" id="{escape(turn.first_id)}">'
    for entry in turn_entries(turn):
        yield from _entry(entry)
    facts = [f"{len(turn.steps)} step{'' if len(turn.steps) == 1 else 's'}"] if turn.steps else []
    if turn.seconds is not None:
        facts.append(f"{turn.seconds:.0f} s")
    if turn.cost is not None:
        facts.append(money(turn.cost))
    yield f'<p class="facts">{_facts(facts)}</p></section>'


def _entry(entry: Entry) -> Iterator[str]:
    match entry:
        case UserEntry(message=item):
            yield f'<div class="user"><p class="when">{escape(date_time(item.message.created))}</p>'
            yield f"<pre>{escape(user_text(item))}</pre>"
            yield "".join(_attached(part) for part in item.parts)
            yield "</div>"
        case TextPart(text=text):
            yield f'<div class="answer">{render_markdown(text)}</div>'
        case ReasoningPart(text=text):
            yield _folded("Thought", text)
        case ToolPart():
            yield from _tool(entry)
        case ReportPart():
            yield _folded(entry.headline, entry.body)
        case CompactionPart(summary=summary):
            yield _folded(synthetic_line(entry), summary)
        case FailedStep(error=error):
            text = f'<p class="error">{escape(error)}</p>'
            yield text if error else '<p class="note">Interrupted</p>'


def _folded(head: str, text: str) -> str:
    if not text.strip():
        return f'<p class="note">{escape(head)}</p>'
    return f"<details><summary>{escape(head)}</summary><div>{render_markdown(text)}</div></details>"


def _tool(part: ToolPart) -> Iterator[str]:
    state = part.state
    if isinstance(state, Pending):
        yield f'<p class="tool">{escape(label_of(part).verb)} <span>not run</span></p>'
        return
    has_failed = is_failed(part)
    look = "bad" if has_failed else "off" if isinstance(state, Failed) else "good"
    facts = " ".join(state.facts) if isinstance(state, Completed) else ""
    if isinstance(state, Failed):
        facts = state.kind
    thing = f"<code>{escape(label_of(part).object)}</code>" if label_of(part).object else ""
    summary = (
        f'<summary class="{look}"><b>{escape(label_of(part).verb)}</b> '
        f"{thing} {escape(label_of(part).note)} "
        f"<span>{escape(facts)}</span></summary>"
    )
    body = "".join(_block(block, part) for block in state.blocks)
    given = full_output(part).strip()
    if given and (not body or has_failed):
        body += f"<pre>{escape(given)}</pre>"
    notes = [_decision(one) for one in part.decisions]
    body = "".join(notes) + body
    is_open = any(isinstance(block, DiffBlock) for block in state.blocks)
    yield f'<details class="tool"{" open" if is_open else ""}>{summary}{body}</details>'


def _decision(decision: Decision) -> str:
    refused = f"<pre>{escape(decision.refused)}</pre>" if decision.refused else ""
    return f'<p class="note">{escape(explain_decision(decision))}</p>{refused}'


def _block(block: Block, part: ToolPart) -> str:
    match block:
        case DiffBlock():
            return _diff(block)
        case ShellBlock():
            return f"<pre>{escape(shell_text(block, part))}</pre>"
        case TodoBlock():
            items = "".join(
                f'<li class="{item.status}">{escape(item.content)}</li>' for item in block.items
            )
            return f'<ul class="todo">{items}</ul>'
        case SubtaskBlock(text=text) if text.strip():
            return f'<div class="answer">{render_markdown(text)}</div>'
        case _:
            return ""


def _diff(block: DiffBlock) -> str:
    sign = {"context": " ", "add": "+", "remove": "−"}
    rows: list[str] = []
    for number, hunk in enumerate(block.hunks):
        if number:
            rows.append('<tr class="gap"><td></td><td>⋮</td></tr>')
        for line in hunk.lines:
            at = line.old if line.kind == "remove" else line.new
            text = escape(sign[line.kind] + " " + line.text)
            rows.append(f'<tr class="{line.kind}"><td>{at or ""}</td><td>{text}</td></tr>')
    if block.omitted:
        rows.append(f'<tr class="gap"><td></td><td>{block.omitted} more lines</td></tr>')
    caption = f"<caption>{escape(block.path)} +{block.added} −{block.removed}</caption>"
    return f'<table class="diff">{caption}{"".join(rows)}</table>'


def _attached(part: Part) -> str:
    if not isinstance(part, FilePart):
        return ""
    if part.data is not None and part.mime in IMAGE_TYPES:
        name = escape(part.path or "an image")
        return f'<img alt="{name}" src="data:{part.mime};base64,{escape(part.data)}">'
    return f'<p class="note">attached {escape(part.path or part.mime)}</p>'


def _facts(facts: Sequence[str]) -> str:
    return " · ".join(escape(fact) for fact in facts if fact)


def render_markdown(text: str) -> str:
    """Return Markdown as HTML; images become links, as the page loads nothing."""
    from markdown_it import MarkdownIt  # only this form needs it

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return str(parser.render(text))
