"""A ``ModelClient`` that asks through litellm (spec 5, R1 and R1a)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from math import inf

from agent.provider.client import ModelRequest, StreamEvent
from agent.provider.litellm.decode import LitellmDecoder, failure
from agent.provider.litellm.process import CallFailed, LitellmProcess
from agent.provider.litellm.request import Route, arguments_of
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import broken
from agent.provider.transport.http import StreamLimits, is_loopback
from agent.records.errors import ProviderError
from agent.records.json import JsonObject


class LitellmClient:
    """Asks one provider by *route* through *process*, under the same rules of silence as all."""

    def __init__(
        self, route: Route, process: LitellmProcess, limits: StreamLimits | None = None
    ) -> None:
        self._route = route
        self._process = process
        self._limits = limits or StreamLimits()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer; the last event is ``StepFinish`` or ``StreamError``."""
        decoder = LitellmDecoder(self._route.provider, ToolNames(request.tools))
        failed: ProviderError | None = None
        try:
            await self._process.ready()
            calling = self._process.call(arguments_of(request, self._route))
            async with aclosing(calling) as chunks, aclosing(self._heard(chunks, decoder)) as heard:
                async for chunk in heard:
                    for event in decoder.feed_chunk(chunk):
                        yield event
                    if decoder.done:
                        return
        except CallFailed as error:
            failed = failure(self._route.provider, error.told, self._route.key)
        except ProviderError as error:
            failed = error
        for event in decoder.close() if failed is None else decoder.fail(failed):
            yield event

    async def _heard(
        self, chunks: AsyncGenerator[JsonObject, None], decoder: LitellmDecoder
    ) -> AsyncGenerator[JsonObject, None]:
        """*chunks*, as long as they do not stay out for too long."""
        wait = None if is_loopback(self._route.base_url) else self._limits.first
        while True:
            try:
                async with asyncio.timeout(None if wait == inf else wait):
                    chunk = await anext(chunks, None)
            except TimeoutError as error:
                raise broken(
                    self._route.provider, f"nothing came for {wait or 0:g} seconds"
                ) from error
            if chunk is None:
                return
            yield chunk
            wait = self._limits.after_finish if decoder.finishing else self._limits.idle
