"""The ``bash_output`` tool: read the new output of a background shell."""

from dataclasses import dataclass

from pydantic import AliasChoices, Field

from agent.records.blocks import ToolLabel
from agent.records.requests import PermissionReply
from agent.tools.core.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.shell.results import describe_shell, shell_block, shell_output
from agent.tools.shell.shells import Shells

MAX_WAIT = 60_000
"""The longest time in milliseconds that one call waits for output."""


class BashOutputArgs(ToolArgs):
    """Arguments of ``bash_output``."""

    id: str = Field(
        validation_alias=AliasChoices("id", "shell_id", "bash_id"),
        description="The id that bash gave for the background command",
    )
    wait: int = Field(
        default=0,
        ge=0,
        description=f"Milliseconds to wait for new output or the end, at most {MAX_WAIT}",
    )


LEFTOVERS = "Something that it started still runs and may print more."


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """*wait* is in seconds."""

    shell_id: str
    wait: float


class BashOutputTool:
    """Reads from *shells*."""

    spec = ToolSpec(
        name="bash_output",
        verb="Output",
        aliases=("shell_output", "read_shell"),
        kept_end="tail",
        polling=True,
    )
    args = BashOutputArgs

    def __init__(self, shells: Shells) -> None:
        self._shells = shells

    def concurrency_safe(self, args: BashOutputArgs) -> bool:
        _ = args
        return True

    async def prepare(self, args: BashOutputArgs, ctx: ToolContext) -> Plan[OutputPlan]:
        info, _ = self._shells.get(args.id, ctx.root_id)
        return Plan(
            label=ToolLabel("Output", info.id, info.command.partition("\n")[0]),
            payload=OutputPlan(info.id, min(args.wait, MAX_WAIT) / 1000),
        )

    async def execute(
        self, plan: Plan[OutputPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply
        info, taken = await self._shells.read(plan.payload.shell_id, ctx.root_id, plan.payload.wait)
        left = (LEFTOVERS,) if self._shells.has_leftovers(info.id) else ()
        return Result(
            shell_output(taken, (describe_shell(info), *left)),
            blocks=(shell_block(info.command, taken.text, info.exit_code),),
            facts=(info.state,),
        )
