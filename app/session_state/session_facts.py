"""Short facts on a session: when its queued messages are sent, its cost, its use of the context."""

from agent.records.messages import (
    AssistantMessage,
    Busy,
    CompactionPart,
    Delivery,
    Idle,
    Session,
    SessionStatus,
)
from agent.records.usage import Usage
from app.session_state.view import SessionView

NOT_SENT = "not sent"
"""The state of a queued message while no turn runs that would pick it up."""


def delivery_time(status: SessionStatus, delivery: Delivery) -> str:
    """Return when a session in *status* picks up a queued message.

    Empty where that is not known, as for a turn that is being stopped: what was sent before the
    stop stays queued.
    """
    match status:
        case Idle():
            return "with your next message"
        case Busy(cancelling=True):
            return ""
        case Busy(compacting=True):
            return "after compacting"
        case _:
            return "at the next step" if delivery == "steer" else "when this turn ends"


def queued_label(status: SessionStatus, delivery: Delivery) -> str:
    """Return the line below a queued message."""
    when = delivery_time(status, delivery)
    if isinstance(status, Idle):
        return f"{NOT_SENT}; will be sent {when}, ↑ to edit"
    return f"queued, sent {when}" if when else "queued"


def queued_user_messages(view: SessionView | None) -> tuple[str, ...]:
    """Return the ids of the user's queued messages; queued reports cannot be edited."""
    entries = [(key, view.entry(key)) for key in view.queued] if view is not None else []
    return tuple(
        key
        for key, entry in entries
        if entry is None or not getattr(entry.message, "synthetic", False)
    )


def report_label(status: SessionStatus) -> str:
    """Return the label of a report that is queued in a session in *status*."""
    when = delivery_time(status, "steer")
    return f"reported to the model {when}" if when else ""


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
    """Return the share of the input that came from the provider's cache, None if unknown."""
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


def fallback_for(view: SessionView | None, model: str) -> str:
    """Return the model that answered the newest prompt to *model* in its place, "" if none did."""
    for message_id in reversed(view.message_ids if view is not None else []):
        entry = view.entry(message_id) if view is not None else None
        if entry is None or not isinstance(message := entry.message, AssistantMessage):
            continue
        asked = view.entry(message.parent_id) if view is not None else None
        wanted = asked.message.model if asked is not None else None
        return message.model if wanted == model != message.model else ""
    return ""
