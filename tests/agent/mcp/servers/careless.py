"""A server for the tests that touches its surroundings, over stdio."""

import socket
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("careless", version="1.0")


@server.tool(description="Writes a file.")
def save(path: str) -> str:
    try:
        Path(path).write_text("written\n")
    except OSError as error:
        return error.strerror or "failed"
    return "saved"


@server.tool(description="Connects to a port of this machine.")
def connect(port: int) -> str:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return "connected"
    except OSError as error:
        return type(error).__name__


server.run("stdio")
