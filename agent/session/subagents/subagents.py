"""Sub-agents: a task of one session done in a child session of its own.

A child is an ordinary session with an ordinary turn. Here it is started, followed and ended with
the call that needs it, or moved to the background (``BackgroundTasks``); the tools see only a
protocol.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from agent.agents import Agents
from agent.bus import Bus, Subscription
from agent.records.background import BackgroundTaskState
from agent.records.errors import SessionNotFound, ToolError, WorktreeError
from agent.records.events import Event, PartUpdated, Resync, SessionError, SessionIdle
from agent.records.frozen import frozen
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Failed,
    Idle,
    MessageWithParts,
    Part,
    Running,
    Session,
    TextPart,
    ToolPart,
    Usage,
)
from agent.records.reminders import reminder
from agent.session.api import PromptInput, Sessions
from agent.session.context.compaction_markers import is_request
from agent.session.repository import SessionRepository
from agent.session.subagents.background import BackgroundRun, BackgroundTasks
from agent.session.subagents.worktrees import KeptWorktree, SubagentWorktrees, WorkPlace
from agent.store.store import Store
from agent.tools.core.subagents import Detached, SpawnRequest, SpawnResult, SubagentStatus

MAX_AGENT_NAME, UNIQUE_CHARACTERS = 30, 8
"""Characters of the agent's name, and of the session's id, in the name of a worktree."""

IN_WORKTREE = (
    "You work in a git worktree of your own: the folder {folder} with a branch of its own. Change "
    "files there and nowhere else; paths in the task that lead to {source} mean the same path in "
    "your folder."
)
MAX_NAMED_FILES = 20
"""Changed files of a worktree that are named."""

UNCHANGED = "It changed no file, so its worktree was removed."
KEPT = (
    "Its changes are not in this folder: they are in the worktree {folder}, on the branch {branch}"
    "{files}. The user reviews and merges them with /merge {name}."
)

Spent = Callable[[Usage, float | None], None]
"""Called with the tokens and the cost that a sub-agent used."""


@frozen
class Lineage:
    """The place of a session in its tree: the root's id and project, and the agents of the sessions
    above it, nearest first."""

    root_id: str
    callers: tuple[str, ...] = ()
    project: str = ""


async def lineage_of(store: Store, session: Session) -> Lineage:
    """Return the lineage of *session*; it ends at a parent that is gone."""
    root, callers = session, list[str]()
    while root.parent_id is not None:
        try:
            root = await store.session(root.parent_id)
        except SessionNotFound:
            break
        callers.append(root.agent)
    return Lineage(root.id, tuple(callers), root.project)


class Subagents:
    """Starts the children of all sessions, and follows those that a call waits for."""

    def __init__(
        self,
        sessions: Sessions,
        store: Store,
        bus: Bus,
        directory: SessionRepository,
        agents: Agents,
        background_tasks: BackgroundTasks,
        worktrees: SubagentWorktrees | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._worktrees = worktrees
        self._sessions = sessions
        self._store = store
        self._bus = bus
        self._directory = directory
        self._agents = agents
        self._background_tasks = background_tasks
        self._clock = clock
        self._waited: dict[str, tuple[str, asyncio.Event]] = {}

    @property
    def background_tasks(self) -> BackgroundTasks:
        """The tasks in the background."""
        return self._background_tasks

    def running(self, session_id: str, *, background: bool = True) -> tuple[str, ...]:
        """Return the children of a session that work at the moment, or only those that a call waits
        for."""
        waited = tuple(key for key, (caller, _) in self._waited.items() if caller == session_id)
        return (*waited, *self._background_tasks.running(session_id)) if background else waited

    async def background_root(self, session_id: str) -> str | None:
        """Return the background sub-agent that a session works for; None without one."""
        while self._background_tasks.run(session_id) is None:
            try:
                session = await self._store.session(session_id)
            except SessionNotFound:
                return None
            if session.parent_id is None:
                return None
            session_id = session.parent_id
        return session_id

    def can_detach(self, session_id: str) -> bool:
        """Return whether a call of the session waits for a sub-agent that can be detached."""
        return any(caller == session_id for caller, _ in self._waited.values())

    def detach(self, session_id: str) -> int:
        """Move the sub-agents that calls of a session wait for to the background; return their
        number."""
        found = [one for one in self._waited.values() if one[0] == session_id]
        for _, moved in found:
            moved.set()
        return len(found)

    def for_caller(
        self, caller: Session, spent: Spent, check: Callable[[], Awaitable[str | None]]
    ) -> "CallerSubagents":
        """Return the sub-agents as calls of *caller* reach them; *spent* gets the usage of each
        whose end they learn. *check* returns why none can be started, None if one can."""
        return CallerSubagents(self, self._background_tasks, caller, spent, check)

    async def run(
        self, caller: Session, request: SpawnRequest, progress: Callable[[str], None]
    ) -> SpawnResult | Detached:
        """Do *request* for *caller*; a canceled call ends the child that it waits for."""
        child, notices = await self._resume_or_create(caller, request, progress)
        if self._background_tasks.run(child.id) is not None:
            await self._sessions.prompt(child.id, PromptInput(text=request.prompt))
            return Detached("sent")
        return await self._start(caller, request, child, notices, progress)

    async def _start(
        self,
        caller: Session,
        request: SpawnRequest,
        child: Session,
        notices: tuple[str, ...],
        progress: Callable[[str], None],
    ) -> SpawnResult | Detached:
        run = BackgroundRun(child, caller, request, self._clock(), progress)
        subscription = self._bus.subscribe(lambda event: _concerns(event, child.id))
        try:
            prompt = replace(
                self._prompt(caller, request), context=_context(caller, child, notices)
            )
            prompt_id = await self._sessions.prompt(child.id, prompt)
        except BaseException:
            subscription.close()
            await self._end(child.id)
            await self._leave_worktree(caller, child)
            raise
        work = self._work(run, prompt_id, subscription)
        run.work = asyncio.create_task(work, name=f"sub-agent {child.id}")
        try:
            return await self._wait_or_detach(run, run.work)
        except BaseException:
            run.work.cancel()
            await _wait_to_end(run.work)
            raise

    async def status(self, caller: Session, child_id: str) -> SubagentStatus:
        """Return the status of a child of *caller*."""
        child = await self._own_child(caller, child_id)
        run = self._background_tasks.run(child.id)
        if run is not None:
            seconds = self._clock() - run.started
            return SubagentStatus(
                agent=run.request.agent,
                description=run.request.description,
                seconds=seconds,
                activity=run.activity,
            )
        messages = await self._store.messages(child.id)
        prompts = [item.message for item in messages if is_request(item)]
        prompt_id = prompts[-1].id if prompts else ""
        task = child.background_task
        outcome: BackgroundTaskState = task.state if task is not None else "completed"
        return SubagentStatus(
            agent=child.agent,
            description=child.title,
            seconds=(task.ended or task.started) - task.started if task else 0.0,
            result=subagent_result(messages, prompt_id, outcome, END_REASONS[outcome]),
        )

    async def stop(self, child_id: str) -> None:
        """End a child, and wait for its end."""
        await self._end(child_id)

    def _prompt(self, caller: Session, request: SpawnRequest) -> PromptInput:
        agent = self._agents.get(request.agent)
        return PromptInput(
            text=request.prompt,
            agent=agent.name,
            model=agent.model or caller.model,
            effort=agent.effort,
        )

    async def _wait_or_detach(
        self, run: BackgroundRun, work: "asyncio.Task[SpawnResult]"
    ) -> SpawnResult | Detached:
        """Wait for the end of *work*, unless it belongs in the background or is moved there."""
        if run.request.background:
            await self._background_tasks.start(run)
            return Detached("requested")
        moved = asyncio.Event()
        self._waited[run.child.id] = (run.caller.id, moved)
        moving = asyncio.create_task(moved.wait(), name="sent to the background")
        try:
            await asyncio.wait({work, moving}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            await self._background_tasks.start(run)
        finally:
            moving.cancel()
            del self._waited[run.child.id]
        return Detached("moved")

    async def _work(
        self, run: BackgroundRun, prompt_id: str, subscription: Subscription
    ) -> SpawnResult:
        child_id = run.child.id
        try:
            end = await self._follow(run, subscription)
        except BaseException:
            await self._end(child_id)
            await self._leave_worktree(run.caller, run.child)
            raise
        finally:
            subscription.close()
        outcome: BackgroundTaskState = end.outcome if end is not None else "completed"
        result = subagent_result(
            await self._store.messages(child_id), prompt_id, outcome, end_reason(end)
        )
        if run.child.project == run.caller.project:
            return result
        kept = await self._leave_worktree(run.caller, run.child)
        text = "\n\n".join(filter(None, (result.text, _outcome_of_worktree(kept))))
        return replace(result, text=text, branch=kept.branch if kept is not None else "")

    async def _leave_worktree(self, caller: Session, child: Session) -> KeptWorktree | None:
        """Remove the worktree that was made for *child*, unless it has changes. A canceled call
        continues to its end: half of a worktree is of no use."""
        if self._worktrees is None or child.project == caller.project:
            return None
        leaving = asyncio.create_task(self._worktrees.leave(child), name=f"leaving {child.project}")
        await _wait_to_end(leaving)
        return leaving.result()

    async def _own_child(self, caller: Session, child_id: str) -> Session:
        """Return the child of *caller* with that id. Raises ``ToolError`` if there is none."""
        try:
            child = await self._store.session(child_id)
        except SessionNotFound:
            child = None
        if child is None or child.parent_id != caller.id:
            raise ToolError(
                f"No sub-agent of this session has the id {child_id[:80]}. Give the session_id "
                "that task gave; for a new one, call task without it."
            )
        return child

    async def _resume_or_create(
        self, caller: Session, request: SpawnRequest, progress: Callable[[str], None]
    ) -> tuple[Session, tuple[str, ...]]:
        """Return the child of *request*, with sentences on what its worktree lacks."""
        if request.resume:
            child = await self._own_child(caller, request.session_id)
            run = self._background_tasks.run(child.id)
            if run is not None and self._sessions.status(child.id) == Idle():
                await run.ended.wait()  # it ended, and is just being reported
            elif run is None and self._sessions.status(child.id) != Idle():
                raise ToolError("That sub-agent is still working. Wait for its report.")
            if self._worktrees is not None and child.project != caller.project:
                try:
                    await self._worktrees.enter_again(caller, child)
                except WorktreeError as error:
                    raise ToolError(error.message) from error
            return child, ()
        above = await lineage_of(self._store, caller)
        depth = self._agents.max_depth
        if len(above.callers) >= depth:
            raise ToolError(f"Sub-agents may call others {depth} deep. Do this task yourself.")
        place = await self._place(caller, request, progress)
        child = await self._directory.create(
            session_id=request.session_id,
            agent=request.agent,
            parent_id=caller.id,
            title=request.description,
            folders=(place.directory, place.project),
        )
        return child, place.notices

    async def _place(
        self, caller: Session, request: SpawnRequest, progress: Callable[[str], None]
    ) -> WorkPlace:
        """Return where the new child of *request* works: with its caller, or in a worktree that is
        made for it."""
        if self._worktrees is None or not self._agents.get(request.agent).worktree:
            return WorkPlace(caller.directory, caller.project, "")
        progress("Creating a worktree")
        plain = re.sub(r"[^A-Za-z0-9]+", "-", request.agent).strip("-")[:MAX_AGENT_NAME]
        name = f"{plain or 'agent'}-{request.session_id[-UNIQUE_CHARACTERS:].lower()}"
        try:
            return await self._worktrees.enter(caller, name)
        except WorktreeError as error:
            raise ToolError(
                f"The sub-agent {request.agent} was not started. {error.message}"
            ) from error

    async def _follow(self, run: BackgroundRun, subscription: Subscription) -> SessionIdle | None:
        """Report the child's activity until its turn is over; None when the end was missed."""
        calls: set[str] = set()
        end: SessionIdle | None = None
        async for event in subscription:
            match event:
                case SessionIdle():
                    end = event
                    if not self._background_tasks.continues(event):
                        return end
                case SessionError() if self._sessions.status(run.child.id) == Idle():
                    return end
                case Resync() if self._sessions.status(run.child.id) == Idle():
                    return None
                case PartUpdated(part=ToolPart(state=Running(label=label)) as part):
                    calls.add(part.id)
                    count = f"{len(calls)} tool call{'' if len(calls) == 1 else 's'}"
                    run.report_activity(
                        f"{' '.join(f'{label.verb} {label.object}'.split())} · {count}"
                    )
                case _:
                    pass
        return None

    async def _end(self, child_id: str) -> None:
        """End a child that still works, and wait for its end."""
        if await self._sessions.cancel(child_id):
            await _wait_to_end(asyncio.create_task(self._sessions.wait(child_id)))


@frozen
class CallerSubagents:
    """The sub-agents of *caller*, as its calls reach them."""

    subagents: Subagents
    background_tasks: BackgroundTasks
    caller: Session
    spent: Spent
    check: Callable[[], Awaitable[str | None]]

    async def run(
        self, request: SpawnRequest, progress: Callable[[str], None]
    ) -> SpawnResult | Detached:
        if (reached := await self.check()) is not None:
            raise ToolError(f"The sub-agent was not started. {reached}")
        room = self.background_tasks.reserve_slot(self.caller.id, request.session_id)
        with room if request.background else nullcontext():
            done = await self.subagents.run(self.caller, request, progress)
        if isinstance(done, SpawnResult):
            self.spent(done.usage, done.cost)
        return done

    async def wait_for(self, session_id: str, wait: float) -> SubagentStatus:
        run = self.background_tasks.run(session_id)
        if run is not None and run.caller.id == self.caller.id and wait > 0:
            await self.background_tasks.wait_for_end(run, wait)
        found = await self.subagents.status(self.caller, session_id)
        if found.result is None:
            return found
        report = await self.background_tasks.take_report(self.caller.id, session_id)
        if report is None:
            return found
        self.spent(report.usage, report.cost)
        # The stored report is truncated and says why the task ended.
        text, error = report.text, report.error
        return replace(found, result=replace(found.result, text=text, error=error))

    async def stop(self, session_id: str) -> SubagentStatus:
        run = self.background_tasks.run(session_id)
        if run is not None and run.caller.id == self.caller.id:
            await self.subagents.stop(session_id)
            await run.ended.wait()
        return await self.wait_for(session_id, 0)


def _context(caller: Session, child: Session, notices: tuple[str, ...]) -> str:
    """Return what a sub-agent in a worktree is told with its task, "" for another one."""
    if child.project == caller.project:
        return ""
    told = IN_WORKTREE.format(folder=child.directory, source=caller.project)
    return reminder(" ".join((told, *notices)))


def _outcome_of_worktree(kept: KeptWorktree | None) -> str:
    if kept is None:
        return UNCHANGED
    names = kept.files[:MAX_NAMED_FILES]
    more = len(kept.files) - len(names)
    listed = ", ".join(names) + (f" and {more} more" if more else "")
    files = f" ({listed})" if listed else ""
    return KEPT.format(folder=kept.folder, branch=kept.branch, name=kept.name, files=files)


async def _wait_to_end(task: "asyncio.Task[Any]") -> None:
    """Wait for *task* even if the waiter is canceled."""
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue


def _concerns(event: Event, session_id: str) -> bool:
    if isinstance(event, PartUpdated):
        return event.part.session_id == session_id
    return isinstance(event, Resync) or (
        isinstance(event, SessionIdle | SessionError) and event.session_id == session_id
    )


def last_response(messages: Sequence[MessageWithParts]) -> str:
    """Return the newest response with text: the last step may have been a call, or empty.

    A step that the output limit cut off, or that the provider paused, is continued by the next one,
    so their texts are one response.
    """
    pieces: list[str] = []
    for item in reversed(messages):
        if not isinstance(item.message, AssistantMessage):
            continue
        if pieces and not _is_continued(item.message, item.parts):
            break
        texts = [
            part.text for part in item.parts if isinstance(part, TextPart) and not part.ignored
        ]
        if any(text.strip() for text in texts):
            pieces.append("".join(texts))
    return "".join(reversed(pieces)).strip()


def _is_continued(message: AssistantMessage, parts: tuple[Part, ...]) -> bool:
    """Return whether the next step continues the text of *message*. One with calls is followed by a
    response to their results."""
    called = any(isinstance(part, ToolPart) for part in parts)
    return message.finish in {"length", "paused"} and not called


END_REASONS: dict[BackgroundTaskState, str] = {
    "running": "",
    "completed": "",
    "cancelled": "The sub-agent was stopped by the user before it was done.",
    "rejected": "The sub-agent stopped: the user rejected one of its calls.",
    "limit_reached": "The sub-agent was stopped by a limit.",
    "failed": "The sub-agent failed.",
    "interrupted": "The program ended before the sub-agent was done.",
}


def end_reason(end: SessionIdle | None) -> str:
    """Return the reason why a child did not complete, as a sentence for the model; "" if it did."""
    if end is None:
        return ""
    has_error = end.outcome in {"limit_reached", "failed"} and end.error is not None
    reason = f" {end.error.message}" if has_error and end.error is not None else ""
    return END_REASONS[end.outcome] + reason


def subagent_result(
    messages: Sequence[MessageWithParts], prompt_id: str, outcome: BackgroundTaskState, error: str
) -> SpawnResult:
    """Return the result of the prompt *prompt_id* (the id of its message)."""
    ids = [item.message.id for item in messages]
    mine = messages[ids.index(prompt_id) :] if prompt_id in ids else messages
    answers = [m.message for m in mine if isinstance(m.message, AssistantMessage)]
    usage = Usage()
    for answer in answers:
        usage += answer.usage or Usage()
    costs = [answer.cost for answer in answers if answer.cost is not None]
    return SpawnResult(
        outcome=outcome,
        text=last_response(mine),
        error=error,
        calls=sum(
            isinstance(part, ToolPart) and isinstance(part.state, Completed | Failed)
            for item in mine
            for part in item.parts
        ),
        usage=usage,
        cost=sum(costs) if costs else None,
    )
