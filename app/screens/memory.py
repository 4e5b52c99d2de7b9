"""The page on the memory of a project."""

from collections.abc import Sequence

from textual.content import Content

from agent.records.memory import MemoryLine
from app.text.dates import calendar_date
from app.text.sanitize import sanitize_line

EMPTY = "Nothing is remembered yet."
HOW = (
    "/memory propose lets the agent propose lines from this session. To add your own, type # and "
    "the line. Lines without a note were written by hand or by another program."
)

NOTE_INDENT = " " * 4


def memory_text(path: str, lines: Sequence[MemoryLine], width: int) -> Content:
    """Return the memory file at *path*: each of its lines, and below it where it comes from."""
    shown = [Content.styled(sanitize_line(path), "$tone-accent"), Content("")]
    for line in lines:
        text = sanitize_line(line.text)
        bullet = text[:2] if text.startswith(("- ", "* ", "+ ")) else ""
        shown += _hanging(Content(text.removeprefix(bullet)), width, bullet)
        if line.origin is not None:
            shown += _hanging(Content.styled(origin_text(line), "$tone-muted"), width, NOTE_INDENT)
    if not lines:
        shown.append(Content.styled(EMPTY, "$tone-muted"))
    shown += [Content(""), *Content.styled(HOW, "$tone-muted").wrap(width)]
    return Content("\n").join(shown)


def _hanging(text: Content, width: int, lead: str) -> list[Content]:
    """Return *text* in rows of *width* cells: *lead* before the first, as much space before the
    others."""
    rows = text.wrap(max(1, width - len(lead)))
    return [Content(" " * len(lead) if at else lead) + row for at, row in enumerate(rows)]


def origin_text(line: MemoryLine) -> str:
    """Return where a line comes from, in a few words."""
    origin = line.origin
    if origin is None:
        return ""
    who = "added by you"
    if origin.source == "agent":
        edited = "edited and " if origin.edited else ""
        who = f"proposed by the agent, {edited}accepted by you"
    where = f", in “{sanitize_line(line.title)}”" if line.title else ""
    if origin.session_id and not line.title:
        where = ", in a deleted session"
    return f"{who}{where}, {calendar_date(origin.created)}"
