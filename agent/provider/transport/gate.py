"""What looks at each request before it is sent, whatever it is for (spec 3, P2)."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias

from agent.provider.client import ModelClient, ModelRequest, StreamError, StreamEvent
from agent.records.errors import ProviderError

Gate: TypeAlias = Callable[[ModelRequest], Awaitable[ModelRequest]]
"""Gives the request that is sent instead. Raises ``ProviderError`` for one that is not to be."""


class GatedClient:
    """A ``ModelClient`` whose requests pass a *gate*, anew for each try."""

    def __init__(self, inner: ModelClient, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer; the last event is ``StepFinish`` or ``StreamError``."""
        try:
            passed = await self._gate(request)
        except ProviderError as error:
            yield StreamError(error)
            return
        async with aclosing(self._inner.stream(passed)) as events:
            async for event in events:
                yield event
