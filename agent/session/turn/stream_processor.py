"""Applies one model stream to the store and feeds its calls to the executor.

One processor serves one attempt at one step. Every change goes to the store first, which
publishes it, so the screen shows each state live. Text that arrives in one read is one change.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import assert_never

from agent.provider.client import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StreamError,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.events import DeltaField
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.messages import (
    AssistantMessage,
    Finish,
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
    Usage,
)
from agent.session.turn.executor import Slot, StepExecutor
from agent.store.store import Store

EVENTS_AT_ONCE = 128
"""Events after which the event loop gets its turn, however many have arrived: 6 ms of decoding."""


@frozen
class StreamEnd:
    """The end of a stream."""

    finish: Finish | None = None
    raw: str | None = None
    usage: Usage | None = None
    error: ProviderError | None = None
    """None when the stream ended normally."""


class GatheredText:
    """The text of an open part that arrived in one read, on its way to the store as one change.

    ``flush`` sends it: before anything else happens to a part, or once the stream waits for more.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._part: tuple[str, DeltaField] | None = None
        self._pieces: list[str] = []

    def add(self, part_id: str, field: DeltaField, text: str) -> None:
        part = (part_id, field)
        if self._part != part:
            self.flush()
            self._part = part
            self._loop.call_soon(self.flush)
        self._pieces.append(text)

    def flush(self) -> None:
        if self._part is not None:
            (part_id, field), text = self._part, "".join(self._pieces)
            self._part, self._pieces = None, []
            self._store.append(part_id, field, text)


class StreamProcessor:
    """Consumes the stream of *message*."""

    def __init__(
        self,
        store: Store,
        executor: StepExecutor,
        message: AssistantMessage,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._executor = executor
        self._message = message
        self._clock = clock
        self._text: TextPart | None = None
        self._reasoning: ReasoningPart | None = None
        self._chunks: list[str] = []
        self._gathered = GatheredText(store)
        self._slots: dict[str, Slot] = {}
        self._parts: list[Part] = []

    async def consume(self, stream: AsyncGenerator[StreamEvent, None]) -> StreamEnd:
        """Apply every event; returns when the stream ended. The stream is always closed."""
        try:
            handled = 0
            pause = self._executor.pause
            async for event in stream:
                if pause.lasts:
                    await pause.over()
                end = await self._handle(event)
                if end is not None:
                    return end
                handled += 1
                if handled % EVENTS_AT_ONCE == 0:
                    await asyncio.sleep(0)
        finally:
            await stream.aclose()
        error = ProviderError(ProviderErrorKind.NETWORK, "The stream ended without an end mark.")
        return StreamEnd(error=error)

    async def _handle(self, event: StreamEvent) -> StreamEnd | None:
        if not isinstance(event, TextDelta | ReasoningDelta | ToolInputDelta):
            self._gathered.flush()
        match event:
            case TextStart():
                self._open_text()
            case TextDelta():
                self._append(self._text or self._open_text(), event.text)
            case TextEnd():
                await self._close_text(event)
            case ReasoningStart():
                self._open_reasoning(event.field_name)
            case ReasoningDelta():
                self._append(self._reasoning or self._open_reasoning(None), event.text)
            case ReasoningEnd():
                await self._close_reasoning(event)
            case ToolInputStart():
                await self._open_tool(event)
            case ToolInputDelta():
                self._tool_delta(event)
            case ToolInputEnd():
                pass  # the call itself follows; the part stays pending until it does
            case ToolCall():
                await self._call(event)
            case StepFinish():
                return StreamEnd(event.finish, event.raw, event.usage)
            case StreamError():
                return StreamEnd(usage=event.usage, error=event.error)
            case _:
                assert_never(event)
        return None

    def _open_text(self) -> TextPart:
        part = TextPart(
            id=new_id("prt"),
            session_id=self._message.session_id,
            message_id=self._message.id,
            started=self._clock(),
        )
        self._text = part
        self._chunks = []
        self._parts.append(part)
        self._store.stage(part)
        return part

    def _open_reasoning(self, field_name: str | None) -> ReasoningPart:
        part = ReasoningPart(
            id=new_id("prt"),
            session_id=self._message.session_id,
            message_id=self._message.id,
            started=self._clock(),
            field_name=field_name,
        )
        self._reasoning = part
        self._chunks = []
        self._parts.append(part)
        self._store.stage(part)
        return part

    def _append(self, part: TextPart | ReasoningPart, text: str) -> None:
        if text:
            self._chunks.append(text)
            self._gathered.add(part.id, "text", text)

    async def _close_text(self, event: TextEnd | None = None, *, interrupted: bool = False) -> None:
        part = self._text
        if part is None:
            return
        text = "".join(self._chunks)
        if text:
            now = self._clock()
            opaque = event.opaque if event else None
            await self._store.save(
                replace(part, text=text, opaque=opaque, ended=now, interrupted=interrupted)
            )
        else:
            await self._drop(part)
        # Cleared last: a cancel in between leaves it to be closed by ``interrupt``.
        self._text = None

    async def _close_reasoning(
        self, event: ReasoningEnd | None = None, *, interrupted: bool = False
    ) -> None:
        part = self._reasoning
        if part is None:
            return
        text = "".join(self._chunks)
        opaque = event.opaque if event else None
        if text or opaque is not None:
            now = self._clock()
            await self._store.save(
                replace(part, text=text, opaque=opaque, ended=now, interrupted=interrupted)
            )
        else:
            await self._drop(part)
        self._reasoning = None

    async def _drop(self, part: Part) -> None:
        await self._store.remove_part(part)
        self._parts = [p for p in self._parts if p.id != part.id]

    async def _open_tool(self, event: ToolInputStart) -> Slot:
        part = ToolPart(
            id=new_id("prt"),
            session_id=self._message.session_id,
            message_id=self._message.id,
            call_id=self._unique(event.call_id),
            tool=event.name,
        )
        slot = self._executor.announce(part)
        self._slots[event.key] = slot
        self._parts.append(slot.part)
        await self._store.save(slot.part)
        return slot

    def _unique(self, call_id: str | None) -> str:
        """The provider's id, or one made up where it has none or used it before in this step."""
        taken = {s.part.call_id for s in self._slots.values()}
        return call_id if call_id and call_id not in taken else new_id("cal")

    def _tool_delta(self, event: ToolInputDelta) -> None:
        slot = self._slots.get(event.key)
        if slot is not None and event.text:
            self._gathered.add(slot.part.id, "raw", event.text)

    async def _call(self, event: ToolCall) -> None:
        slot = self._slots.get(event.key)
        if slot is None:
            slot = await self._open_tool(ToolInputStart(event.key, event.name, event.call_id))
        slot.part = replace(slot.part, tool=event.name, opaque=event.opaque)
        if event.truncated:
            return  # the output limit cut it off: it stays incomplete and is never run
        self._executor.submit(slot, event.arguments)

    async def finish(self) -> None:
        """Close what a provider left open at a regular end."""
        self._gathered.flush()
        await self._close_reasoning()
        await self._close_text()

    async def interrupt(self) -> None:
        """Close open parts: partial text and reasoning stay, marked interrupted."""
        self._gathered.flush()
        await self._close_reasoning(interrupted=True)
        await self._close_text(interrupted=True)

    async def discard(self) -> None:
        """Remove every part of this attempt: the step is tried again from nothing."""
        self._gathered.flush()
        self._text = self._reasoning = None
        for part in list(self._parts):
            await self._drop(part)
