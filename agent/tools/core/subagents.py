"""What the tools of sub-agents ask of the harness, which they do not know (spec 0, A6)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from agent.records.background import BackgroundTaskState
from agent.records.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnRequest:
    """A task for a sub-agent, of the call *call_id* of the message *message_id*. *session_id* is
    the child session: a new one's id, or with *resume* that of an earlier child of the same
    session. The call does not wait for what is done in the *background*."""

    session_id: str
    agent: str
    description: str
    prompt: str
    message_id: str
    call_id: str
    resume: bool = False
    background: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnResult:
    """How a sub-agent's turn ended. *text* is its last text, empty if there was none; *error*
    says why it did not complete, empty if it did."""

    outcome: BackgroundTaskState
    text: str
    error: str
    calls: int
    usage: Usage
    cost: float | None


@dataclass(frozen=True, slots=True)
class Detached:
    """The call is over and the sub-agent goes on: it was *asked* for so, the user *moved* it to
    the background, or it worked there and was *told* something more."""

    reason: Literal["requested", "moved", "sent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentStatus:
    """How a sub-agent of a session stands. *seconds* is how long it works or worked, *activity*
    what it does at the moment; *result* is None while it works."""

    agent: str
    description: str
    seconds: float
    activity: str = ""
    result: SpawnResult | None = None


class Subagents(Protocol):
    """The sub-agents of the session that a call belongs to. All raise ``ToolError`` with what
    cannot be done."""

    async def run(
        self, request: SpawnRequest, progress: Callable[[str], None]
    ) -> SpawnResult | Detached:
        """Have *request* done; *progress* gets a line whenever something new is done. Cancelled,
        it ends a sub-agent that it waits for."""
        ...

    async def wait_for(self, session_id: str, wait: float) -> SubagentStatus:
        """How a sub-agent stands, after waiting up to *wait* seconds for its end. What came of it
        is handed over here, and not as a message any more."""
        ...

    async def stop(self, session_id: str) -> SubagentStatus:
        """End a sub-agent; its standing then, handed over as ``look`` does."""
        ...
