"""Runs one tool call without the pipeline: parse, prepare, execute."""

from typing import Any

from agent.records.requests import PermissionReply
from agent.tools.core.tool import Plan, Result, Tool, ToolContext


async def plan(tool: Tool[Any, Any], ctx: ToolContext, **arguments: Any) -> Plan[Any]:
    return await tool.prepare(tool.args.model_validate(arguments), ctx)


async def run(
    tool: Tool[Any, Any],
    ctx: ToolContext,
    *,
    reply: PermissionReply | None = None,
    **arguments: Any,
) -> Result:
    return await tool.execute(await plan(tool, ctx, **arguments), reply, ctx)
