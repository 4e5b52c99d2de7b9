"""The page on the memory of a project."""

from collections.abc import Sequence

from textual.content import Content

from agent.records.memory import MemoryLine
from app.text.sanitize import sanitize_line
from app.text.units import calendar_date

EMPTY = "Nothing is remembered yet."
HOW = (
    "/memory propose lets the agent propose lines from this session; # adds one of yours. Lines "
    "without a note were written by hand or elsewhere."
)


def memory_text(path: str, lines: Sequence[MemoryLine], width: int) -> Content:
    """Return the memory file at *path*: each of its lines, and below it where it comes from."""
    shown = [Content.styled(sanitize_line(path), "$tone-accent"), Content("")]
    for line in lines:
        shown += Content(sanitize_line(line.text)).wrap(width)
        if line.origin is not None:
            shown += Content.styled(f"    {origin_text(line)}", "$tone-muted").wrap(width)
    if not lines:
        shown.append(Content.styled(EMPTY, "$tone-muted"))
    shown += [Content(""), *Content.styled(HOW, "$tone-muted").wrap(width)]
    return Content("\n").join(shown)


def origin_text(line: MemoryLine) -> str:
    """Return where a line comes from, in a few words."""
    origin = line.origin
    if origin is None:
        return ""
    who = "yours"
    if origin.source == "agent":
        edited = ", changed by you" if origin.edited else ""
        who = f"proposed by the agent, accepted by you{edited}"
    where = f", in “{sanitize_line(line.title)}”" if line.title else ""
    if origin.session_id and not line.title:
        where = ", in a session that is deleted"
    return f"{who}{where}, {calendar_date(origin.created)}"
