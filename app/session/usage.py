"""The usage of a session as the status line shows it: cost, cache hit rate, context."""

from agent.records.messages import AssistantMessage, CompactionPart, Session
from agent.records.usage import Usage
from app.session.view import SessionView


def session_cost(session: Session | None) -> float | None:
    """Return the cost of a session with its sub-agents in US dollars, None if no price is known."""
    if session is None:
        return None
    known = [cost for cost in (session.cost, session.subagent_cost) if cost is not None]
    return sum(known) if known else None


def cache_hit_rate(session: Session | None) -> float | None:
    """Return the session's cache hit rate, with the calls of its sub-agents."""
    return hit_rate(session.usage + session.subagent_usage) if session is not None else None


def hit_rate(usage: Usage | None) -> float | None:
    """Return the share of the input that came from the provider's cache, None if the provider
    reports no caching."""
    if usage is None or not usage.input or not (usage.cache_read or usage.cache_write):
        return None
    return min(1.0, usage.cache_read / usage.input)


def context_used(view: SessionView | None) -> int | None:
    """Return the tokens of the context after the newest step or compaction.

    0 while there is no response, None if there are responses but no usage was reported.
    """
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
