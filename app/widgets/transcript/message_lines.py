"""Lines of everything that is not a tool call: messages of the user, reasoning, errors, markers."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text

from agent.records.amounts import tokens
from agent.records.blocks import SubtaskBlock
from agent.records.context_parts import BackgroundTaskState
from agent.records.messages import (
    AgentPart,
    AssistantMessage,
    CompactionPart,
    FilePart,
    Part,
    ReasoningPart,
    ReportPart,
    RetryPart,
    SubtaskPart,
    TextPart,
    UserMessage,
)
from app.text.excerpt import excerpt
from app.text.sanitize import sanitize, sanitize_line
from app.widgets.transcript.blocks import BlockContext, DrawnBlock, draw_block
from app.widgets.transcript.lines import Line, Page, cut, gutter, make_line, wrap
from app.widgets.transcript.markdown import MarkdownView
from app.widgets.transcript.tool_calls import Moment, precise_duration

USER_LINES = 24
"""Rows of a message of the user before it folds."""

PINNED = "pinned, kept word for word in every summary"


def user_text(parts: Sequence[Part]) -> str:
    """Return what the user wrote, without what the agent added."""
    texts = [part.text for part in parts if isinstance(part, TextPart) and not part.synthetic]
    return "\n".join(texts)


def user_lines(
    message: UserMessage, parts: Sequence[Part], page: Page, *, queue_note: str, unfolded: bool
) -> DrawnBlock:
    """Return a message of the user on a raised surface with a bar in the gutter.

    *queue_note* says when a queued message is sent, "" if it is not queued.
    """
    palette = page.palette
    fill = (page.width, palette.style("text", "panel"))
    bar = Segment("▌" + " " * max(0, page.left - 1), palette.style("blue", "panel"))
    edge = make_line((), prefix=(bar,), fill=fill)
    width = page.prose(page.left)

    def row(content: Sequence[Segment], join: str = "\n") -> Line:
        return make_line(content, prefix=(bar,), fill=fill, join=join)

    lines: list[Line] = []
    style = palette.style("text", "panel")
    for line in sanitize(user_text(parts)).strip("\n").split("\n"):
        lines += [row(content, join) for content, join in wrap(Text(line, style=style), width)]
    foldable = len(lines) > USER_LINES + 1
    if foldable and not unfolded:
        hidden = f"… {len(lines) - USER_LINES} more lines"
        text = Segment(hidden, palette.style("muted", "panel"))
        last = make_line([text], prefix=(bar,), fill=fill, toggles=True)
        lines = [*lines[:USER_LINES], last]
    for part in parts:
        if note := _attachment_note(part):
            text = Text(note, style=palette.style("muted", "panel"))
            lines += [row(content, join) for content, join in wrap(text, width)]
    if message.pinned:
        lines.append(row([Segment(cut(PINNED, width), palette.style("muted", "panel"))]))
    if queue_note:
        lines.append(row([Segment(cut(queue_note, width), palette.style("warn", "panel"))]))
    return [edge, *lines, edge], foldable


def _attachment_note(part: Part) -> str:
    match part:
        case FilePart():
            return f"attached  {sanitize_line(part.path or part.mime)}"
        case AgentPart():
            return f"asked  @{sanitize_line(part.name)}"
        case _:
            return ""


def reasoning_lines(
    part: ReasoningPart, page: Page, moment: Moment, body: Sequence[Line], *, unfolded: bool
) -> list[Line]:
    """Return one line, with *body* (the drawn text) below it if unfolded or unfinished."""
    palette = page.palette
    thinking = part.ended is None
    seconds = (moment.now if part.ended is None else part.ended) - part.started
    timed = part.started > 0 and seconds >= 1
    title = (
        "Thinking"
        if thinking
        else "Thought" + (f" for {precise_duration(seconds)}" if timed else "")
    )
    if thinking and timed:
        title += f"  {precise_duration(seconds)}"
    if part.interrupted:
        title += ", interrupted"
    content = [Segment(title, palette.style("muted"))]
    room = page.prose(page.left + 2) - cell_len(title) - 2
    if not thinking and not unfolded and room > 8 and (headline := _headline(part.text)):
        content.append(Segment(f"  {cut(headline, room)}", palette.style("faint")))
    prefix = (*gutter(page, page.left), Segment("◇ ", palette.style("muted")))
    head = make_line(content, prefix=prefix, toggles=True)
    return [head, *body] if thinking or unfolded else [head]


def reasoning_view(page: Page) -> MarkdownView:
    return MarkdownView(page, tone="faint", indent=page.indent)


def _headline(text: str) -> str:
    """Return the first paragraph with text."""
    return sanitize_line(excerpt(text, 1))


def end_lines(message: AssistantMessage, page: Page) -> list[Line]:
    """Return the notes after a step that did not end normally or is pinned."""
    pinned = _marker_lines(page, "◇", "muted", PINNED, "muted") if message.pinned else []
    return [*pinned, *_ending_lines(message, page)]


def _ending_lines(message: AssistantMessage, page: Page) -> list[Line]:
    if message.interrupted:  # by the user: not an error, whatever error is stored
        return _marker_lines(page, "⊘", "faint", "Interrupted", "muted")
    if message.error is not None:
        return _marker_lines(page, "✕", "err", message.error.message, "err")
    if message.finish == "length":
        text = "The response was cut off at the model's output limit."
        return _marker_lines(page, "◆", "warn", text, "muted")
    if message.finish == "content-filter":
        text = "The provider's content filter stopped the response."
        return _marker_lines(page, "◆", "warn", text, "muted")
    return []


def note_lines(part: Part, page: Page, *, unfolded: bool) -> DrawnBlock:
    """Return the lines of retries, summaries and sub-sessions; none for other parts."""
    match part:
        case RetryPart() if part.change:
            text = f"{part.change} {part.error.message}"
            return _marker_lines(page, "◆", "warn", text, "muted"), False
        case RetryPart():
            text = f"Attempt {part.attempt} failed: {part.error.message}"
            return _marker_lines(page, "○", "faint", text, "faint"), False
        case SubtaskPart():
            text = f"{part.agent} {part.description}"
            return _marker_lines(page, "◇", "accent", text, "text"), False
        case CompactionPart():
            return _summary_lines(part, page, unfolded=unfolded), True
        case ReportPart():
            return _report_lines(part, page, unfolded=unfolded)
        case _:
            return [], False


_REPORT_GLYPHS: dict[BackgroundTaskState, tuple[str, str]] = {
    "running": ("◐", "accent"),
    "completed": ("◇", "ok"),
    "cancelled": ("⊘", "faint"),
    "rejected": ("⊘", "faint"),
    "limit_reached": ("✕", "err"),
    "failed": ("✕", "err"),
    "interrupted": ("⊘", "faint"),
}
"""The glyph of a report and its tone."""


def _report_lines(part: ReportPart, page: Page, *, unfolded: bool) -> DrawnBlock:
    """Return the result of background work at the place where it was reported to the model."""
    glyph, tone = _REPORT_GLYPHS[part.outcome]
    head = _marker_lines(page, glyph, tone, part.headline, "muted", toggles=True)
    context = BlockContext(page, page.indent, open=unfolded)
    lines, folds = draw_block(SubtaskBlock(part.child_id, part.agent, text=part.body), context)
    return [*head, *lines], folds


def _summary_lines(part: CompactionPart, page: Page, *, unfolded: bool) -> list[Line]:
    text = "Earlier messages were summarized" + (" to save context" if part.auto else "")
    if part.before and part.after and part.after < part.before:
        text += f" · {tokens(part.before)} → {tokens(part.after)} tokens"
    head = _marker_lines(page, "◇", "muted", text, "muted", toggles=True)
    if not unfolded:
        return head
    view = MarkdownView(page, tone="muted", indent=page.indent)
    view.update(part.summary, final=True)
    return [*head, *view.lines]


def _marker_lines(
    page: Page, glyph: str, tone: str, text: str, text_tone: str, *, toggles: bool = False
) -> list[Line]:
    palette = page.palette
    first = (*gutter(page, page.left), Segment(f"{glyph} ", palette.style(tone)))
    rest = gutter(page, page.left + 2)
    lines: list[Line] = []
    for line in sanitize(text).strip("\n").split("\n"):
        rows = wrap(Text(line, style=palette.style(text_tone)), page.prose(page.left + 2))
        for row, join in rows:
            prefix = rest if lines else first
            lines.append(make_line(row, prefix=prefix, join=join, toggles=toggles))
    return lines
