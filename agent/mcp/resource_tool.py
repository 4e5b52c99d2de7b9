"""The ``read_mcp_resource`` tool: reads resources of connected servers."""

from collections.abc import Awaitable, Callable, Sequence

from pydantic import Field

from agent.mcp.records import Resource, ServerResponse
from agent.mcp.results import result_of
from agent.records.blocks import ToolLabel
from agent.records.errors import ToolError
from agent.records.json import JsonObject
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.core.clean_text import without_invisible
from agent.tools.core.schema import parameters

NAME = "read_mcp_resource"
MAX_LISTED = 40
"""Resources that the description names."""

ReadResource = Callable[[str, str], Awaitable[ServerResponse]]


class ResourceArgs(ToolArgs):
    """Arguments of ``read_mcp_resource``."""

    server: str = Field(min_length=1, description="The server's name")
    uri: str = Field(min_length=1, max_length=4_000, description="The resource's address")


class ResourceTool:
    """Reads one of *resources*, or another that a server accepts, through *read*."""

    spec = ToolSpec(name=NAME, verb="ReadResource")
    args = ResourceArgs

    def __init__(self, resources: Sequence[tuple[str, Resource]], read: ReadResource) -> None:
        self._read = read
        self.description = describe_resources(resources)
        self.parameters: JsonObject = parameters(ResourceArgs)

    def concurrency_safe(self, args: ResourceArgs) -> bool:
        _ = args
        return True

    async def prepare(self, args: ResourceArgs, ctx: ToolContext) -> Plan[ResourceArgs]:
        _ = ctx
        name = f"mcp:{args.server}:{args.uri}"
        need = PermissionNeed(
            "read", name, always=f"mcp:{args.server}:*", reason="read from an MCP server"
        )
        return Plan(
            label=ToolLabel("ReadResource", args.uri, args.server),
            payload=args,
            needs=(need,),
            heading=f"Read this from the MCP server {args.server}?",
        )

    async def execute(
        self, plan: Plan[ResourceArgs], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply
        answer = await self._read(plan.payload.server, plan.payload.uri)
        if not answer.content:
            raise ToolError(f"{plan.payload.uri} is empty, or there is no such resource.")
        return result_of(answer, ctx)


def describe_resources(resources: Sequence[tuple[str, Resource]]) -> str:
    """Return the tool's description, which lists the resources."""
    lines = [
        f"- {server} {without_invisible(one.uri)}: {without_invisible(one.name)}"
        for server, one in resources[:MAX_LISTED]
    ]
    if len(resources) > MAX_LISTED:
        lines.append(f"- and {len(resources) - MAX_LISTED} more")
    return "\n".join(("Reads a resource of a connected MCP server. There are:", "", *lines))
