"""The services that the turns of all sessions share, in one record that is passed whole."""

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import field

from agent.agents import Agents
from agent.bus import Bus
from agent.files import FileTracker
from agent.permission.service import PermissionService
from agent.process import SpillStore, Terminals
from agent.provider.catalog.catalog import Catalog
from agent.provider.client_pool import ClientPool
from agent.provider.transport.retry import DEFAULT_POLICY, RetryPolicy
from agent.records.frozen import frozen
from agent.records.messages import AssistantMessage
from agent.records.tool_facts import Answering, can_answer
from agent.session.context.budget import Calibration
from agent.session.context.cache_watch import CacheWatch
from agent.session.context.conversation import Conversation
from agent.session.context.deferred_tools import offered_tools
from agent.session.context.pruning import PROTECTED_TOOLS
from agent.session.context.token_meter import StepSettings
from agent.session.fallback import Fallbacks
from agent.session.judge import Judges
from agent.session.prompt.system_prompt import SystemPrompt, session_block, useful_tools
from agent.session.queue import Queues
from agent.session.session_hooks import SessionHooks
from agent.session.snapshots.by_project import ProjectSnapshots
from agent.session.snapshots.change_tracker import ChangeTrackers
from agent.session.spending import Spending, UpdateSession
from agent.session.subagents.completions import Completions
from agent.session.subagents.worktrees import SubagentWorktrees
from agent.session.turn.guards import TurnLimits
from agent.store.store import Store
from agent.tools.core.questions import QuestionService
from agent.tools.core.tool import FileChecks
from agent.tools.pipeline import Pipeline
from agent.tools.registry import Registry
from agent.tools.shell.shells import Shells
from agent.tracing import Tracing

StopHook = Callable[[AssistantMessage], Awaitable[str | None]]
"""Called when a turn would end. A returned text keeps the turn going: the model reads it."""


@frozen(kw_only=True)
class CompactionSettings:
    """The settings of pruning and compaction."""

    reserved_tokens: int | None = None
    """Tokens of the window that are kept for the response; None for the default rule."""
    prune: bool = True
    """True if old tool outputs are shortened before a session is compacted."""
    protected_tools: frozenset[str] = PROTECTED_TOOLS
    """Tools whose outputs are never shortened."""
    model: str | None = None
    """The model that writes summaries; None for that of the agent ``compaction``, else the
    session's."""


@frozen(kw_only=True)
class TurnServices:
    """The services, limits and settings that a turn works with."""

    bus: Bus
    store: Store
    clients: ClientPool
    catalog: Catalog
    pipeline: Pipeline
    permissions: PermissionService
    questions: QuestionService
    agents: Agents
    queues: Queues
    system_prompt: SystemPrompt
    completions: Completions
    judges: Judges
    update: UpdateSession
    """Replaces the record of a session."""
    registry: Registry
    shells: Shells
    snapshots: ProjectSnapshots
    spills: SpillStore
    cache_watch: CacheWatch
    fallbacks: Fallbacks
    spending: Spending
    files: FileTracker = field(default_factory=FileTracker)
    """The files that each session has read; it knows the user's editor, if there is one."""
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    calibration: Calibration = field(default_factory=Calibration)
    """Corrections of token estimates, learned from reported usage."""
    output_caps: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Output caps in tokens, by session and model, that were raised after a response was cut."""
    retry: RetryPolicy = DEFAULT_POLICY
    rng: random.Random = field(default_factory=random.Random)
    """The jitter of retries."""
    tracing: Tracing = field(default_factory=lambda: Tracing({}))
    limits: TurnLimits = field(default_factory=TurnLimits)
    stop_hooks: tuple[StopHook, ...] = ()
    hooks: SessionHooks | None = None
    file_checks: FileChecks | None = None
    """Runs after a file was edited: formatters and diagnostics."""
    worktrees: SubagentWorktrees | None = None
    """Makes the worktrees of sub-agents; None where there are none."""
    terminals: Terminals | None = None
    """The terminals of the user's editor, in which commands run; None to run them here."""
    trackers: ChangeTrackers = field(default_factory=ChangeTrackers)
    clock: Callable[[], float] = field(default=time.time)
    """The time in seconds since the epoch."""
    answering: Answering = "text"
    """The answers that the user can give."""
    wait_for_background: bool = True
    """True if a turn ends only after its background tasks. A sub-agent's turn always waits:
    otherwise its reports would be lost."""

    def step_settings(
        self,
        agent_name: str,
        model_name: str,
        conversation: Conversation,
        callers: tuple[str, ...],
    ) -> StepSettings:
        """Return the settings of a step of an agent and a model that continues *conversation*.

        *callers* are the agents of the sessions above this one, nearest first.
        """
        agent, model = self.agents.get(agent_name), self.catalog.model(model_name)
        named = (n for n in self.registry.names_for(model.id) if can_answer(n, self.answering))
        context = conversation.context
        tools = useful_tools(named, context)
        allowed = self.agents.offered_tools(agent.name, tools, callers)
        subagents = self.agents.allowed_subagents(agent.name, callers)
        offered = offered_tools(self.registry, allowed, model, conversation.all)
        return StepSettings(
            agent=agent.name,
            model=model,
            effort=None,
            system=(self.system_prompt.head(agent, model), session_block(context)),
            tools=self.registry.offer(offered, subagents) if model.tools else (),
            max_steps=agent.max_steps,
            temperature=agent.temperature,
            target_tokens=self.limits.target_tokens,
            auto_compact=self.limits.auto_compact,
        )
