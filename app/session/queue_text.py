"""When a message that waits is sent, in words (spec 1, L3 and L10; spec 8, U10)."""

from agent.records.messages import Busy, Delivery, Idle, SessionStatus
from app.session.view import SessionView

NOT_SENT = "not sent"
"""What a message is that waits while no turn runs that would take it up."""


def delivery_time(status: SessionStatus, delivery: Delivery) -> str:
    """When a session in *status* takes up a message that waits in it: "" where that is not
    known, as of a turn that is being stopped: what was sent before that stays where it is."""
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
    """The line below a message that waits."""
    when = delivery_time(status, delivery)
    if isinstance(status, Idle):
        return f"{NOT_SENT}, goes {when}, up to edit"
    return f"queued, sent {when}" if when else "queued"


def queued_user_messages(view: SessionView | None) -> tuple[str, ...]:
    """The messages of the user that wait; reports that do are nobody's to edit."""
    entries = [(key, view.entry(key)) for key in view.queued] if view is not None else []
    return tuple(
        key
        for key, entry in entries
        if entry is None or not getattr(entry.message, "synthetic", False)
    )


def report_label(status: SessionStatus) -> str:
    """What is said of a report that waits in a session in *status*."""
    when = delivery_time(status, "steer")
    return f"told {when}" if when else ""
