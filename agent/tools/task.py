"""The ``task`` tool: give a task to a sub-agent in a session of its own.

The tool does not know the session service: it runs the child through ``ToolContext.subagents``.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from pydantic import AliasChoices, Field

from agent.records.blocks import SubtaskBlock, ToolLabel
from agent.records.errors import ToolError, ToolStopped
from agent.records.ids import new_id
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.offered_subagents import AllowedSubagents, SubagentInfo, task_spec
from agent.tools.core.subagents import Detached, SpawnRequest, SpawnResult, usage_facts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs

DEFAULT_AGENT = "general"
SUBAGENT_ALIASES: Mapping[str, str] = {
    "generalpurpose": DEFAULT_AGENT,
    "default": DEFAULT_AGENT,
    "worker": DEFAULT_AGENT,
    "explorer": "explore",
    "planner": "plan",
}
"""Names of sub-agents in Claude Code, opencode and Codex, as ``_plain`` returns them, with ours."""

NO_TEXT = "The sub-agent ended without a report."

DETACHED = {
    "requested": "The sub-agent works in the background. {later}",
    "moved": "The user moved the sub-agent to the background, where it continues. {later}",
    "sent": "The sub-agent is working in the background and reads this at its next step. {later}",
}
REPORT_HINT = (
    "Its report comes to you by itself, once, as a message. Continue with other work; if nothing "
    "is left to do, just end your answer, and the report begins the next one. Do not guess what it "
    "will say. bash_output with the id {id} looks at it or stops it."
)


class TaskArgs(ToolArgs):
    """Arguments of ``task``."""

    description: str = Field(min_length=1, description="The task in three to six words")
    prompt: str = Field(min_length=1, description="The whole task: the sub-agent sees only this")
    subagent_type: str = Field(default=DEFAULT_AGENT, description="The sub-agent that does it")
    session_id: str | None = Field(
        default=None,
        description="An earlier sub-agent to continue, or a background one to send this to",
    )
    background: bool = Field(
        default=False,
        validation_alias=AliasChoices("background", "run_in_background"),
        description="Return at once; the report comes later as a message",
    )


class TaskTool(BaseTool):
    """Runs sub-agents."""

    spec = ToolSpec(
        name="task",
        verb="Task",
        aliases=("agent", "subagent", "delegate", "dispatch_agent"),
        changes_indirectly=True,
        concurrent=True,
    )
    facts = ToolFacts(
        action="allow", claude_name="Task", in_claude_settings=True, for_subagents=False
    )
    args = TaskArgs

    def __init__(
        self, agents: tuple[SubagentInfo, ...], allowed: AllowedSubagents | None = None
    ) -> None:
        self._agents = agents
        self._allowed = allowed
        self._names = {_plain(agent.name): agent.name for agent in reversed(agents)}
        self._offered = frozenset(agent.name for agent in agents if agent.offered)
        self.spec = task_spec(self.spec, agents)

    def _find(self, given: str, ctx: ToolContext) -> str:
        """Return the name of the sub-agent that *given* means, in whatever spelling."""
        if any(agent.name == given for agent in self._agents):
            return given
        plain = _plain(given)
        found = self._names.get(plain) or self._names.get(SUBAGENT_ALIASES.get(plain, ""))
        if found is not None:
            return found
        allowed = self._allowed(ctx.agent, ctx.callers) if self._allowed else self._offered
        known = ", ".join(name for name in self.spec.choices["subagent_type"] if name in allowed)
        raise ToolError(f"There is no sub-agent {given!r}. The sub-agents are: {known or 'none'}.")

    async def prepare(self, args: TaskArgs, ctx: ToolContext) -> Plan[SpawnRequest]:
        agent = self._find(args.subagent_type, ctx)
        request = SpawnRequest(
            session_id=args.session_id or new_id("ses"),
            agent=agent,
            description=" ".join(args.description.split()),
            prompt=args.prompt,
            message_id=ctx.message_id,
            call_id=ctx.call_id,
            resume=args.session_id is not None,
            background=args.background,
        )
        return Plan(
            label=ToolLabel(agent.capitalize(), request.description),
            payload=request,
            needs=(PermissionNeed("task", agent, always=agent, default_action="allow"),),
            blocks=(SubtaskBlock(request.session_id, agent, args.prompt),),
            heading=f"Start this sub-agent{' in the background' if args.background else ''}?",
        )

    async def execute(
        self, plan: Plan[SpawnRequest], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        if ctx.subagents is None:
            raise ToolError("Sub-agents cannot be started here.")
        request = plan.payload
        done = await ctx.subagents.run(request, ctx.progress)
        (started,) = plan.blocks
        assert isinstance(started, SubtaskBlock)  # made in prepare
        if isinstance(done, Detached):
            text = DETACHED[done.reason].format(later=REPORT_HINT.format(id=request.session_id))
            block = replace(started, background=True)
            return Result(text, blocks=(block,), facts=(DETACHED_FACTS[done.reason],))
        text = report_text(done, request.agent, request.session_id)
        if done.outcome == "cancelled":
            raise ToolStopped(text)
        if done.error:
            raise ToolError(text)
        block = replace(started, text=done.text or NO_TEXT)
        return Result(text, blocks=(block,), facts=usage_facts(done))


DETACHED_FACTS = {"requested": "background", "moved": "background", "sent": "told"}
"""The facts in the transcript row of a call that did not wait."""


def report_text(done: SpawnResult, agent: str, session_id: str) -> str:
    """Return the report for the model, or why there is none, and how to continue."""
    lines = [done.error] if done.error else []
    if done.text:
        lines += ["What it wrote last:", done.text] if done.error else [done.text]
    elif not done.error:
        lines.append(NO_TEXT)
    used = ", ".join(usage_facts(done))
    lines += ["", f"(sub-agent {agent}: {used}; session_id {session_id})"]
    return "\n".join(lines)


def _plain(name: str) -> str:
    """Return *name* without case, spaces and separators."""
    return re.sub(r"[\W_]", "", name.casefold())
