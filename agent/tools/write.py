"""The ``write`` tool: write a whole file, new or existing."""

from functools import partial

from pydantic import AliasChoices, Field

from agent.records.blocks import ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.reminders import restore_reminders
from agent.records.requests import PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.files.change import Change, apply_change, plan_change
from agent.tools.files.paths import ToolPath, resolve_path
from agent.tools.files.text_file import (
    check_text,
    check_unchanged,
    load_text,
    plan_unread,
    unread_needs,
)


class WriteArgs(ToolArgs):
    """Arguments of ``write``."""

    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "filePath", "path"),
        description="The file to write; missing folders are created",
    )
    content: str = Field(description="The whole text of the file")


@frozen
class WritePlan:
    """*change* is None if the file already has the text."""

    target: ToolPath
    content: str
    change: Change | None


class WriteTool(BaseTool):
    """Writes whole files."""

    spec = ToolSpec(name="write", verb="Write", aliases=("write_file", "create_file", "create"))
    facts = ToolFacts(permission="edit", kind="edit", claude_name="Write", in_claude_settings=True)
    args = WriteArgs

    async def prepare(self, args: WriteArgs, ctx: ToolContext) -> Plan[WritePlan]:
        target = resolve_path(args.file_path, ctx)
        check_text(args.content, "content")
        change = await plan_unread(partial(_plan, target, args.content, ctx), (target,), ctx)
        payload = WritePlan(target, args.content, change)
        if change is None:
            return Plan(
                label=ToolLabel("Write", target.shown),
                payload=payload,
                needs=unread_needs((target,), ctx),  # it tells what is in the file
                heading="Read this file?",
                writes=(),
            )
        return change.to_plan("Write", payload)

    async def execute(
        self, plan: Plan[WritePlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        payload = plan.payload
        if payload.change is None:
            return Result(
                f"{payload.target.shown} already holds exactly this text; nothing was written.",
                facts=("unchanged",),
            )
        done = await apply_change(payload.change, reply, ctx)
        lines = done.text.count("\n") + (not done.text.endswith("\n") and done.text != "")
        return done.to_result(
            f"{'Created' if payload.change.creates else 'Wrote'} {payload.target.shown} "
            f"({lines:,} {'line' if lines == 1 else 'lines'}).",
            "Write",
        )


def _plan(target: ToolPath, content: str, ctx: ToolContext) -> Change | None:
    loaded = load_text(target, ctx)
    if loaded is None:
        return plan_change(target, None, content)
    known = check_unchanged(target, loaded.stamp, ctx)
    content = restore_reminders(content.removeprefix("\ufeff"), loaded.file.text)
    new = loaded.file.with_newlines(content)
    if new == loaded.file.text:
        return None
    if not known and loaded.stamp.size > 0:
        raise ToolError(
            f"{target.shown} exists and you have not read it in this session. Read it first, "
            "then write it, or use edit for a part of it. Nothing was written."
        )
    return plan_change(target, loaded, new)
