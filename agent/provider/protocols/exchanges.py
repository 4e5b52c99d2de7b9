"""Our turns as the exchange that every protocol has: what was said, called and answered.

Each call is followed by its result, one that was lost by a sentence (spec 5, R4); calls get ids
that no other call of the conversation has.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.call_ids import CallIds
from agent.provider.protocols.placeholders import GO_ON, LOST_RESULT, NO_OUTPUT


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call and the id under which it is sent."""

    call: ToolCallContent
    sent_id: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user said."""

    content: tuple[TextContent | MediaContent, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """What *model* (``provider/model``) said and called, in order."""

    content: tuple[TextContent | ReasoningContent | SentCall, ...]
    model: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call. *text* is never empty."""

    sent: SentCall
    text: str
    is_error: bool
    media: tuple[MediaContent, ...]


@dataclass(frozen=True, slots=True)
class Returned:
    """The results of all calls of the answer before it, in their order."""

    results: tuple[CallResult, ...]


Exchange: TypeAlias = Asked | Answered | Returned


def exchanges(turns: Iterable[Turn]) -> Iterator[Exchange]:
    """*turns*, with nothing empty in them and every call answered; the user begins and ends."""
    last: Exchange | None = None
    for exchange in _exchanges(turns):
        if last is None and not isinstance(exchange, Asked):
            yield Asked((TextContent(GO_ON),))
        yield exchange
        last = exchange
    if isinstance(last, Answered):
        yield Asked((TextContent(GO_ON),))


def _exchanges(turns: Iterable[Turn]) -> Iterator[Exchange]:
    ids = CallIds()
    open_calls: list[SentCall] = []
    for turn in turns:
        given = turn.content if isinstance(turn, ToolTurn) else ()
        if open_calls:
            yield _returned(open_calls, given)
            open_calls = []
        match turn:
            case UserTurn():
                content = tuple(c for c in turn.content if not _blank(c))
                if content:
                    yield Asked(content)
            case AssistantTurn():
                said = tuple(
                    SentCall(c, ids.take(c.call_id)) if isinstance(c, ToolCallContent) else c
                    for c in turn.content
                    if not _blank(c)
                )
                if any(not isinstance(c, ReasoningContent) for c in said):
                    yield Answered(said, turn.model)
                    open_calls = [c for c in said if isinstance(c, SentCall)]
            case ToolTurn():
                pass
    if open_calls:
        yield _returned(open_calls, ())


def _blank(content: object) -> bool:
    return isinstance(content, TextContent) and not content.text.strip()


def _returned(calls: list[SentCall], given: tuple[ToolResultContent, ...]) -> Returned:
    left = list(given)
    results: list[CallResult] = []
    for sent in calls:
        found = next((r for r in left if r.call_id == sent.call.call_id), None)
        if found is None:
            results.append(CallResult(sent, LOST_RESULT, is_error=True, media=()))
            continue
        left.remove(found)
        text = found.output if found.output.strip() else NO_OUTPUT
        results.append(CallResult(sent, text, is_error=found.is_error, media=found.media))
    return Returned(tuple(results))
