"""A tool whose every step a test can set."""

from collections.abc import Awaitable, Callable

from pydantic import Field

from agent.records.blocks import TextBlock, ToolLabel
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.tool import Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs


class ProbeArgs(ToolArgs):
    command: str = Field(default="go", description="What to say")


Execute = Callable[[str, ToolContext], Awaitable[Result]]


async def _say(payload: str, _: ToolContext) -> Result:
    return Result(f"said {payload}")


class ProbeTool:
    """*log* keeps what was called, in order."""

    args = ProbeArgs

    def __init__(self, execute: Execute = _say, *, needs: bool = False) -> None:
        self.spec = ToolSpec(
            name="probe", verb="Probe", aliases=("test_probe",), variables={"limit": "3"}
        )
        self.log: list[str] = []
        self._execute = execute
        self._needs = needs

    def concurrency_safe(self, args: ProbeArgs) -> bool:
        return args.command == "safe"

    async def prepare(self, args: ProbeArgs, ctx: ToolContext) -> Plan[str]:
        _ = ctx
        self.log.append(f"prepare {args.command}")
        needs = (PermissionNeed("bash", args.command, always="say *"),) if self._needs else ()
        return Plan(
            label=ToolLabel("Probe", args.command),
            payload=args.command,
            needs=needs,
            blocks=(TextBlock(args.command),),
            heading="Say this?",
        )

    async def execute(
        self, plan: Plan[str], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply
        self.log.append(f"execute {plan.payload}")
        return await self._execute(plan.payload, ctx)
