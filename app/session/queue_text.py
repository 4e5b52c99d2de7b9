"""Texts that say when a queued message is sent."""

from agent.records.messages import Busy, Delivery, Idle, SessionStatus
from app.session.view import SessionView

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
            return "when that is summed up"
        case _:
            return "at the next step" if delivery == "steer" else "when this turn ends"


def queued_label(status: SessionStatus, delivery: Delivery) -> str:
    """Return the line below a queued message."""
    when = delivery_time(status, delivery)
    if isinstance(status, Idle):
        return f"{NOT_SENT}, goes {when}, up to edit"
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
    return f"told {when}" if when else ""
