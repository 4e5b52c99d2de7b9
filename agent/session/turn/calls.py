"""The calls of one turn: their executor, and the context in which each runs (spec 1, L7)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from agent.files import FileTracker
from agent.permission.service import PermissionContext, PermissionService
from agent.process import Terminals
from agent.provider.catalog.catalog import Catalog
from agent.records.blocks import Block
from agent.records.decisions import Decision
from agent.records.messages import AssistantMessage, Session, ToolPart, Usage
from agent.records.requests import PermissionNeed, PermissionReply
from agent.session.context.conversation import Conversation
from agent.session.guards import DoomLoop
from agent.session.prompt.system_prompt import SystemPrompt
from agent.session.subagents.completions import Completions
from agent.session.subagents.subagents import Lineage, Subagents
from agent.session.turn.executor import ExecutorDeps, StepExecutor
from agent.session.usage import add_costs
from agent.store.store import Store
from agent.tools.core.base import BeforeChange, FileChecks, ToolContext
from agent.tools.pipeline import Pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDeps:
    """The services that calls work with. *repeats* is the threshold of the doom loop (L4);
    *before_change* is awaited before a call that may change files, *saved* after the user's
    unsaved changes of a file were saved."""

    store: Store
    pipeline: Pipeline
    permissions: PermissionService
    catalog: Catalog
    system_prompt: SystemPrompt
    completions: Completions
    repeats: int
    before_change: BeforeChange | None
    saved: Callable[[str], Awaitable[None]] | None
    file_checks: FileChecks | None
    terminals: Terminals | None
    clock: Callable[[], float]


class TurnCalls:
    """Makes the executor of each step of a turn."""

    def __init__(
        self,
        deps: CallDeps,
        session: Session,
        lineage: Lineage,
        files: FileTracker,
        subagents: Subagents,
    ) -> None:
        self._deps = deps
        self._session = session
        self._lineage = lineage
        self._files = files
        self._subagents = subagents
        self._doom = DoomLoop(deps.repeats)
        self._children: tuple[Usage, float | None] = (Usage(), None)

    def take_children(self) -> tuple[Usage, float | None]:
        """What sub-agents, and calls that asked a model, have used since this was asked last."""
        children, self._children = self._children, (Usage(), None)
        return children

    def used(self, usage: Usage, cost: float | None) -> None:
        """Note what was taken beside the turn's own steps."""
        before, known = self._children
        self._children = (before + usage, add_costs(known, cost))

    def executor(self, message: AssistantMessage, conversation: Conversation) -> StepExecutor:
        """The executor of the step *message*; *conversation* is what stands before it."""
        claimed: set[str] = set()

        async def ask_repeat(part: ToolPart, answered: Callable[[Decision], None]) -> None:
            await self._deps.permissions.ask(
                replace(self._ask_context(message, part), on_decision=answered),
                (PermissionNeed("doom_loop", part.tool, reason="the same call as before, again"),),
                "The same call is repeated. Go on?",
                (),
            )

        return StepExecutor(
            ExecutorDeps(
                store=self._deps.store,
                pipeline=self._deps.pipeline,
                doom=self._doom,
                context=lambda part, progress: self._context(message, part, progress),
                ask_repeat=ask_repeat,
                attach=lambda touched: self._deps.system_prompt.nested_instructions(
                    self._session, conversation, touched, claimed
                ),
                clock=self._deps.clock,
            )
        )

    def _ask_context(self, message: AssistantMessage, part: ToolPart) -> PermissionContext:
        return PermissionContext(
            session_id=self._session.id,
            root_id=self._lineage.root_id,
            message_id=message.id,
            call_id=part.call_id,
            agent=message.agent,
            callers=self._lineage.callers,
            tool=part.tool,
            folder=self._session.directory,
        )

    def _context(
        self, message: AssistantMessage, part: ToolPart, progress: Callable[[str], None]
    ) -> ToolContext:
        context = self._ask_context(message, part)
        model = self._deps.catalog.model(message.model)

        async def ask(
            needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
        ) -> PermissionReply:
            reply = await self._deps.permissions.ask(context, needs, heading, blocks)
            return reply or PermissionReply("once")

        caller = replace(self._session, agent=message.agent, model=message.model)
        return ToolContext(
            session_id=self._session.id,
            root_id=self._lineage.root_id,
            message_id=message.id,
            call_id=part.call_id,
            agent=message.agent,
            directory=self._session.directory,
            project=self._session.project,
            files=self._files,
            progress=progress,
            ask=ask,
            vision=model.vision,
            documents=model.documents,
            callers=self._lineage.callers,
            subagents=self._subagents.for_caller(caller, self.used),
            completer=self._deps.completions.for_session(
                self._session.id, message.model, self.used
            ),
            before_change=self._deps.before_change,
            file_checks=self._deps.file_checks,
            on_saved=self._deps.saved,
            # What sub-agents do is not shown, and a terminal is there to be seen.
            terminals=None if self._lineage.callers else self._deps.terminals,
        )
