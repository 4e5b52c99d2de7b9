"""Summing up the older part of a session, its tail kept as it is (spec 2, C3–C7).

Nothing is deleted: a marker message holds the summary and says where the tail begins, and
``compacted`` reads a history through the newest marker.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from agent.errors import ProviderError, ProviderErrorKind
from agent.ids import new_id
from agent.model import CompactionPart, MessageWithParts, TextPart, Usage, UserMessage
from agent.provider.client import (
    ModelClient,
    ModelInfo,
    ModelRequest,
    TextContent,
    UserTurn,
)
from agent.provider.once import answer_to
from agent.session.context import Budget, weight
from agent.session.history import turns_of
from agent.told import ContextPart

TRIES = 3
"""Attempts at a summary, each with less of the oldest messages (C6)."""

LEAST_TAIL = 2
"""Messages that the tail holds at least (C3)."""

REQUEST = "Sum up the conversation above in the sections that you were given."

SUMMARY = (
    "<system-reminder>\nThe conversation so far was summed up to save space. The summary:\n\n"
    "{summary}\n</system-reminder>"
)


@dataclass(frozen=True, slots=True)
class Summary:
    """*usage* is what the request for it took, None where the provider did not say."""

    text: str
    usage: Usage | None


def marker_of(item: MessageWithParts) -> CompactionPart | None:
    return next((part for part in item.parts if isinstance(part, CompactionPart)), None)


def compacted(messages: Sequence[MessageWithParts]) -> tuple[MessageWithParts, ...]:
    """*messages* as they are sent: behind the newest marker's summary only its tail stands.

    The user's request that the tail belongs to is repeated word for word (C4, C5).
    """
    for index in range(len(messages) - 1, -1, -1):
        marker = marker_of(messages[index])
        if marker is not None:
            return _behind(messages, index, marker)
    return tuple(messages)


def _behind(
    messages: Sequence[MessageWithParts], index: int, marker: CompactionPart
) -> tuple[MessageWithParts, ...]:
    start = marker.tail_start_id or messages[index].message.id
    tail = [
        m
        for m in messages
        if m.message.id >= start and m is not messages[index] and marker_of(m) is None
    ]
    carrier = messages[index]
    text = TextPart(
        id=marker.id,
        session_id=marker.session_id,
        message_id=marker.message_id,
        text=SUMMARY.format(summary=marker.summary),
        ended=0,
        synthetic=True,
    )
    head = [MessageWithParts(carrier.message, (text,))]
    asked = [m for m in messages if m.message.id < start and _is_request(m)]
    # The first request is what the session is for; the newest is what is being worked on.
    pinned = asked if len(asked) <= LEAST_TAIL else [asked[0], asked[-1]]
    told = (*pinned[:1], *head, *pinned[1:], *tail)
    return tuple(m if m.message.id > carrier.message.id else _untold(m) for m in told)


def _untold(item: MessageWithParts) -> MessageWithParts:
    """*item* without what it told of the session's place: the marker tells it anew (C9)."""
    parts = tuple(part for part in item.parts if not isinstance(part, ContextPart))
    return MessageWithParts(item.message, parts)


def marker_message(
    newest: UserMessage, summary: str, tail_start_id: str | None, now: float
) -> MessageWithParts:
    """The marker to store where a compaction happened. *newest* is the request at hand."""
    message = replace(newest, id=new_id("msg"), created=now, steered=False, synthetic=True)
    part = CompactionPart(
        id=new_id("prt"),
        session_id=message.session_id,
        message_id=message.id,
        summary=summary,
        auto=True,
        tail_start_id=tail_start_id,
    )
    return MessageWithParts(message, (part,))


def _is_request(item: MessageWithParts) -> bool:
    message = item.message
    return (
        isinstance(message, UserMessage) and not message.synthetic and message.turn_id is not None
    )


def tail_start(messages: Sequence[MessageWithParts], budget: Budget) -> int:
    """The index at which the tail begins. Messages are whole steps, so no call is ever split
    from its result."""
    total = 0
    for index in range(len(messages) - 1, -1, -1):
        total += weight(messages[index])
        if len(messages) - index > LEAST_TAIL and total > budget.tail:
            return index + 1
    return 0


async def summarise(
    client: ModelClient,
    model: ModelInfo,
    messages: Sequence[MessageWithParts],
    session_id: str,
) -> Summary:
    """The summary of *messages*. Raises ``ProviderError`` when the model gives none."""
    rest = list(messages)
    error = ProviderError(ProviderErrorKind.OVERFLOW, "There is nothing to sum up.")
    for _ in range(TRIES):
        if not rest:
            break
        try:
            return await _ask(client, model, rest, session_id)
        except ProviderError as failed:
            if failed.kind is not ProviderErrorKind.OVERFLOW:
                raise
            error = failed
            rest = rest[max(1, len(rest) // 2) :]
    raise error


async def _ask(
    client: ModelClient, model: ModelInfo, messages: Sequence[MessageWithParts], session_id: str
) -> Summary:
    prompt = files("agent.prompts").joinpath("compaction.txt").read_text(encoding="utf-8")
    request = ModelRequest(
        model=model,
        system=(prompt.strip(),),
        turns=(*turns_of(messages), UserTurn((TextContent(REQUEST),))),
        session_id=session_id,
    )
    answer = await answer_to(client, request, "summary")
    return Summary(answer.text, answer.usage)
