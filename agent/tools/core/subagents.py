"""The interface through which the tools of sub-agents reach the session service."""

from collections.abc import Callable
from typing import Literal, Protocol

from agent.records.amounts import tokens
from agent.records.background import BackgroundTaskState
from agent.records.frozen import frozen
from agent.records.usage import Usage


@frozen(kw_only=True)
class SpawnRequest:
    """A task for a sub-agent."""

    session_id: str
    """The child session: the id of a new one, or with *resume* of an earlier child."""

    agent: str
    description: str
    prompt: str
    message_id: str
    call_id: str
    resume: bool = False
    background: bool = False
    """The call does not wait for the result."""


@frozen(kw_only=True)
class SpawnResult:
    """The end of a sub-agent's turn."""

    outcome: BackgroundTaskState
    text: str
    """Its last text, "" without one."""

    error: str
    """The reason why it did not complete, "" if it did."""

    calls: int
    usage: Usage
    cost: float | None

    branch: str = ""
    """The branch of the worktree that has its changes, "" for none."""


@frozen
class Detached:
    """The call is over and the sub-agent continues in the background."""

    reason: Literal["requested", "moved", "sent"]
    """The call requested it, the user moved it there, or it works there already and was sent
    another prompt."""


@frozen(kw_only=True)
class SubagentStatus:
    """The status of a sub-agent of a session."""

    agent: str
    description: str
    seconds: float
    """The time that it has worked."""

    activity: str = ""
    """Its current activity."""

    result: SpawnResult | None = None
    """None while it works."""


class Subagents(Protocol):
    """The sub-agents of the session of a call. All methods raise ``ToolError`` for what is not
    possible."""

    async def run(
        self, request: SpawnRequest, progress: Callable[[str], None]
    ) -> SpawnResult | Detached:
        """Run *request*; *progress* gets a line for each new activity. When the call is
        canceled, a sub-agent that it waits for is canceled too."""
        ...

    async def wait_for(self, session_id: str, wait: float) -> SubagentStatus:
        """Wait up to *wait* seconds for the end of a sub-agent and return its status. A result
        that is returned here is not reported as a message again."""
        ...

    async def stop(self, session_id: str) -> SubagentStatus:
        """Stop a sub-agent and return its status, as ``wait_for`` does."""
        ...


def usage_facts(done: SpawnResult) -> tuple[str, ...]:
    """Return the tool calls and tokens of a sub-agent, and the branch with its changes, as
    facts."""
    used = done.usage.input + done.usage.output
    calls = f"{done.calls} tool call{'' if done.calls == 1 else 's'}"
    branch = (f"branch {done.branch}",) if done.branch else ()
    return (calls, *((f"{tokens(used)} tokens",) if used else ()), *branch)
