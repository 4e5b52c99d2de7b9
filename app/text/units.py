"""Amounts and times as they are shown everywhere: 4s, 1m 12s, 2.1k, $0.42, yesterday."""

from datetime import UTC, datetime, tzinfo

from agent.records.units import duration, money, price, tokens

__all__ = ["clock", "count", "day", "duration", "money", "price", "tokens"]


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
    return f"{then.strftime('%B')} {then.day}" + (
        "" if then.year == today.year else f", {then.year}"
    )


def calendar_date(when: float, zone: tzinfo | None = None) -> str:
    """Return a date such as ``November 29, 2026``."""
    then = datetime.fromtimestamp(when, UTC).astimezone(zone)
    return f"{then.strftime('%B')} {then.day}, {then.year}"


def clock(when: float, zone: tzinfo | None = None) -> str:
    """Return the time of day, such as ``14:05``."""
    return datetime.fromtimestamp(when, UTC).astimezone(zone).strftime("%H:%M")


def count(number: int, thing: str) -> str:
    """Return a number with its noun: ``1 turn``, ``6 turns``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
