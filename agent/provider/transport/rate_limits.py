"""Rate limits and plans, read from the headers of a response."""

import re
from collections.abc import Mapping
from datetime import datetime

from agent.records.spending import RateLimit

_PATTERNS = (
    re.compile(r"anthropic-ratelimit-(?:unified-)?(?P<name>.+)-(?P<field>limit|remaining|reset)"),
    re.compile(r"anthropic-ratelimit-unified-(?P<name>.+)-(?P<field>utilization)"),
    re.compile(r"x-ratelimit-(?P<field>limit|remaining|reset)-(?P<name>.+)"),
    re.compile(r"(?:x-)?ratelimit-(?P<field>limit|remaining|reset)(?P<name>)"),
    re.compile(
        r"x-codex-(?P<name>primary|secondary)-"
        r"(?P<field>used-percent|window-minutes|reset-at|reset-after-seconds)"
    ),
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}

_EPOCH, _EPOCH_MILLISECONDS = 1e8, 1e11
"""The numbers from which on a time is no duration, and from which on it is in milliseconds."""


def parse_rate_limits(headers: Mapping[str, str], received: float) -> tuple[RateLimit, ...]:
    """Return the limits in *headers*, of a response that was *received* then."""
    found: dict[str, dict[str, str]] = {}
    for header, value in headers.items():
        for pattern in _PATTERNS:
            if match := pattern.fullmatch(header.lower()):
                found.setdefault(match["name"], {}).setdefault(match["field"], value.strip())
                break
    limits = (_limit(name, fields, received) for name, fields in found.items())
    return tuple(
        limit for limit in limits if limit.share is not None or limit.remaining is not None
    )


def _limit(name: str, fields: Mapping[str, str], received: float) -> RateLimit:
    remaining, limit = _number(fields.get("remaining")), _number(fields.get("limit"))
    share = None
    if (used := _number(fields.get("utilization"))) is not None:
        share = 1 - used
    elif (percent := _number(fields.get("used-percent"))) is not None:
        share = 1 - percent / 100
    elif remaining is not None and limit:
        share = remaining / limit
    if (minutes := _number(fields.get("window-minutes"))) is not None:
        name = f"{minutes / 60:g}h" if minutes < 1_440 else f"{minutes / 1_440:g}d"
    reset = fields.get("reset") or fields.get("reset-at") or fields.get("reset-after-seconds")
    return RateLimit(
        name.replace("-", " ") or "requests",
        None if share is None else min(1.0, max(0.0, share)),
        remaining,
        limit,
        _time(reset, received),
    )


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,15}(\.\d+)?", text) else None


def _time(text: str | None, received: float) -> float | None:
    """Return a time that is a date, seconds since the epoch, or a duration such as ``6m0s``."""
    if not text:
        return None
    if (number := _number(text)) is not None:
        if number < _EPOCH:
            return received + number
        return number / 1000 if number >= _EPOCH_MILLISECONDS else number
    pieces = _DURATION.findall(text)
    if pieces and "".join(amount + unit for amount, unit in pieces) == text:
        return received + sum(float(amount) * _SECONDS[unit] for amount, unit in pieces)
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
