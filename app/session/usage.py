"""What a session has used, as the status line tells it (spec 5, R8; spec 2, C10)."""

from agent.records.messages import AssistantMessage, CompactionPart, Session
from agent.records.usage import Usage
from app.session.view import SessionView


def session_cost(session: Session | None) -> float | None:
    """US dollars of a session with its sub-agents, None where no price is known."""
    if session is None:
        return None
    known = [cost for cost in (session.cost, session.subagent_cost) if cost is not None]
    return sum(known) if known else None


def cache_hit_rate(session: Session | None) -> float | None:
    """The session's cache hit rate, its sub-agents' calls included."""
    return hit_rate(session.usage + session.subagent_usage) if session is not None else None


def hit_rate(usage: Usage | None) -> float | None:
    """The share of the input that came out of the provider's cache, None where nothing tells
    of caching."""
    if usage is None or not usage.input or not (usage.cache_read or usage.cache_write):
        return None
    return min(1.0, usage.cache_read / usage.input)


def context_used(view: SessionView | None) -> int | None:
    """Tokens of the context in use after the newest step or summary: 0 while nothing was
    answered, None where answers came and nobody told of their usage."""
    answered = False
    for message_id in reversed(view.message_ids if view is not None else []):
        entry = view.entry(message_id) if view is not None else None
        for part in entry.parts if entry is not None else ():
            if isinstance(part, CompactionPart) and part.after is not None:
                return part.after
        if entry is not None and isinstance(entry.message, AssistantMessage):
            usage = entry.message.usage
            if usage is not None and usage.output > 0:
                return usage.input + usage.output
            answered = answered or entry.message.finish in {"stop", "tool-calls", "length"}
    return None if answered else 0
