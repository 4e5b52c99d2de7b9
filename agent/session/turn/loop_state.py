"""What the turn loop carries from step to step, and what it needs of its host (spec 1, L2)."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from agent.provider.client import ModelRequest, Turn
from agent.records.messages import (
    AssistantMessage,
    ErrorInfo,
    Finish,
    Outcome,
    UserMessage,
)
from agent.session.context.step_settings import StepSettings
from agent.session.guards import TurnTotals
from agent.session.turn.compactor import Compactor
from agent.session.turn.step import Step, StepResult


class Reason(StrEnum):
    """Why the loop goes on (spec 1, L2)."""

    START = "start"
    NEXT_STEP = "next_step"
    PRUNE_RETRY = "prune_retry"
    COMPACT_RETRY = "compact_retry"
    OUTPUT_ESCALATE = "output_escalate"
    OUTPUT_RESUME = "output_resume"
    PAUSED = "paused"
    STOP_HOOK = "stop_hook"
    BUDGET = "budget"
    STREAM_LOST = "stream_lost"
    USER_MESSAGE = "user_message"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class LoopState:
    """Where a turn stands. *lost*, *cut* and *hooked* count steps in a row, *resumed* how often
    an unfinished answer was taken up again since the user last spoke; *max_output* is the cap
    of the next step, None for the default. *relief* is what was done about the overflow at
    hand, *fruitless* how many summaries in a row left the conversation too long; *lean* counts
    the steps in a row that added little to a token target."""

    reason: Reason = Reason.START
    totals: TurnTotals = field(default_factory=TurnTotals)
    max_output: int | None = None
    resumed: int = 0
    lost: int = 0
    cut: int = 0
    hooked: int = 0
    lean: int = 0
    fruitless: int = 0
    relief: Literal["none", "pruned", "compacted"] = "none"


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended; becomes ``SessionIdle`` (L15)."""

    outcome: Outcome
    finish: Finish | None = None
    error: ErrorInfo | None = None


class TurnHost(Protocol):
    """What the loop needs of the service that runs it. *totals* are kept up to date by it."""

    totals: TurnTotals

    async def take_queued(self, *, first: bool, ending: bool) -> list[UserMessage]:
        """Take up waiting messages: steers, and follow-ups when the turn is *ending*."""
        ...

    async def reports(self) -> list[UserMessage]:
        """What is taken up of sub-agents in the background, after waiting for them; nothing where
        the turn may end before they have."""
        ...

    async def settings(self, newest: UserMessage) -> StepSettings: ...

    @property
    def compactor(self) -> Compactor:
        """Measures the conversation and makes it shorter."""
        ...

    def turns(self) -> tuple[Turn, ...]:
        """The conversation as the next request holds it."""
        ...

    async def new_step(self, setting: StepSettings, parent: UserMessage, step: int) -> Step: ...

    async def run_step(
        self, step: Step, setting: StepSettings, request: ModelRequest
    ) -> StepResult: ...

    async def nudge(self, text: str, after: UserMessage) -> UserMessage:
        """Store a hidden user message of the harness."""
        ...

    async def drop(self, message: AssistantMessage) -> None: ...

    async def stop_hooks(self, message: AssistantMessage) -> str | None:
        """Why the turn may not end yet, as a hook says; None if nothing objects."""
        ...
