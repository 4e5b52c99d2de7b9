"""Sub-agents: a task of one session done in a child session of its own (spec 3, S1–S3).

A child is an ordinary session with an ordinary turn. Here it is started, followed and ended
with the call that wanted it; the ``task`` tool sees only a callable (spec 0, A6).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.agents import Agents
from agent.bus import Bus, Subscription
from agent.errors import SessionNotFound, ToolError
from agent.events import Event, PartUpdated, Resync, SessionIdle
from agent.model import (
    AssistantMessage,
    Completed,
    Failed,
    Idle,
    Running,
    Session,
    SessionStatus,
    ToolPart,
    Usage,
)
from agent.session.answers import last_answer
from agent.session.directory import Directory
from agent.session.view import PromptInput
from agent.store.store import Store
from agent.tools.base import SpawnRequest, SpawnResult


class Sessions(Protocol):
    """What is wanted of the session service."""

    def status(self, session_id: str) -> SessionStatus: ...

    async def prompt(self, session_id: str, prompt: PromptInput) -> str: ...

    async def cancel(self, session_id: str) -> bool: ...

    async def wait(self, session_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a session stands in its tree: the root's id, and the agents of the sessions above
    it, nearest first."""

    root_id: str
    callers: tuple[str, ...] = ()


async def lineage_of(store: Store, session: Session) -> Lineage:
    """The lineage of *session*; a parent that is gone ends it."""
    root, callers = session, list[str]()
    while root.parent_id is not None:
        try:
            root = await store.session(root.parent_id)
        except SessionNotFound:
            break
        callers.append(root.agent)
    return Lineage(root.id, tuple(callers))


class Subagents:
    """Starts the children of all sessions and knows which of them run."""

    def __init__(
        self, sessions: Sessions, store: Store, bus: Bus, directory: Directory, agents: Agents
    ) -> None:
        self._sessions = sessions
        self._store = store
        self._bus = bus
        self._directory = directory
        self._agents = agents
        self._running: dict[str, set[str]] = {}

    def running(self, session_id: str) -> tuple[str, ...]:
        """The children of a session that work at the moment."""
        return tuple(self._running.get(session_id, ()))

    async def spawn(
        self, caller: Session, request: SpawnRequest, progress: Callable[[str], None]
    ) -> SpawnResult:
        """Do *request* for *caller*; cancelled, it ends the child and waits for that."""
        child = await self._child(caller, request)
        agent = self._agents.get(request.agent)
        prompt = PromptInput(
            text=request.prompt,
            agent=agent.name,
            model=agent.model or caller.model,
            effort=agent.effort,
        )
        subscription = self._bus.subscribe(lambda event: _of(event, child.id))
        siblings = self._running.setdefault(caller.id, set())
        siblings.add(child.id)
        try:
            asked = await self._sessions.prompt(child.id, prompt)
            end = await self._follow(child.id, subscription, progress)
        finally:
            subscription.close()
            await self._end(child.id)
            siblings.discard(child.id)
        return await self._result(child.id, asked, end)

    async def _child(self, caller: Session, request: SpawnRequest) -> Session:
        if request.resume:
            try:
                child = await self._store.session(request.session_id)
            except SessionNotFound:
                child = None
            if child is None or child.parent_id != caller.id:
                raise ToolError(
                    f"No sub-agent of this session has the id {request.session_id}. "
                    "Leave session_id out to start a new one."
                )
            if self._sessions.status(child.id) != Idle():
                raise ToolError("That sub-agent is still at work. Wait for its report.")
            return child
        above = await lineage_of(self._store, caller)
        depth = self._agents.depth
        if len(above.callers) >= depth:
            raise ToolError(f"Sub-agents may call others {depth} deep. Do this task yourself.")
        return await self._directory.create(
            session_id=request.session_id,
            agent=request.agent,
            parent_id=caller.id,
            title=request.description,
        )

    async def _follow(
        self, child_id: str, subscription: Subscription, progress: Callable[[str], None]
    ) -> SessionIdle | None:
        """Tell what the child does until its turn is over; None when the end was missed."""
        calls: set[str] = set()
        async for event in subscription:
            match event:
                case SessionIdle():
                    return event
                case Resync() if self._sessions.status(child_id) == Idle():
                    return None
                case PartUpdated(part=ToolPart(state=Running(label=label)) as part):
                    calls.add(part.id)
                    count = f"{len(calls)} tool call{'' if len(calls) == 1 else 's'}"
                    progress(f"{' '.join(f'{label.verb} {label.object}'.split())} · {count}")
                case _:
                    pass
        return None

    async def _end(self, child_id: str) -> None:
        """A child that still works ends with the call that started it (S3)."""
        if await self._sessions.cancel(child_id):
            ending = asyncio.create_task(self._sessions.wait(child_id))
            while not ending.done():
                try:
                    await asyncio.shield(ending)
                except asyncio.CancelledError:
                    continue

    async def _result(self, child_id: str, asked: str, end: SessionIdle | None) -> SpawnResult:
        messages = await self._store.messages(child_id)
        ids = [item.message.id for item in messages]
        mine = messages[ids.index(asked) :] if asked in ids else messages
        answers = [m.message for m in mine if isinstance(m.message, AssistantMessage)]
        usage = Usage()
        for answer in answers:
            usage += answer.usage or Usage()
        costs = [answer.cost for answer in answers if answer.cost is not None]
        return SpawnResult(
            text=last_answer(mine),
            error=_why(end),
            calls=sum(
                isinstance(part, ToolPart) and isinstance(part.state, Completed | Failed)
                for item in mine
                for part in item.parts
            ),
            usage=usage,
            cost=sum(costs) if costs else None,
        )


def _of(event: Event, session_id: str) -> bool:
    if isinstance(event, PartUpdated):
        return event.part.session_id == session_id
    return isinstance(event, Resync) or (
        isinstance(event, SessionIdle) and event.session_id == session_id
    )


def _why(end: SessionIdle | None) -> str:
    """Why a child did not complete, as a sentence for the model; empty if it did."""
    if end is None or end.outcome == "completed":
        return ""
    reason = end.error.message if end.error is not None else ""
    match end.outcome:
        case "cancelled":
            return "The sub-agent was stopped by the user before it was done."
        case "rejected":
            return "The sub-agent stopped: the user rejected one of its calls."
        case "limit_reached":
            return f"The sub-agent was cut short by a limit. {reason}".strip()
        case _:
            return f"The sub-agent failed. {reason}".strip()
