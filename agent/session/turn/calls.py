"""The tool calls of one turn: their executors, and the context in which each call runs."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from agent.permission.service import PermissionContext
from agent.records.blocks import Block
from agent.records.decisions import Decision
from agent.records.events import Notice
from agent.records.frozen import frozen
from agent.records.messages import AssistantMessage, Session, ToolPart, Usage
from agent.records.requests import PermissionNeed, PermissionReply
from agent.session.context.conversation import Conversation
from agent.session.prompt.instructions import Instruction
from agent.session.snapshots.change_tracker import ChangeTracker
from agent.session.spending import Spender
from agent.session.subagents.subagents import Lineage, Subagents
from agent.session.turn.executor import StepExecutor
from agent.session.turn.guards import DoomLoop
from agent.session.turn.pause import Pause
from agent.session.turn.services import TurnServices
from agent.session.usage_totals import add_costs
from agent.tools.core.base import ToolContext


class TurnCalls:
    """Creates the executor of each step of a turn."""

    def __init__(
        self,
        services: TurnServices,
        session: Session,
        lineage: Lineage,
        subagents: Subagents,
        tracker: ChangeTracker,
        pause: Pause,
    ) -> None:
        self.pause = pause
        self.services = services
        self.session = session
        self.lineage = lineage
        self.subagents = subagents
        self._tracker = tracker
        self.doom = DoomLoop(services.limits.max_repeats)
        self._extra: tuple[Usage, float | None] = (Usage(), None)

    def take_extra_usage(self) -> tuple[Usage, float | None]:
        """Return the usage and cost of sub-agents, and of calls that asked a model, since this was
        called last."""
        extra, self._extra = self._extra, (Usage(), None)
        return extra

    def add_extra_usage(self, usage: Usage, cost: float | None) -> None:
        """Add usage that belongs to no step of the turn."""
        before, known = self._extra
        self._extra = (before + usage, add_costs(known, cost))

    def executor(
        self, message: AssistantMessage, conversation: Conversation, offered: Collection[str]
    ) -> StepExecutor:
        """Return the executor of the step *message*, which follows *conversation* and offers the
        tools *offered*."""
        services, calls = self.services, _StepCalls(self, message, conversation, set())
        executor = StepExecutor(
            services.store, services.pipeline, calls, services.clock, offered, self.pause
        )
        if not self.lineage.callers:
            executor.on_call = self._tracker.begin
        return executor

    async def before_change(self, files: tuple[str, ...] | None, only: bool) -> None:
        """Prepare for a call that can change *files* (``ToolContext.before_change``)."""
        lineage = self.lineage
        await self._warn_of_shared(files or ())
        # A sub-agent's changes belong to its caller: they are undone together. A background task
        # outlives its caller's steps, and one in a worktree changes other files, so these track
        # their changes themselves.
        shares_files = lineage.callers and self.session.project == lineage.project
        if shares_files and self.subagents.background_tasks.run(self.session.id) is None:
            await self.services.trackers.keep(lineage.root_id, files or ())
            return
        self._tracker.begin()
        await self._tracker.before_change(files, only=only)

    async def _warn_of_shared(self, files: tuple[str, ...]) -> None:
        """Warn of files that another session is changing in this folder at the same time."""
        shared = self.services.trackers.claim(self.lineage.root_id, files)
        for path, others in shared.items():
            own = await self.services.store.session(self.lineage.root_id)
            other = await self.services.store.session(min(others))
            self.services.bus.publish(
                Notice(
                    f"“{own.title}” is about to change {path}, which “{other.title}” has also "
                    "changed. /new --worktree gives a session its own folder."
                )
            )

    async def save_user_edit(self, path: str) -> None:
        """Include a file of the user's editor that was saved for them in the snapshot."""
        await self.services.trackers.include_saved_file(self.lineage.root_id, path)


@frozen
class _StepCalls:
    """The calls of one step (``executor.CallSupport``)."""

    turn: TurnCalls
    message: AssistantMessage
    conversation: Conversation
    claimed: set[str]
    """Instruction files that a call of the step has attached already."""

    @property
    def doom(self) -> DoomLoop:
        return self.turn.doom

    async def ask_repeat(self, part: ToolPart, decided: Callable[[Decision], None]) -> None:
        await self.turn.services.permissions.ask(
            replace(self._ask_context(part), on_decision=decided),
            (PermissionNeed("doom_loop", part.tool, reason="the same call as before, again"),),
            "The same call is being repeated. Continue?",
            (),
        )

    async def attached(self, touched: tuple[str, ...]) -> tuple[Instruction, ...]:
        return await self.turn.services.system_prompt.nested_instructions(
            self.turn.session, self.conversation, touched, self.claimed
        )

    def _ask_context(self, part: ToolPart) -> PermissionContext:
        session, lineage = self.turn.session, self.turn.lineage
        return PermissionContext(
            session_id=session.id,
            root_id=lineage.root_id,
            message_id=self.message.id,
            call_id=part.call_id,
            agent=self.message.agent,
            callers=lineage.callers,
            tool=part.tool,
            folder=session.directory,
        )

    def context(self, part: ToolPart, progress: Callable[[str], None]) -> ToolContext:
        turn, services, message = self.turn, self.turn.services, self.message
        session, lineage = turn.session, turn.lineage
        context = self._ask_context(part)
        model = services.catalog.model(message.model)

        async def ask(
            needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
        ) -> PermissionReply:
            reply = await services.permissions.ask(context, needs, heading, blocks)
            return reply or PermissionReply("once")

        caller = replace(session, agent=message.agent, model=message.model)
        used = turn.add_extra_usage
        spender = Spender(lineage.root_id, session.id, message.agent, model)
        return ToolContext(
            session_id=session.id,
            root_id=lineage.root_id,
            message_id=message.id,
            call_id=part.call_id,
            agent=message.agent,
            directory=session.directory,
            project=session.project,
            files=services.files,
            progress=progress,
            ask=ask,
            vision=model.vision,
            documents=model.documents,
            callers=lineage.callers,
            subagents=turn.subagents.for_caller(
                caller, used, partial(services.spending.check, spender)
            ),
            completer=services.completions.for_session(session.id, message.model, used),
            judge=services.judges.for_session(session.id, message.model, used),
            before_change=turn.before_change,
            file_checks=services.file_checks,
            on_saved=turn.save_user_edit,
            # Sub-agents' calls are not shown, and a terminal is there to be seen.
            terminals=None if lineage.callers else services.terminals,
        )
