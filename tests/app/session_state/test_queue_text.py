"""The texts that say when a queued message is sent."""

import pytest

from agent.records.messages import Busy, Delivery, Idle, Retry, SessionStatus
from app.session_state.session_totals import queued_label


@pytest.mark.parametrize(
    ("status", "delivery", "label"),
    [
        (Busy(0.0), "steer", "queued, sent at the next step"),
        (Busy(0.0), "follow_up", "queued, sent when this turn ends"),
        (Busy(0.0, compacting=True), "steer", "queued, sent after compacting"),
        (Busy(0.0, cancelling=True), "steer", "queued"),
        (Retry(1, "busy", 0.0), "steer", "queued, sent at the next step"),
        (Idle(), "steer", "not sent; will be sent with your next message, ↑ to edit"),
        (Idle(), "follow_up", "not sent; will be sent with your next message, ↑ to edit"),
    ],
)
def test_the_label_shows_when_the_message_is_sent(
    status: SessionStatus, delivery: Delivery, label: str
) -> None:
    assert queued_label(status, delivery) == label
