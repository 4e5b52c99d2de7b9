"""The ``edit`` tool: replace one part of a file's text."""

from agent.records.requests import PermissionReply
from agent.tools.core.base import Plan, Result, ToolContext, ToolSpec
from agent.tools.files.replacements import (
    EditPlan,
    FileArg,
    ReplacementArg,
    execute_edits,
    prepare_edits,
)


class EditArgs(ReplacementArg, FileArg):
    """Arguments of ``edit``."""


class EditTool:
    """Edits a part of a file."""

    spec = ToolSpec(
        name="edit", verb="Edit", aliases=("edit_file", "str_replace", "replace", "search_replace")
    )
    args = EditArgs

    def concurrency_safe(self, args: EditArgs) -> bool:
        _ = args
        return False

    async def prepare(self, args: EditArgs, ctx: ToolContext) -> Plan[EditPlan]:
        payload = await prepare_edits(args.file_path, (args,), ctx)
        return payload.change.to_plan("Edit", payload)

    async def execute(
        self, plan: Plan[EditPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        return await execute_edits(plan.payload, reply, ctx)
