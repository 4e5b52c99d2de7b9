"""The demo model's client: it streams the events of a step in small pieces, at a readable pace."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator

from agent.provider.client import (
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.provider.demo.conversation import Conversation, Reply, read_conversation
from agent.provider.demo.responses import INTRODUCTION, respond
from agent.provider.demo.tour import is_due, is_unfinished, tour_reply
from agent.provider.demo.user_requests import parse_request

PIECE_SECONDS = 0.008
"""Seconds between two pieces: about 120 words a second, quick to read along and to stop."""

_PIECE = re.compile(r"\s*\S{1,12}|\s+")
_INPUT_PIECE = 12


class DemoClient:
    """A ``ModelClient`` without a model. *pace* is the time between pieces in seconds."""

    def __init__(self, *, pace: float = PIECE_SECONDS) -> None:
        self._pace = pace

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the response, which depends on *request* alone. Usage is never reported."""
        reply = reply_to(read_conversation(request))
        if reply.reasoning:
            yield ReasoningStart()
            async for piece in self._paced(_PIECE.findall(reply.reasoning)):
                yield ReasoningDelta(piece)
            yield ReasoningEnd()
        if reply.text:
            yield TextStart()
            async for piece in self._paced(_PIECE.findall(reply.text)):
                yield TextDelta(piece)
            yield TextEnd()
        for index, call in enumerate(reply.calls):
            # Unique in the session while its history only grows; the loop handles other cases.
            call_id = f"demo_{len(request.turns)}_{index}"
            key = str(index)
            arguments = json.dumps(call.input, ensure_ascii=False)
            yield ToolInputStart(key, call.tool, call_id)
            async for piece in self._paced(_split(arguments)):
                yield ToolInputDelta(key, piece)
            yield ToolInputEnd(key)
            yield ToolCall(key, call.tool, arguments, call_id)
        yield StepFinish("tool-calls" if reply.calls else "stop", raw="demo")

    async def _paced(self, pieces: list[str]) -> AsyncIterator[str]:
        for piece in pieces:
            yield piece
            await asyncio.sleep(self._pace)


def reply_to(conversation: Conversation) -> Reply:
    """Return the demo model's next text and calls."""
    if is_due(conversation):
        return tour_reply(conversation)
    reply = respond(parse_request(conversation.text), conversation)
    parts = [INTRODUCTION, reply.text] if conversation.is_first else [reply.text]
    if not reply.calls and is_unfinished(conversation):
        parts.append("`continue` continues the tour.")
    return Reply("\n\n".join(part for part in parts if part), reply.calls, reply.reasoning)


def _split(text: str) -> list[str]:
    starts = range(0, len(text), _INPUT_PIECE)
    return [text[start : start + _INPUT_PIECE] for start in starts]
