"""Compaction markers, and the conversation as it reads after one.

Nothing is deleted: a marker message contains the summary and says where the tail begins, and
``visible_messages`` reads a history through the newest marker. The result depends on stored records
alone, so the same history is always sent the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.records.context_parts import ContextPart
from agent.records.ids import new_id
from agent.records.messages import (
    AssistantMessage,
    CompactionPart,
    FilePart,
    MessageWithParts,
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
    UserMessage,
    messages_before,
)
from agent.records.reminders import reminder

MIN_TAIL = 2
"""Messages that the tail contains at least."""

SUMMARY_REMINDER = (
    "The conversation so far was summarized to save space. You no longer see the earlier messages, "
    "only this summary and the messages that follow.\n\n{pins}# Summary\n\n{summary}"
)
CONTINUE_REMINDER = reminder(
    "Continue the work where it stopped, as described in the summary and the newest messages. Do "
    "not mention the summary. If nothing is left to do, say so in one line."
)
FILE_PLACEHOLDER = "[{what} was attached here{where}. It was removed to save space{again}.]"


def marker_of(item: MessageWithParts) -> CompactionPart | None:
    return next((part for part in item.parts if isinstance(part, CompactionPart)), None)


def visible_messages(messages: Sequence[MessageWithParts]) -> tuple[MessageWithParts, ...]:
    """Return *messages* as they are sent: the newest marker's summary and its tail."""
    for index in range(len(messages) - 1, -1, -1):
        marker = marker_of(messages[index])
        if marker is not None:
            return _after_marker(messages, index, marker)
    return tuple(messages)


def _after_marker(
    messages: Sequence[MessageWithParts], index: int, marker: CompactionPart
) -> tuple[MessageWithParts, ...]:
    carrier = messages[index]
    start = len(messages_before(messages[:index], marker.first_kept_id))
    older = [m for m in messages[start:index] if marker_of(m) is None]
    newer = messages[index + 1 :]
    open_from = first_unanswered(older)
    head = MessageWithParts(carrier.message, (_summary_text(marker),))
    replayed = [_without_context(m, replay=at >= open_from) for at, m in enumerate(older)]
    return (head, *replayed, *newer)


def _summary_text(marker: CompactionPart) -> TextPart:
    pins = f"{marker.pins}\n\n" if marker.pins else ""
    return TextPart(
        id=marker.id,
        session_id=marker.session_id,
        message_id=marker.message_id,
        text=reminder(SUMMARY_REMINDER.format(pins=pins, summary=marker.summary)),
        ended=0,
        synthetic=True,
    )


def _without_context(item: MessageWithParts, *, replay: bool) -> MessageWithParts:
    """Return *item* without its context: the marker states it anew. In an unanswered message
    (*replay*) files are replaced by a description."""
    parts = tuple(
        file_placeholder(part) if replay and isinstance(part, FilePart) and part.data else part
        for part in item.parts
        if not isinstance(part, ContextPart)
    )
    same = len(parts) == len(item.parts) and all(map(_is_same, parts, item.parts))
    return item if same else MessageWithParts(item.message, parts)


def _is_same(one: Part, other: Part) -> bool:
    return one is other


def file_placeholder(file: FilePart) -> TextPart:
    """Return a line in the place of an attachment."""
    what = "A picture" if file.mime.startswith("image/") else f"A file of type {file.mime}"
    return TextPart(
        id=file.id,
        session_id=file.session_id,
        message_id=file.message_id,
        text=FILE_PLACEHOLDER.format(
            what=what,
            where=f" ({file.path})" if file.path else "",
            again="; read that file to see it again" if file.path else "",
        ),
        ended=0,
        synthetic=True,
    )


def first_unanswered(messages: Sequence[MessageWithParts]) -> int:
    """Return the index of the first message at the end that the model has not reacted to."""
    for index in range(len(messages) - 1, -1, -1):
        item = messages[index]
        if isinstance(item.message, AssistantMessage) and _has_content(item):
            return index + 1
    return 0


def _has_content(item: MessageWithParts) -> bool:
    return any(isinstance(part, TextPart | ReasoningPart | ToolPart) for part in item.parts)


def is_request(item: MessageWithParts) -> bool:
    """Return whether *item* is the user's own and was sent."""
    message = item.message
    return (
        isinstance(message, UserMessage) and not message.synthetic and message.turn_id is not None
    )


def _begins_turn(item: MessageWithParts) -> bool:
    return is_request(item) and not getattr(item.message, "steered", False)


def tail_start(
    messages: Sequence[MessageWithParts],
    max_tokens: int,
    weigh: Callable[[MessageWithParts], float],
) -> int:
    """Return the index at which the tail of at most *max_tokens* begins: whole turns, newest first;
    of a newest turn that is too long its newest steps.

    The tail contains at least ``MIN_TAIL`` messages and all unanswered ones, and where possible at
    least one message is outside it. Messages are whole steps, so no call is split from its result.
    """
    total = 0.0
    start = cut = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        total += weigh(messages[index])
        if total > max_tokens:
            break
        cut = index
        if _begins_turn(messages[index]):
            start = index
    # No whole turn fits: the newest one is cut at a step.
    start = cut if start == len(messages) else start
    least = min(len(messages) - MIN_TAIL, first_unanswered(messages))
    if min(start, least) > 0:
        return min(start, least)
    # All of it would fit, but something has to go: the newest turn is what stays.
    turns = (at for at in range(least, 0, -1) if _begins_turn(messages[at]))
    short = next(turns, min(1, len(messages) - 1) if least <= 0 else least)
    return min(short, first_unanswered(messages))


def marker_message(newest: UserMessage, now: float) -> UserMessage:
    """Return the message that carries a marker. *newest* is the current request."""
    return replace(
        newest, id=new_id("msg"), created=now, steered=False, synthetic=True, pinned=False
    )


def continue_message(marker: UserMessage, now: float) -> MessageWithParts:
    """Return the hidden message that has the model continue after a compaction in mid-work."""
    message = replace(marker, id=new_id("msg"), created=now)
    text = TextPart(
        id=new_id("prt"),
        session_id=message.session_id,
        message_id=message.id,
        text=CONTINUE_REMINDER,
        started=now,
        ended=now,
        synthetic=True,
        mark="compaction_continue",
    )
    return MessageWithParts(message, (text,))
