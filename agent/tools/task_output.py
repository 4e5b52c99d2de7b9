"""The ``task_output`` tool: check, wait for, or stop a sub-agent in the background."""

from pydantic import AliasChoices, Field

from agent.records.blocks import SubtaskBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.subagents import SubagentStatus, usage_facts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.shell.results import format_seconds
from agent.tools.task import NO_TEXT, report_text

MAX_WAIT = 600_000
"""The longest time in milliseconds that one call waits."""

WORKING = (
    "The sub-agent {agent} is working: {description}, for {time}. {activity}Its report comes to "
    "you as a message when it is done."
)


class TaskOutputArgs(ToolArgs):
    """Arguments of ``task_output``."""

    session_id: str = Field(
        min_length=1,
        validation_alias=AliasChoices("session_id", "task_id", "agent_id", "id"),
        description="The session id that task gave",
    )
    wait: int = Field(
        default=0,
        ge=0,
        description=f"Milliseconds to wait for the end, at most {MAX_WAIT}",
    )
    stop: bool = Field(default=False, description="End the sub-agent")


@frozen
class StatusRequest:
    """*wait* is in seconds."""

    session_id: str
    wait: float
    stop: bool


class TaskOutputTool(BaseTool):
    """Checks, waits for, and stops sub-agents."""

    spec = ToolSpec(
        name="task_output",
        verb="Sub-agent",
        aliases=("task_status", "agent_output", "task_stop", "check_task"),
        polling=True,
        changes_indirectly=True,
        concurrent=True,
    )
    facts = ToolFacts(permission="task", covered_by="bash_output")
    args = TaskOutputArgs

    async def prepare(self, args: TaskOutputArgs, ctx: ToolContext) -> Plan[StatusRequest]:
        what = "stop" if args.stop else "wait" if args.wait else "look"
        return Plan(
            label=ToolLabel("Sub-agent", what),
            payload=StatusRequest(
                args.session_id.strip(), min(args.wait, MAX_WAIT) / 1000, args.stop
            ),
        )

    async def execute(
        self, plan: Plan[StatusRequest], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        if ctx.subagents is None:
            raise ToolError("There are no sub-agents here.")
        call = plan.payload
        if call.stop:
            found = await ctx.subagents.stop(call.session_id)
        else:
            found = await ctx.subagents.wait_for(call.session_id, call.wait)
        return Result(
            _report(found, call),
            label=ToolLabel("Sub-agent", found.description, found.agent),
            blocks=_blocks(found, call),
            facts=("working",) if found.result is None else usage_facts(found.result),
        )


def _report(found: SubagentStatus, call: StatusRequest) -> str:
    if found.result is None:
        return WORKING.format(
            agent=found.agent,
            description=found.description,
            time=format_seconds(round(found.seconds)),
            activity=f"At the moment: {found.activity}. " if found.activity else "",
        )
    if call.stop and found.result.outcome == "cancelled":
        text = f"Stopped. {found.result.text}".strip()
        return f"{text}\n\n(sub-agent {found.agent}; session_id {call.session_id})"
    return report_text(found.result, found.agent, call.session_id)


def _blocks(found: SubagentStatus, call: StatusRequest) -> tuple[SubtaskBlock, ...]:
    if found.result is None:
        return (SubtaskBlock(call.session_id, found.agent, activity=found.activity),)
    text = found.result.text or found.result.error or NO_TEXT
    return (SubtaskBlock(call.session_id, found.agent, text=text),)
