"""The part of its session that a turn holds in memory."""

from agent.records.messages import CompactionPart, MessageWithParts, TextPart, UserMessage
from agent.session.context.compaction_markers import visible_messages
from agent.session.context.conversation import Conversation


def message(number: int, *parts: CompactionPart) -> MessageWithParts:
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
