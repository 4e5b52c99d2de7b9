"""The ``bash_kill`` tool: end a background shell."""

from pydantic import AliasChoices, Field

from agent.records.blocks import ToolLabel
from agent.records.requests import PermissionReply
from agent.tools.core.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.shell.results import describe_shell, shell_block, shell_output
from agent.tools.shell.shells import Shells


class BashKillArgs(ToolArgs):
    """Arguments of ``bash_kill``."""

    id: str = Field(
        validation_alias=AliasChoices("id", "shell_id", "bash_id"),
        description="The id that bash gave for the background command",
    )


class BashKillTool:
    """Ends one of *shells*."""

    spec = ToolSpec(
        name="bash_kill", verb="Kill", aliases=("kill_shell", "kill_bash"), kept_end="tail"
    )
    args = BashKillArgs

    def __init__(self, shells: Shells) -> None:
        self._shells = shells

    def concurrency_safe(self, args: BashKillArgs) -> bool:
        _ = args
        return False

    async def prepare(self, args: BashKillArgs, ctx: ToolContext) -> Plan[str]:
        info, _ = self._shells.get(args.id, ctx.root_id)
        return Plan(
            label=ToolLabel("Kill", info.id, info.command.partition("\n")[0]), payload=info.id
        )

    async def execute(
        self, plan: Plan[str], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply
        ended = await self._shells.kill(plan.payload)
        info, taken = await self._shells.read(plan.payload, ctx.root_id, 0)
        note = describe_shell(info) if ended else f"It did not run any more: {describe_shell(info)}"
        return Result(
            shell_output(taken, (note,)),
            blocks=(shell_block(info.command, taken.text, info.exit_code),),
            facts=(info.state,),
        )
