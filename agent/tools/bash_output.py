"""The ``bash_output`` tool: read, wait for, or end a command or sub-agent in the background."""

from pydantic import AliasChoices, Field

from agent.records.blocks import ToolLabel
from agent.records.frozen import frozen
from agent.records.requests import PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.shell.results import describe_shell, shell_block, shell_output
from agent.tools.shell.shells import Shells
from agent.tools.task_output import StatusRequest, TaskOutputArgs, TaskOutputTool

MAX_WAIT = 600_000
"""The longest time in milliseconds that one call waits."""


class BashOutputArgs(ToolArgs):
    """Arguments of ``bash_output``."""

    id: str = Field(
        validation_alias=AliasChoices("id", "shell_id", "bash_id", "session_id", "task_id"),
        description="The id that bash gave, or the session_id of a sub-agent",
    )
    wait: int = Field(
        default=0,
        ge=0,
        description=f"Milliseconds to wait for new output or the end, at most {MAX_WAIT}",
    )
    kill: bool = Field(
        default=False,
        validation_alias=AliasChoices("kill", "stop"),
        description="End it, with everything it started",
    )


LEFTOVERS = "Something that it started still runs and may print more."


@frozen
class OutputPlan:
    """*wait* is in seconds."""

    shell_id: str
    wait: float
    kill: bool


class BashOutputTool:
    """Reads from *shells*, and ends them. Sub-agents are left to ``task_output``."""

    spec = ToolSpec(
        name="bash_output",
        verb="Output",
        aliases=("shell_output", "read_shell"),
        kept_end="tail",
        polling=True,
    )
    facts = ToolFacts(permission="bash", kind="execute", claude_name="BashOutput")
    args = BashOutputArgs

    def __init__(self, shells: Shells) -> None:
        self._shells = shells
        self._subagents = TaskOutputTool()

    def concurrency_safe(self, args: BashOutputArgs) -> bool:
        # A sub-agent can change files, which are recorded before the call.
        return not (args.kill or _is_subagent(args.id))

    async def prepare(
        self, args: BashOutputArgs, ctx: ToolContext
    ) -> Plan[OutputPlan | StatusRequest]:
        if _is_subagent(args.id):
            asked = TaskOutputArgs(session_id=args.id, wait=args.wait, stop=args.kill)
            plan = await self._subagents.prepare(asked, ctx)
            return Plan(label=plan.label, payload=plan.payload)
        info, _ = self._shells.get(args.id, ctx.root_id)
        verb = "Kill" if args.kill else "Output"
        return Plan(
            label=ToolLabel(verb, info.id, info.command.partition("\n")[0]),
            payload=OutputPlan(info.id, min(args.wait, MAX_WAIT) / 1000, args.kill),
        )

    async def execute(
        self,
        plan: Plan[OutputPlan | StatusRequest],
        reply: PermissionReply | None,
        ctx: ToolContext,
    ) -> Result:
        call = plan.payload
        if isinstance(call, StatusRequest):
            return await self._subagents.execute(Plan(plan.label, call), reply, ctx)
        ended = call.kill and await self._shells.kill(call.shell_id, known=True)
        wait = 0 if call.kill else call.wait
        info, taken = await self._shells.read(call.shell_id, ctx.root_id, wait)
        state = describe_shell(info)
        if call.kill and not ended:
            state = f"It was no longer running: {state}"
        left = (LEFTOVERS,) if self._shells.has_leftovers(info.id) else ()
        return Result(
            shell_output(taken, (state, *left, *self._shells.end_notes(info.id))),
            blocks=(shell_block(info.command, taken.text, info.exit_code),),
            facts=(info.state,),
        )


def _is_subagent(given: str) -> bool:
    return given.strip().startswith("ses_")
