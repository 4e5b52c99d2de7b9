"""The ``multiedit`` tool: several replacements in one file, all or none."""

from pydantic import Field

from agent.records.requests import PermissionReply
from agent.tools.core.base import Plan, Result, ToolContext, ToolSpec
from agent.tools.files.replacements import (
    EditPlan,
    FileArg,
    ReplacementArg,
    execute_edits,
    prepare_edits,
)


class MultiEditArgs(FileArg):
    """Arguments of ``multiedit``."""

    edits: list[ReplacementArg] = Field(
        min_length=1,
        description="The replacements, made in this order, each on the result of the one before",
    )


class MultiEditTool:
    """Edits several parts of a file."""

    spec = ToolSpec(name="multiedit", verb="Edit", aliases=("multi_edit", "edit_many"))
    args = MultiEditArgs

    def concurrency_safe(self, args: MultiEditArgs) -> bool:
        _ = args
        return False

    async def prepare(self, args: MultiEditArgs, ctx: ToolContext) -> Plan[EditPlan]:
        payload = await prepare_edits(args.file_path, tuple(args.edits), ctx)
        return payload.change.to_plan("Edit", payload)

    async def execute(
        self, plan: Plan[EditPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        return await execute_edits(plan.payload, reply, ctx)
