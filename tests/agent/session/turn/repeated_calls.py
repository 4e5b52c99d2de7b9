"""An executor whose calls all count as repeated, so that each needs permission."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from agent.process import SpillStore
from agent.records.decisions import Decision
from agent.records.messages import ToolPart
from agent.runtime.runtime import Runtime
from agent.session.prompt.instructions import Instruction
from agent.session.turn.executor import StepExecutor
from agent.session.turn.guards import DoomLoop
from agent.tools.core.tool import ToolContext
from agent.tools.core.truncate import Limits, Truncator
from agent.tools.pipeline import Pipeline

AskRepeat = Callable[[ToolPart, Callable[[Decision], None]], Awaitable[None]]


@dataclass
class RepeatedCalls:
    """The calls of a step (``executor.CallSupport``), none of which must run."""

    doom: DoomLoop
    ask: AskRepeat

    def context(self, part: ToolPart, progress: Callable[[str], None]) -> ToolContext:
        pytest.fail("no call is to run")

    async def ask_repeat(self, part: ToolPart, decided: Callable[[Decision], None]) -> None:
        await self.ask(part, decided)

    async def attached(self, touched: tuple[str, ...]) -> tuple[Instruction, ...]:
        return ()


def executor_of(runtime: Runtime, ask: AskRepeat) -> StepExecutor:
    """Return an executor that calls *ask* before every call of ``list`` without arguments."""
    doom = DoomLoop(threshold=2)
    doom.observe("before", "list", {})
    truncator = Truncator(Limits(), SpillStore(runtime.paths.data / "spill"))
    pipeline = Pipeline(runtime.registry, runtime.permissions, truncator)
    return StepExecutor(runtime.store, pipeline, RepeatedCalls(doom, ask))
