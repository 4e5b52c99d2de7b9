"""A session that a client has open: its events are sent to the client as they happen."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from acp import schema
from acp.helpers import update_agent_message_text
from acp.interfaces import Client

from agent.bus import Subscription
from agent.records import events
from agent.records.errors import NothingToDo, OpencodePyError
from agent.records.messages import (
    Idle,
    MessageWithParts,
    Retry,
    Session,
    StepFinishPart,
    ToolPart,
    UserMessage,
)
from agent.runtime.goal_and_loop import goal_command, loop_command
from agent.runtime.merging import (
    REMOVE,
    changes_text,
    known_worktree,
    merge_changes,
    merge_work,
    parse_merge,
    remove_worktree,
)
from agent.runtime.runtime import Runtime
from agent.session.api import PromptInput
from agent.session.service import concerns
from app.acp import options
from app.acp.requests import RequestPrompter
from app.acp.updates import Update, UpdateBuilder, plan_update

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class PendingPrompt:
    """A prompt whose turn has not ended."""

    ended: asyncio.Future[events.SessionIdle]
    message_id: str | None = None
    """None until the prompt is stored, empty if its turn has no message."""
    cancelled: bool = False

    def settle(self, event: events.SessionIdle) -> None:
        """Set the end of the turn, unless it is set."""
        if not self.ended.done():
            self.ended.set_result(replace(event, outcome="cancelled") if self.cancelled else event)


@dataclass(slots=True)
class PendingPrompts:
    """All prompts of one session that have no response yet."""

    queued: tuple[str, ...] = ()
    """Ids of the messages that are queued for a turn, as of the last event."""
    _prompts: list[PendingPrompt] = field(default_factory=list[PendingPrompt])

    @contextmanager
    def new(self) -> Generator[PendingPrompt]:
        """Keep a prompt among the pending ones for the duration of the block."""
        prompt = PendingPrompt(asyncio.get_running_loop().create_future())
        self._prompts.append(prompt)
        try:
            yield prompt
        finally:
            self._prompts.remove(prompt)

    def cancel(self) -> list[PendingPrompt]:
        """Mark all prompts as canceled; return those that no turn has picked up."""
        for prompt in self._prompts:
            prompt.cancelled = True
        return [prompt for prompt in self._prompts if prompt.message_id in self.queued]

    def close(self, session_id: str) -> None:
        """Settle all prompts as canceled: the ends of their turns are no longer followed."""
        for prompt in self._prompts:
            prompt.settle(events.SessionIdle(session_id, "", "cancelled"))

    def turn_ended(self, event: events.SessionIdle) -> None:
        """Settle the prompts of the turn that ended."""
        for prompt in self._prompts:
            if prompt.message_id is None:
                continue
            continues = event.outcome in {"completed", "failed"}
            sent_after = event.outcome == "cancelled" and not prompt.cancelled
            if not ((continues or sent_after) and prompt.message_id in self.queued):
                prompt.settle(event)


@dataclass(slots=True)
class OpenSession:
    """Sends the events of a session and of its sub-agents to the client. Call ``start`` first."""

    runtime: Runtime
    client: Client
    session: Session
    root_id: str
    """The root of the session's tree: the session itself, unless it is a sub-agent's."""
    forms: bool = False
    updates: UpdateBuilder = field(init=False)
    _prompter: RequestPrompter = field(init=False)
    _subscription: Subscription = field(init=False)
    _tree: set[str] = field(init=False)
    _pending: PendingPrompts = field(default_factory=PendingPrompts)
    _requested_calls: set[str] = field(default_factory=set[str])
    _sent_usage: schema.UsageUpdate | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])

    def __post_init__(self) -> None:
        self.updates = UpdateBuilder(str(self.runtime.project))
        self._prompter = RequestPrompter(
            self.runtime,
            self.client,
            self.session.id,
            self.root_id,
            self.updates,
            forms=self.forms,
        )
        self._tree = {self.session.id}
        self._subscription = self.runtime.bus.subscribe(self._concerns)

    def start(self) -> None:
        """Send updates from now on, and prompt for the requests that are pending."""
        self._pending.queued = self.runtime.queues.ids(self.session.id)
        self._spawn(self._follow())
        for question in self._prompter.pending():
            self._spawn(question)

    def announce(self, sentences: Sequence[str]) -> None:
        """Send, in a task, the slash commands and *sentences* for the user."""

        async def send_start() -> None:
            commands = await options.commands_update(self.runtime)
            await self.client.session_update(self.session.id, commands)
            await self.send(update_agent_message_text(each + "\n\n") for each in sentences)

        self._spawn(send_start())

    async def replay(self, messages: Iterable[MessageWithParts], *, send: bool) -> None:
        """Build the updates of past messages; *send* them if the client does not know them."""
        for item in messages:
            updates = list(self.updates.history(item))
            if send:
                await self.send(updates)

    async def prompt(self, made: Awaitable[PromptInput]) -> events.SessionIdle:
        """Send the prompt that *made* returns and wait for the end of its turn. A cancel in the
        meantime counts."""
        cancelled = events.SessionIdle(self.session.id, "", "cancelled")
        with self._pending.new() as prompt:
            try:
                given = await made
                await self.runtime.mcp.wait_until_tried()
                await self.send(self.updates.note(each) for each in self.runtime.mcp.missing())
                if prompt.cancelled:
                    return cancelled
                prompt.message_id = await self.runtime.sessions.prompt(self.session.id, given)
            except OpencodePyError:
                if prompt.cancelled:  # a request in the meantime was withdrawn
                    return cancelled
                raise
            return await self._wait_for_end(prompt)

    async def compact(self, focus: str) -> events.SessionIdle:
        with self._pending.new() as prompt:
            await self.runtime.sessions.compaction.start(self.session.id, focus)
            prompt.message_id = ""
            return await self._wait_for_end(prompt)

    async def goal(self, argument: str) -> events.SessionIdle:
        """Run ``/goal`` and wait until no work is done on the goal any more."""
        sessions, model = self.runtime.sessions, self.runtime.catalog.default_model()
        given = (self.session, argument, self._own_session, self.session.model or model)
        return await self._until_over(goal_command(self.runtime, *given), sessions.goals.wait)

    async def loop(self, argument: str) -> events.SessionIdle:
        """Run ``/loop`` and wait until the prompt is not repeated any more."""
        repeated = self.runtime.sessions.repeated_prompts
        started = loop_command(self.runtime, self.session, argument, self._own_session)
        return await self._until_over(started, repeated.wait)

    async def _own_session(self) -> Session:
        return await self.runtime.sessions.repository.get(self.session.id)

    async def _until_over(
        self, started: Awaitable[str], ended: Callable[[str], Awaitable[None]]
    ) -> events.SessionIdle:
        """Send the sentence that *started* returns, then wait for *ended*, one prompt for all its
        turns."""
        with self._pending.new() as prompt:
            if sentence := await started:
                await self.say(sentence)
            await ended(self.session.id)
            outcome: events.Outcome = "cancelled" if prompt.cancelled else "completed"
            return events.SessionIdle(self.session.id, "", outcome)

    async def merge(self, argument: str) -> events.SessionIdle:
        """Send what a worktree changed, or merge or remove it if *argument* says so."""
        name, how = parse_merge(argument)
        worktree = known_worktree(self.runtime, self.session, name)
        if how == REMOVE:
            await self.say(await remove_worktree(self.runtime, worktree))
        elif how:
            await self.say(await merge_work(worktree, how, self.session))
        else:
            shown = changes_text(await merge_changes(worktree))
            ways = f"/merge {worktree.name} merge, squash or patch merges this."
            text = f"```diff\n{shown}\n```\n\n{ways}" if shown else "No changes to merge."
            await self.say(text)
        return events.SessionIdle(self.session.id, "", "completed")

    async def say(self, text: str) -> None:
        """Send *text* as a message of the agent."""
        await self.send((update_agent_message_text(f"{text}\n\n"),))

    async def cancel(self) -> None:
        """Cancel the running turn, goal or loop, and all prompts that are queued or being
        prepared."""
        with suppress(NothingToDo):
            await self.runtime.sessions.goals.end(self.session.id, "paused")
        self.runtime.sessions.repeated_prompts.forget(self.session.id)
        for prompt in self._pending.cancel():
            await self.runtime.queues.remove(self.session.id, prompt.message_id or "")
            prompt.settle(events.SessionIdle(self.session.id, "", "cancelled"))
        if not await self.runtime.sessions.cancel(self.session.id):
            self.runtime.permissions.cancel_session(self.session.id)

    async def send(self, updates: Iterable[Update]) -> None:
        for update in updates:
            await self.client.session_update(self.session.id, update)

    async def send_options(self) -> None:
        """Send the agent, the model and the effort in use, and the possible ones."""
        self.session = await self.runtime.sessions.repository.get(self.session.id)
        await self.client.session_update(
            self.session.id,
            schema.ConfigOptionUpdate(
                session_update="config_option_update",
                config_options=list(options.options(self.runtime, self.session)),
            ),
        )

    async def close(self) -> None:
        """Send no more updates, and end the pending prompts. A running turn continues."""
        self._subscription.close()
        self._pending.close(self.session.id)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _wait_for_end(self, prompt: PendingPrompt) -> events.SessionIdle:
        if prompt.cancelled:  # canceled while it was being stored
            await self.runtime.sessions.cancel(self.session.id)
        return await prompt.ended

    def _concerns(self, event: events.Event) -> bool:
        if isinstance(event, events.SessionCreated) and event.session.parent_id in self._tree:
            self._tree.add(event.session.id)
        return any(concerns(event, one) for one in self._tree)

    async def _follow(self) -> None:
        with suppress(ConnectionError):  # the client has disconnected: the program exits
            async for event in self._subscription:
                try:
                    await self._handle(event)
                except ConnectionError:
                    raise
                except Exception:  # the next event can be a request, or the end of the turn
                    log.exception("the client could not be sent %s", event.type)

    async def _handle(self, event: events.Event) -> None:
        own = self.session.id
        match event:
            case events.PartUpdated(part=part) if part.session_id == own:
                await self.send(self.updates.part(part))
                if isinstance(part, StepFinishPart):
                    await self._send_usage(part)
            case events.PartUpdated(part=ToolPart() as part):
                await self._send_subagent_call(part)
            case events.PartDelta() if event.session_id == own:
                await self.send(self.updates.delta(event))
            case events.MessageUpdated(message=UserMessage() as message) if (
                message.session_id == own
            ):
                self.updates.skip_message(message.id)
            case events.PermissionAsked(request=request) if request.root_id == self.root_id:
                self._requested_calls.add(request.call_id)
                self._spawn(self._prompter.permission(request))
            case events.QuestionAsked(question=question) if question.root_id == self.root_id:
                self._spawn(self._prompter.question(question))
            case events.Resync():
                await self._catch_up()
            case _:
                await self._handle_state(event)

    async def _handle_state(self, event: events.Event) -> None:
        """Handle an event that is neither part of a message nor a request."""
        if getattr(event, "session_id", None) != self.session.id:
            if isinstance(event, events.SessionUpdated) and event.session.id == self.session.id:
                await self._send_changes(event.session)
            return
        match event:
            case events.TodoUpdated():
                await self.send((plan_update(event.items),))
            case events.SessionStatusChanged(status=Retry() as retry):
                again = f"The provider failed: {retry.message} Trying again."
                await self.send((self.updates.note(again),))
            case events.Notice():
                await self.send((self.updates.note(event.message),))
            case events.SessionError():
                await self.send((self.updates.note(event.error.message),))
            case events.QueueChanged():
                self._pending.queued = event.message_ids
            case events.SessionIdle():
                if event.error is not None and event.outcome != "failed":  # no error of the prompt
                    await self.send((self.updates.note(event.error.message),))
                self._pending.turn_ended(event)
            case _:
                pass

    async def _send_subagent_call(self, part: ToolPart) -> None:
        """Send a sub-agent's call once there is a request about it."""
        if part.call_id in self._requested_calls or (getattr(part.state, "waiting", None)):
            self._requested_calls.add(part.call_id)
            await self.send(self.updates.part(part))

    async def _send_usage(self, part: StepFinishPart) -> None:
        model = self.runtime.catalog.model(
            self.session.model or self.runtime.catalog.default_model()
        )
        if part.usage is None or not model.context_limit:
            return
        session = await self.runtime.sessions.repository.get(self.session.id)
        costs = [each for each in (session.cost, session.subagent_cost) if each is not None]
        update = schema.UsageUpdate(
            session_update="usage_update",
            used=part.usage.input + part.usage.output,
            size=model.context_limit,
            cost=schema.Cost(amount=sum(costs), currency="USD") if costs else None,
        )
        if update != self._sent_usage:
            self._sent_usage = update
            await self.client.session_update(self.session.id, update)

    async def _send_changes(self, session: Session) -> None:
        """Send a new title, and an agent that was chosen elsewhere."""
        before, self.session = self.session, session
        if session.title != before.title:
            when = datetime.fromtimestamp(session.updated, UTC).isoformat()
            await self.client.session_update(
                session.id,
                schema.SessionInfoUpdate(
                    session_update="session_info_update", title=session.title, updated_at=when
                ),
            )
        if session.agent != before.agent:
            await self.client.session_update(
                session.id,
                schema.CurrentModeUpdate(
                    session_update="current_mode_update", current_mode_id=session.agent
                ),
            )
            await self.send_options()  # an agent can have its own model

    async def _catch_up(self) -> None:
        """Send the stored state after events were lost because the client reads slowly."""
        service = self.runtime.sessions
        snapshot = await service.snapshot(self.session.id)
        self._pending.queued = snapshot.queued
        for item in snapshot.messages[-2:]:
            if isinstance(item.message, UserMessage):
                self.updates.skip_message(item.message.id)
            for part in item.parts:
                await self.send(self.updates.part(part))
        for question in self._prompter.pending():
            self._spawn(question)
        if isinstance(service.status(self.session.id), Idle):
            self._pending.turn_ended(events.SessionIdle(self.session.id, "", "completed"))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(_ignore_disconnect(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _ignore_disconnect(work: Coroutine[None, None, None]) -> None:
    """Run *work*. That the client has disconnected is noticed by the task that reads from it."""
    with suppress(ConnectionError):
        await work
