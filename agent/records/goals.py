"""Goals: work that goes on turn after turn until a check passes."""

from typing import Literal

from agent.records.frozen import frozen
from agent.records.spending import SpendingUnit

GoalState = Literal["running", "paused", "reached", "ended"]

DEFAULT_ROUNDS = 20


@frozen(kw_only=True)
class Goal:
    """The goal of a session."""

    text: str
    check: str
    """The command that exits with 0 once the goal is reached."""
    unit: SpendingUnit = "cost"
    """The unit of *budget*."""
    budget: float | None = None
    """The most that it may use; None for no limit."""
    most: float | None = None
    """The budget as a total of the session."""
    rounds: int = 0
    """The turns that were begun."""
    max_rounds: int = DEFAULT_ROUNDS
    state: GoalState = "running"
    reason: str = ""
    """Why it is paused or ended, in a sentence."""
