"""A real server for the tests, over stdio or HTTP: ``workshop.py [http|sse PORT]``.

``WORKSHOP_WORD`` changes the description of a tool, ``WORKSHOP_SAYS`` what the server says.
"""

import asyncio
import os
import struct
import sys
import zlib

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import CallToolResult, ResourceLink, TextContent

server = MCPServer("workshop", version="1.2", instructions=os.environ.get("WORKSHOP_SAYS"))


def picture() -> bytes:
    """A PNG of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    )


@server.tool(description=os.environ.get("WORKSHOP_WORD", "Gives back what it is given."))
def echo(text: str, times: int = 1) -> str:
    return "\n".join([text] * times)


@server.tool(description="Never answers.")
async def sleep(context: Context) -> str:
    await context.report_progress(1, None, "yawning")
    await asyncio.Event().wait()
    return "awake"


@server.tool(description="Ends the program.")
def crash() -> str:
    os._exit(3)


@server.tool(description="Gives much.")
def much(lines: int) -> str:
    return "\n".join(f"line {number}" for number in range(lines))


@server.tool(description="Gives an image.")
def draw() -> Image:
    return Image(data=picture(), format="png")


@server.tool(description="Fails.")
def fail() -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="the glue is out")], is_error=True)


@server.tool(description="Names a resource.")
def point() -> CallToolResult:
    link = ResourceLink(
        type="resource_link", name="plan", uri="shop://plan", description="The plan"
    )
    return CallToolResult(content=[link])


@server.tool(description="Gives nothing.")
def nothing() -> CallToolResult:
    return CallToolResult(content=[])


@server.tool(description="Tells how far it is.")
async def step(context: Context) -> str:
    await context.report_progress(1, 2, "sawing")
    await context.report_progress(2, 2, "gluing")
    return "done"


@server.tool(description="Tells its environment.")
def environment() -> str:
    return " ".join(sorted(os.environ))


@server.tool(description="Adds a tool.")
async def grow(context: Context) -> CallToolResult:
    server.add_tool(lambda: "shiny", name="polish", description="Makes it shine.")
    await context.notify_tools_changed()
    return CallToolResult(content=[TextContent(type="text", text="grown")])


@server.resource("shop://plan", name="plan", description="The plan of the shop")
def plan() -> str:
    return "a bench and a lathe"


@server.prompt(description="Reviews a drawing.")
def review(drawing: str, tone: str = "kind") -> str:
    return f"Review {drawing}, and be {tone}."


def main(arguments: list[str]) -> None:
    if not arguments:
        sys.stderr.write("workshop is open\n")
        server.run("stdio")
        return
    kind = {"http": "streamable-http", "sse": "sse"}[arguments[0]]
    server.run(kind, host="127.0.0.1", port=int(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
