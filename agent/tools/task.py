"""The ``task`` tool: work handed to a sub-agent in a session of its own (spec 3, S1).

The tool does not know the session service: what runs the child comes with the context (A6).
"""

from dataclasses import dataclass, replace

from pydantic import Field

from agent.display import SubtaskBlock, ToolLabel
from agent.errors import ToolError
from agent.figures import tokens
from agent.ids import new_id
from agent.questions import Need, PermissionReply
from agent.tools.base import (
    Plan,
    Result,
    SpawnRequest,
    SpawnResult,
    ToolArgs,
    ToolContext,
    ToolSpec,
)

DEFAULT_AGENT = "general"
NO_TEXT = "The sub-agent ended without a report."


class TaskArgs(ToolArgs):
    """Arguments of ``task``."""

    description: str = Field(min_length=1, description="The task in three to six words")
    prompt: str = Field(min_length=1, description="The whole task: the sub-agent sees only this")
    subagent_type: str = Field(default=DEFAULT_AGENT, description="The sub-agent that does it")
    session_id: str | None = Field(
        default=None, description="The session id of an earlier sub-agent that is to go on"
    )


@dataclass(frozen=True, slots=True)
class SubagentInfo:
    """A sub-agent. The model is told of those that are *offered*; a command of the user's may
    have others do something too."""

    name: str
    description: str
    offered: bool = True


class TaskTool:
    """Runs sub-agents."""

    args = TaskArgs

    def __init__(self, agents: tuple[SubagentInfo, ...]) -> None:
        self._names = frozenset(agent.name for agent in agents)
        self._offered = tuple(agent.name for agent in agents if agent.offered)
        listed = "\n".join(
            f"- `{agent.name}`: {agent.description}" for agent in agents if agent.offered
        )
        self.spec = ToolSpec(
            name="task",
            verb="Task",
            aliases=("agent", "subagent", "delegate", "dispatch_agent"),
            variables={"agents": listed},
            indirect=True,
        )

    def concurrency_safe(self, args: TaskArgs) -> bool:
        _ = args
        return True

    async def prepare(self, args: TaskArgs, ctx: ToolContext) -> Plan[SpawnRequest]:
        _ = ctx
        if args.subagent_type not in self._names:
            known = ", ".join(self._offered)
            raise ToolError(f"There is no sub-agent {args.subagent_type!r}. There are: {known}.")
        request = SpawnRequest(
            session_id=args.session_id or new_id("ses"),
            agent=args.subagent_type,
            description=" ".join(args.description.split()),
            prompt=args.prompt,
            resume=args.session_id is not None,
        )
        return Plan(
            label=ToolLabel(args.subagent_type.capitalize(), request.description),
            payload=request,
            needs=(Need("task", args.subagent_type, always=args.subagent_type, floor="allow"),),
            blocks=(SubtaskBlock(request.session_id, args.subagent_type, args.prompt),),
            heading="Start this sub-agent?",
        )

    async def execute(
        self, plan: Plan[SpawnRequest], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply
        if ctx.spawn is None:
            raise ToolError("Sub-agents cannot be started here.")
        request = plan.payload
        done = await ctx.spawn(request, ctx.progress)
        text = _report(request, done)
        if done.error:
            raise ToolError(text)
        (started,) = plan.blocks
        assert isinstance(started, SubtaskBlock)  # noqa: S101 - made in prepare
        block = replace(started, text=done.text or NO_TEXT)
        return Result(text, blocks=(block,), facts=_facts(done))


def _report(request: SpawnRequest, done: SpawnResult) -> str:
    """What the model reads: the report or why there is none, and how to go on."""
    lines = [done.error] if done.error else []
    if done.text:
        lines += ["What it wrote last:", done.text] if done.error else [done.text]
    elif not done.error:
        lines.append(NO_TEXT)
    used = ", ".join(_facts(done))
    lines += ["", f"(sub-agent {request.agent}: {used}; session_id {request.session_id})"]
    return "\n".join(lines)


def _facts(done: SpawnResult) -> tuple[str, ...]:
    used = done.usage.input + done.usage.output
    calls = f"{done.calls} tool call{'' if done.calls == 1 else 's'}"
    return (calls, f"{tokens(used)} tokens") if used else (calls,)
