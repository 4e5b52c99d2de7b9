"""Dates and times of day as they are shown: Yesterday, November 29, 2026, 14:05."""

from datetime import UTC, datetime, tzinfo


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
