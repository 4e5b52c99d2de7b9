"""Permission modes: ask, accept edits, plan, judge, auto. The first three are cycled.

The plan mode is the plan agent with questions asked: there is one mechanism for what an agent can
do. The others are modes of the permission service and keep the agent. Judge and auto have to be
chosen by name: a press too many must not let anyone else answer the questions.
"""

from collections.abc import Sequence
from typing import get_args

from agent.records.frozen import frozen
from agent.records.requests import PermissionMode

PLAN = "plan"
JUDGE = "judge"
AUTO = "auto"


@frozen
class ModeStep:
    """The permission mode and the agent after a step of the cycle."""

    mode: PermissionMode
    agent: str


class PermissionModeCycle:
    """Cycles through the modes, and remembers the agent that was used before the plan mode."""

    def __init__(self) -> None:
        self._before: str | None = None
        self.auto_confirmed = False
        """True once the user has confirmed the auto mode."""

    def current(self, agent: str, mode: PermissionMode) -> str:
        """Return the name of the mode in force."""
        return PLAN if agent == PLAN and mode == "ask" else mode

    def names(self, agents: Sequence[str]) -> tuple[str, ...]:
        """Return the modes that these *agents* allow: those of the cycle in order, then those that
        are chosen by name."""
        return (*self._cycled(agents), JUDGE, AUTO)

    def _cycled(self, agents: Sequence[str]) -> tuple[str, ...]:
        return ("ask", "accept edits", *([PLAN] if PLAN in agents else []))

    def advance(
        self, agent: str, mode: PermissionMode, agents: Sequence[str], *, wanted: str = ""
    ) -> ModeStep:
        """Go from *agent* in *mode* to the mode *wanted*, or to the next one."""
        cycle = self._cycled(agents)
        now = self.current(agent, mode)
        at = cycle.index(now) if now in cycle else -1
        name = wanted or cycle[(at + 1) % len(cycle)]
        if agent != PLAN:
            self._before = agent
        if name == PLAN:
            return ModeStep("ask", PLAN)
        before = self._before if self._before in agents else None
        other = before or next((one for one in agents if one != PLAN), agent)
        found: dict[str, PermissionMode] = {one: one for one in get_args(PermissionMode)}
        return ModeStep(found[name], other)
