"""One step: a model call with its retries, then the end of its tools.

A step is retried only while none of its calls has started; after that it is closed with what it
has, and the loop continues.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace

from agent.provider.client import ModelClient, ModelRequest, StreamEvent
from agent.provider.transport.retry import give_up_reason, retry_delay
from agent.provider.usage_parsing import cost as cost_of
from agent.records.errors import ProviderError, ProviderErrorKind, StoreError
from agent.records.events import ResponseEnded
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.messages import (
    AssistantMessage,
    Busy,
    CacheMiss,
    ErrorInfo,
    MessageWithParts,
    Retry,
    RetryPart,
    SessionStatus,
    StepFinishPart,
    Usage,
)
from agent.session.turn.executor import INCOMPLETE, REJECTED, StepExecutor
from agent.session.turn.stream_processor import StreamEnd, StreamProcessor
from agent.session.turn.turn_services import TurnServices

CUT_OFF = (
    "Not run: the call was cut off by the output limit of {limit} tokens. "
    "Do it in smaller pieces, each well below the limit."
)

INTERRUPTED = ErrorInfo(ProviderErrorKind.ABORTED, "Interrupted")
"""The error of a message that the user interrupted."""


ExplainCache = Callable[[AssistantMessage, ModelRequest, Usage], CacheMiss | None]
"""Returns why a request missed the provider's cache, None if it did not."""


@frozen
class StepResult:
    """The result of a step."""

    message: MessageWithParts
    """The final record with its parts."""
    calls: int
    """The number of tool calls."""
    complete_calls: int
    """The number of calls whose input arrived whole."""
    usage: Usage | None
    cost: float | None
    """In US dollars; None while it is unknown."""
    error: ProviderError | None = None
    lost: bool = False
    """True if the stream broke after a call had started."""
    stopped: bool = False
    """True if the user rejected a call without a comment."""
    cut: bool = False
    """True if the output limit cut a call off."""
    output_limit: int | None = None
    """The output limit of the request in tokens."""
    extra_usage: tuple[Usage, float | None] = (Usage(), None)
    """The usage and cost of the sub-agents of its calls."""


class Step:
    """Runs one step; ``tear_down`` ends it from outside, at any moment."""

    def __init__(
        self,
        services: TurnServices,
        message: AssistantMessage,
        started: float,
        new_executor: Callable[[AssistantMessage], StepExecutor],
        set_status: Callable[[SessionStatus], None],
        explain_cache: ExplainCache,
        usage_arrived: Callable[[], Awaitable[None]],
    ) -> None:
        """*started* is when the turn began, for the status that *set_status* publishes.
        *usage_arrived* is awaited when a response has ended, while its calls run."""
        self._explain_cache = explain_cache
        self._usage_arrived = usage_arrived
        self._services = services
        self._message = message
        self._started = started
        self._new_executor = new_executor
        self._set_status = set_status
        self._executor = new_executor(message)
        self._processor = self._new_processor()
        self._ending: asyncio.Task[MessageWithParts] | None = None
        self._forgetting: asyncio.Task[None] | None = None
        self._stream_end: tuple[StreamEnd, float | None] = (StreamEnd(), None)
        self._counted = False

    @property
    def message(self) -> AssistantMessage:
        return self._message

    @property
    def message_id(self) -> str:
        return self._message.id

    def _new_processor(self) -> StreamProcessor:
        return StreamProcessor(
            self._services.store, self._executor, self._message, self._services.clock
        )

    async def run(self, client: ModelClient, request: ModelRequest) -> StepResult:
        """Ask the model, run the calls, store the end. Cancel it, then call ``tear_down``."""
        attempt, retried_once = 1, False
        while True:
            end = await self._ask(client, request)
            self._stream_end = (end, cost_of(end.usage, request.model.price))
            if end.error is None or self._executor.started:
                session = self._message.session_id
                ended = ResponseEnded(session, self._message.id, end.usage, end.finish)
                self._services.bus.publish(ended)
                await self._usage_arrived()
                return await self._close(end, request)
            wait = retry_delay(
                attempt,
                end.error,
                self._services.rng,
                self._services.retry,
                retried_once=retried_once,
            )
            if wait is None:
                return await self._close(self._given_up(end, attempt), request)
            await self._start_over(end.error, attempt, wait)
            attempt, retried_once = attempt + 1, retried_once or end.error.retry_once

    async def _ask(self, client: ModelClient, request: ModelRequest) -> StreamEnd:
        """One model call, in a span of its own."""
        with self._services.tracing.span(
            f"chat {request.model.id}",
            gen_ai__operation__name="chat",
            gen_ai__provider__name=request.model.provider,
            gen_ai__request__model=request.model.id,
            gen_ai__agent__name=self._message.agent,
            gen_ai__conversation__id=self._message.session_id,
        ) as span:
            end = await self._consume(client.stream(request))
            usage = end.usage
            span.set(
                gen_ai__usage__input_tokens=usage.input if usage else None,
                gen_ai__usage__output_tokens=usage.output if usage else None,
                gen_ai__usage__cache_read__input_tokens=usage.cache_read if usage else None,
                gen_ai__response__finish_reasons=(end.finish,) if end.finish else None,
                opencode_py__cost_usd=cost_of(usage, request.model.price),
            )
            if end.error is not None:
                span.failed(end.error.kind.value, "")
            return end

    async def _consume(self, stream: AsyncGenerator[StreamEvent, None]) -> StreamEnd:
        """Follow the stream to its end, or until the user rejects a call."""
        consuming = asyncio.create_task(self._processor.consume(stream))
        self._executor.on_stop = consuming.cancel
        try:
            return await consuming
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._executor.stopped and not (current and current.cancelling()):
                return StreamEnd()
            raise

    def _given_up(self, end: StreamEnd, attempt: int) -> StreamEnd:
        """Return *end* with the reason why it is not retried, unless the error says so itself."""
        error = end.error
        if error is None or (why := give_up_reason(attempt, error, self._services.retry)) is None:
            return end
        # The server's own message keeps its ending.
        message = (
            error.message if error.message.endswith((".", "!", "?", "…")) else f"{error.message}."
        )
        error_info = ProviderError(
            error.kind, f"{message} {why}", status=error.status, retry_after=error.retry_after
        )
        return replace(end, error=error_info)

    async def _start_over(self, error: ProviderError, attempt: int, wait: float) -> None:
        """Discard this attempt, show the countdown, wait."""
        # In a task of its own: a cancel half-way would leave open parts behind.
        self._forgetting = asyncio.create_task(self._forget())
        await asyncio.shield(self._forgetting)
        now = self._services.clock()
        note = RetryPart(
            id=new_id("prt"),
            session_id=self._message.session_id,
            message_id=self._message.id,
            attempt=attempt,
            error=ErrorInfo(error.kind, error.message),
            created=now,
        )
        await self._services.store.save(note)
        self._set_status(Retry(attempt, error.message, now + wait))
        await asyncio.sleep(wait)
        self._set_status(Busy(self._started))
        self._executor = self._new_executor(self._message)
        self._processor = self._new_processor()
        self._stream_end = (StreamEnd(), None)

    async def _forget(self) -> None:
        await self._executor.tear_down()
        await self._processor.discard()

    async def _close(self, end: StreamEnd, request: ModelRequest) -> StepResult:
        executor = self._executor
        lost = end.error is not None and executor.started
        arriving = executor.arriving
        if executor.stopped:
            await self._processor.interrupt()
            await executor.stop_starting(REJECTED)
        elif end.error is not None:
            await self._processor.interrupt()
            await executor.stop_starting()
        else:
            await self._processor.finish()
        cut = end.finish == "length" and arriving > 0
        limit = request.max_output or request.model.output_limit
        await executor.break_off(CUT_OFF.format(limit=limit or "unknown") if cut else INCOMPLETE)
        await executor.results()
        await executor.settle_context()
        error = None if lost else end.error
        cost = cost_of(end.usage, request.model.price)
        # From here on a cancel comes too late: the end is stored as it was.
        miss = self._explain_cache(self._message, request, end.usage) if end.usage else None
        self._ending = asyncio.create_task(self._store_end(end, error, cost, miss))
        stored = await asyncio.shield(self._ending)
        return StepResult(
            message=stored,
            calls=len(executor.slots),
            complete_calls=len(executor.slots) - arriving,
            usage=end.usage,
            cost=cost,
            error=error,
            lost=lost,
            stopped=executor.stopped,
            cut=cut,
            output_limit=limit,
        )

    async def _store_end(
        self,
        end: StreamEnd,
        error: ProviderError | None,
        cost: float | None,
        miss: CacheMiss | None,
    ) -> MessageWithParts:
        finish = StepFinishPart(
            id=new_id("prt"),
            session_id=self._message.session_id,
            message_id=self._message.id,
            finish="error" if end.error else end.finish,
            finish_raw=end.raw,
            usage=end.usage,
            cost=cost,
            cache_miss=miss,
        )
        self._message = replace(
            self._message,
            completed=self._services.clock(),
            finish=finish.finish,
            usage=end.usage,
            cost=cost,
            error=ErrorInfo(error.kind, error.message) if error else None,
        )
        await self._services.store.save(finish, self._message)
        stored = await self._services.store.message(self._message.id)
        return stored or MessageWithParts(self._message, (finish,))

    async def tear_down(self, error: ErrorInfo | None = None) -> tuple[Usage | None, float | None]:
        """Leave a history that every provider accepts; does nothing after a normal end.

        Returns what ``take_usage`` does. What runs is ended whatever the store does.
        """
        if self._ending is not None:
            await self._ending
            return self.take_usage()
        try:
            if self._forgetting is not None:
                await self._forgetting
            await self._processor.interrupt()
        finally:
            await self._executor.tear_down()
        end, cost = self._stream_end
        self._message = replace(
            self._message,
            completed=self._services.clock(),
            finish="error" if error else None,
            usage=end.usage,
            cost=cost,
            error=error or INTERRUPTED,
            interrupted=error is None,
        )
        await self._services.store.save(self._message)
        return self.take_usage()

    def take_usage(self) -> tuple[Usage | None, float | None]:
        """The usage and cost that the stream had reported, for the first caller, which counts
        them."""
        if self._counted:
            return None, None
        self._counted = True
        end, cost = self._stream_end
        return end.usage, cost

    def unstored_message(self, error: StoreError) -> AssistantMessage:
        """Return the message with the error that its end could not be stored."""
        error_info = ErrorInfo(type(error).__name__, error.message)
        now = self._services.clock()
        return replace(self._message, completed=now, finish="error", error=error_info)
