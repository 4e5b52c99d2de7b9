"""What a session has used, as the status line tells it (spec 5, R8; spec 2, C10)."""

from agent.model import Session
from agent.usage import Usage


def spent_of(session: Session | None) -> float | None:
    """US dollars of a session with its sub-agents, None where no price is known."""
    if session is None:
        return None
    known = [cost for cost in (session.cost, session.below_cost) if cost is not None]
    return sum(known) if known else None


def cached_of(session: Session | None) -> float | None:
    """The session's cache hit rate, its sub-agents' calls included."""
    return hit_rate(session.usage + session.below) if session is not None else None


def hit_rate(usage: Usage | None) -> float | None:
    """The share of the input that came out of the provider's cache, None where nothing tells
    of caching."""
    if usage is None or not usage.input or not (usage.cache_read or usage.cache_write):
        return None
    return min(1.0, usage.cache_read / usage.input)
