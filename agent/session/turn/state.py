"""The records that the loop and the guards of a turn share: totals, planned step, end."""

import asyncio
from dataclasses import field, replace

from agent.records.frozen import frozen
from agent.records.messages import ErrorInfo, Finish, Outcome, Usage, UserMessage
from agent.session.context.token_meter import StepSettings


@frozen
class TurnTotals:
    """The usage of a turn so far, its sub-agents' included.

    A turn that the program started by itself continues the totals of the turn before it, except
    for the steps: these are ``earlier_steps``.
    """

    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """In US dollars; None while it is unknown."""
    earlier_steps: int = 0

    @property
    def all_steps(self) -> int:
        return self.steps + self.earlier_steps

    def carried_over(self) -> "TurnTotals":
        """Return the totals with which a turn begins that continues after this one."""
        return replace(self, steps=0, earlier_steps=self.all_steps)

    def add_extra(self, usage: Usage | None, cost: float | None) -> "TurnTotals":
        """Add a model call that was no step of the turn, such as a summary."""
        return replace(self.add_step(usage, cost), steps=self.steps)

    def add_step(self, usage: Usage | None, cost: float | None) -> "TurnTotals":
        total = self.cost if cost is None else (self.cost or 0.0) + cost
        used = self.usage + (usage or Usage())
        return replace(self, steps=self.steps + 1, usage=used, cost=total)


@frozen
class TurnEnd:
    """The end of a turn; published as ``SessionIdle``."""

    outcome: Outcome
    finish: Finish | None = None
    error: ErrorInfo | None = None


@frozen
class PlannedStep:
    """The step that comes next, as the guards see it."""

    settings: StepSettings
    request: UserMessage
    """The newest user message: the step responds to it."""
    totals: TurnTotals


# A short pause of a turn, while it is not certain yet whether the user stops it.

MAX_PAUSE = 1.0
"""Seconds after which a pause ends by itself."""


class Pause:
    """While it lasts, nothing more of a response is taken, and no call and no step begins. What
    runs goes on. Used from one event loop."""

    def __init__(self) -> None:
        self._ended: asyncio.Event | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def lasts(self) -> bool:
        return self._ended is not None

    def begin(self) -> None:
        if self._ended is None:
            self._ended = asyncio.Event()
            self._timer = asyncio.get_running_loop().call_later(MAX_PAUSE, self.end)

    def end(self) -> None:
        """Let the turn go on."""
        if self._timer is not None:
            self._timer.cancel()
        if self._ended is not None:
            self._ended.set()
        self._ended = self._timer = None

    async def over(self) -> None:
        """Wait for the end of a pause that lasts."""
        while self._ended is not None:
            await self._ended.wait()
