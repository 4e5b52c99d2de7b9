"""A call that is under way, and what its server asks meanwhile: the user, or a model (X4)."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from agent.mcp.eliciting import Ask, Elicited, Eliciting
from agent.mcp.sampling import MOST, Refused, Sample, Sampled, answer
from agent.records.json import JsonObject
from agent.tools.base import ToolContext

Got = TypeVar("Got", Elicited, Sampled)


class Caller:
    """The call *context* of a tool of *server*. What was asked for it ends with it: a server that
    is told of a cancelled call may go on all the same."""

    def __init__(self, server: str, context: ToolContext, ask: Ask | None) -> None:
        self._server = server
        self._context = context
        self._ask = ask
        self._asked: set[asyncio.Task[Any]] = set()
        self._samples = 0

    def end(self) -> None:
        """The call is over."""
        for task in self._asked:
            task.cancel()

    async def elicit(self, message: str, wanted: JsonObject | str) -> Elicited:
        """What the user answers."""
        if self._ask is None:
            return Elicited("decline", {})
        asking = Eliciting(self._server, self._context, self._ask)
        if isinstance(wanted, str):
            given = await self._within(asking.address(message, wanted))
        else:
            given = await self._within(asking.form(message, wanted))
        return given or Elicited("cancel", {})

    async def sample(self, sample: Sample) -> Sampled:
        """What a model answers. Raises ``Refused``."""
        self._samples += 1
        if self._samples > MOST:
            raise Refused(f"One call may ask a model {MOST} times.")
        given = await self._within(answer(self._server, sample, self._context))
        if given is None:
            raise Refused("The call was cancelled.")
        return given

    async def _within(self, asked: Coroutine[Any, Any, Got]) -> Got | None:
        """What comes of *asked*, None if the call ended meanwhile."""
        task = asyncio.create_task(asked)
        self._asked.add(task)
        task.add_done_callback(self._asked.discard)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        return None if task.cancelled() else task.result()
