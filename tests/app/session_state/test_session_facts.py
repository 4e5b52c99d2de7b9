"""The lines around the prompt: the context in use, the model that answers, and when queued messages
are sent."""

from dataclasses import replace

import pytest

from agent.records.messages import (
    Busy,
    Delivery,
    ErrorInfo,
    Idle,
    MessageWithParts,
    Retry,
    SessionStatus,
)
from agent.records.usage import Usage
from app.session_state.session_facts import context_used, fallback_for, queued_label
from app.session_state.view import SessionView
from app.widgets.status import Status, status_text
from tests.app.conftest import Starter
from tests.support.model_server import ModelServer
from tests.support.records import assistant, open_assistant, snapshot, text_part, user
from tests.support.script import Hold, Text, answer

ASKED = user("msg_1", "why?")
FAILED = assistant("msg_2", error=ErrorInfo("overloaded", "Later."), finish="error")
STOPPED = assistant("msg_2", text_part("prt_2", "msg_2", "I"), finish=None, interrupted=True)
ANSWERED = assistant("msg_2", usage=Usage(input=900, output=100))
NOT_TOLD = assistant("msg_2")


def used(*messages: MessageWithParts) -> int | None:
    return context_used(SessionView(snapshot(*messages)))


def test_no_context_is_used_before_the_first_response() -> None:
    assert context_used(None) == 0
    assert used(ASKED) == 0
    assert used(ASKED, open_assistant("msg_2")) == 0
    assert used(ASKED, FAILED) == 0
    assert used(ASKED, STOPPED) == 0


def test_the_last_reported_usage_stays_until_the_next() -> None:
    assert used(ASKED, ANSWERED) == 1_000
    assert used(ASKED, ANSWERED, user("msg_3", "and?"), open_assistant("msg_4")) == 1_000
    assert used(ASKED, NOT_TOLD) is None


def test_the_status_line_names_the_model_that_answers_for_another() -> None:
    first, other = "demo/offline", "acme/large"
    answered = assistant("msg_2")
    message = replace(answered.message, parent_id="msg_1", model=other)
    view = SessionView(snapshot(ASKED, replace(answered, message=message)))
    assert fallback_for(view, first) == other
    assert fallback_for(view, other) == ""  # chosen meanwhile
    message = replace(message, model=first)
    assert (
        fallback_for(SessionView(snapshot(ASKED, replace(answered, message=message))), first) == ""
    )
    line = status_text(Status(model=first, fallback=other), 80).plain
    assert line.startswith("build  large for demo/offline")


async def test_the_context_stays_visible_from_the_first_prompt_to_its_response(
    start: Starter, scripted: ModelServer
) -> None:
    hold = Hold()
    scripted.script(answer(hold, Text("because")))
    async with start() as running:
        await running.until_shown("▱ 0%")
        await running.type("why", "enter")
        await hold.reached.wait()
        await running.until_shown("Working")
        assert "▱ 0%" in running.text()
        hold.gate.set()
        await running.until_idle()
        assert "▱" in running.text()


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
