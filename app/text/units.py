"""Amounts and times as they are shown everywhere: 4s, 1m 12s, 2.1k, $0.42, yesterday."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from agent.records.units import money, tokens

__all__ = [
    "align_columns",
    "clock",
    "column_widths",
    "count",
    "day",
    "duration",
    "money",
    "price",
    "tokens",
]


def duration(seconds: float) -> str:
    """Return a duration such as ``4s``, ``1m 12s`` or ``2h 3m``."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s"
    return f"{whole // 3600}h {whole % 3600 // 60}m"


def align_columns(cells: Sequence[str], widths: Sequence[int], *, right_from: int = 99) -> str:
    """Return *cells* as one line of columns that are *widths* terminal cells wide; columns from
    *right_from* on are right-aligned."""
    from rich.cells import cell_len  # not needed for the first frame

    pads = [" " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)]
    pairs = enumerate(zip(cells, pads, strict=True))
    placed = (pad + cell if at >= right_from else cell + pad for at, (cell, pad) in pairs)
    return "  ".join(placed).rstrip()


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column of *rows* in terminal cells."""
    from rich.cells import cell_len  # as above

    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]


def price(dollars: float | None) -> str:
    """Return a price per million tokens (``$3``, ``$0.125``), or a dash if it is unknown."""
    return "–" if dollars is None else f"${dollars:.4g}"


def day(when: float, now: float, zone: tzinfo | None = None) -> str:
    """Return ``Today``, ``Yesterday``, the weekday within a week, else the date.

    Times are seconds since the epoch; *zone* None means local time.
    """
    then = datetime.fromtimestamp(when, UTC).astimezone(zone)
    today = datetime.fromtimestamp(now, UTC).astimezone(zone)
    days = (today.date() - then.date()).days
    if days <= 0:
        return "Today"
    if days == 1:
        return "Yesterday"
    if days < 7:
        return then.strftime("%A")
    return f"{then.day} {then.strftime('%B')}" + (
        "" if then.year == today.year else f" {then.year}"
    )


def clock(when: float, zone: tzinfo | None = None) -> str:
    """Return the time of day, such as ``14:05``."""
    return datetime.fromtimestamp(when, UTC).astimezone(zone).strftime("%H:%M")


def count(number: int, thing: str) -> str:
    """Return a number with its noun: ``1 turn``, ``6 turns``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
