"""The part of its session that a turn holds in memory."""

from random import Random

import pytest

from agent.records.blocks import ToolLabel
from agent.records.context_parts import ContextPart
from agent.records.messages import (
    AssistantMessage,
    CompactionPart,
    Completed,
    MessageWithParts,
    Part,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.session.context.compaction_markers import visible_messages
from agent.session.context.conversation import Conversation
from agent.session.context.request_turns import request_turns


def message(number: int, *parts: Part) -> MessageWithParts:
    name = f"msg_{number:03}"
    made = UserMessage(
        id=name, session_id="s", created=0, agent="build", model="m/m", turn_id="t"
    )  # fmt: skip
    text = TextPart(id=f"prt_{number}", session_id="s", message_id=name, text="w", ended=1.0)
    return MessageWithParts(made, parts or (text,))


def marker(number: int, tail: int | None) -> MessageWithParts:
    start = f"msg_{tail:03}" if tail is not None else None
    part = CompactionPart(
        id=f"prt_{number}", session_id="s", message_id=f"msg_{number:03}",
        summary="so far", auto=True, tail_start_id=start,
    )  # fmt: skip
    return message(number, part)


def test_compacted_messages_are_not_kept_in_memory() -> None:
    history = [message(number) for number in range(10)]
    conversation = Conversation(history)
    for number in range(10, 400):
        before = conversation.visible
        assert len(conversation.all) <= 15
        item = marker(number, number - 3) if len(before) > 12 else message(number)
        conversation.add(item)
        history.append(item)
        # The request equals that of the whole history.
        assert tuple(conversation.visible) == visible_messages(history)
    assert conversation.marker is not None


def test_a_compaction_of_everything_leaves_only_itself() -> None:
    conversation = Conversation([*map(message, range(4)), marker(4, None)])
    assert len(conversation.visible) == 1
    assert [item.message.id for item in conversation.all] == ["msg_004"]


def step(number: int, *, interrupted: bool) -> MessageWithParts:
    ids = {"session_id": "s", "message_id": f"msg_{number:03}"}
    done = Completed(
        input={}, label=ToolLabel("Read", "x"), started=0, ended=1, output="out",
        attached=(f"file {number}",),
    )  # fmt: skip
    call = ToolPart(id=f"prt_{number}", call_id="c", tool="read", state=done, **ids)
    said = AssistantMessage(
        id=f"msg_{number:03}", session_id="s", created=0, parent_id="msg_000", turn_id="t", step=1,
        agent="build", model="m/m", interrupted=interrupted,
    )  # fmt: skip
    return MessageWithParts(said, (call,))


@pytest.mark.parametrize("seed", range(20))
def test_a_changed_conversation_equals_a_new_one(seed: int) -> None:
    rng = Random(seed)
    conversation = Conversation([message(0)])
    for number in range(1, 60):
        ids = {"session_id": "s", "message_id": f"msg_{number:03}"}
        context = ContextPart(id=f"prt_{number}", reminder="r", facts={"n": str(number)}, **ids)
        match rng.choice(["step", "step", "user", "context", "compact", "remove", "prune"]):
            case "user":
                conversation.add(message(number))
            case "context":
                conversation.add(message(number, context))
            case "compact":
                conversation.add(marker(number, max(0, number - 4)))
            case "remove" if len(conversation.all) > 1:
                conversation.remove(rng.choice(conversation.all).message.id)
            case "prune":
                item = rng.choice(conversation.all)
                conversation.replace_parts({part.id: context for part in item.parts})
            case _:
                conversation.add(step(number, interrupted=rng.random() < 0.3))
        new = Conversation(conversation.all)
        assert conversation.turns() == new.turns() == request_turns(new.visible)
        assert conversation.context == new.context
        assert conversation.attached_instructions == new.attached_instructions
