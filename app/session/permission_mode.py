"""Permission modes and the order in which they are cycled: ask, accept edits, plan, auto.

The plan mode is the plan agent with questions asked: there is one mechanism for what an agent can
do. The other three are modes of the permission service and keep the agent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from agent.records.requests import PermissionMode

PLAN = "plan"


@dataclass(frozen=True, slots=True)
class ModeStep:
    """The permission mode and the agent after a step of the cycle."""

    mode: PermissionMode
    agent: str


class PermissionModeCycle:
    """Cycles through the modes, and remembers the agent that was used before the plan mode."""

    def __init__(self) -> None:
        self._before: str | None = None

    def names(self, agents: Sequence[str]) -> tuple[str, ...]:
        """Return the modes that exist with these *agents*, in the order of the cycle."""
        ask, edits, auto = get_args(PermissionMode)
        return (ask, edits, *([PLAN] if PLAN in agents else []), auto)

    def advance(
        self, agent: str, mode: PermissionMode, agents: Sequence[str], *, wanted: str = ""
    ) -> ModeStep:
        """Go from *agent* in *mode* to the mode *wanted*, or to the next one."""
        names = self.names(agents)
        now = PLAN if agent == PLAN and mode == "ask" else mode
        name = wanted or names[(names.index(now) + 1) % len(names)]
        if agent != PLAN:
            self._before = agent
        if name == PLAN:
            return ModeStep("ask", PLAN)
        before = self._before if self._before in agents else None
        other = before or next((one for one in agents if one != PLAN), agent)
        found: dict[str, PermissionMode] = {one: one for one in get_args(PermissionMode)}
        return ModeStep(found[name], other)
