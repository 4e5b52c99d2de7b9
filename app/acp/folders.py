"""The folders that clients work in: each is opened once."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from agent.files import Editor
from agent.process import Terminals
from agent.records.errors import ConfigError
from agent.records.json import Json, JsonObject
from agent.runtime.runtime import Runtime, open_runtime

McpServers = Sequence[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]


class Folders:
    """Runtimes by folder and by the MCP servers that the client brings along. *editor* is the
    client's files and *terminals* where its commands run, None until it has offered them."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.editor: Editor | None = None
        self.terminals: Terminals | None = None
        self._env = env
        self._opened: dict[tuple[str, str], Runtime] = {}
        self._opening = asyncio.Lock()

    async def open(self, cwd: str, servers: McpServers | None = None) -> Runtime:
        """The runtime of *cwd*. Raises ``ConfigError`` for what is no absolute folder, and what
        ``open_runtime`` raises."""
        path = Path(cwd)
        if not path.is_absolute():
            raise ConfigError(f"The folder {cwd} is not absolute: name it in full.")
        given: dict[str, Json] = {}
        for server in servers or ():
            given |= _setting(server)
        key = (_real(path), json.dumps(given, sort_keys=True))
        async with self._opening:
            if key not in self._opened:
                overrides: dict[str, Json] = {"mcp": given} if given else {}
                runtime = await open_runtime(
                    path,
                    env=self._env,
                    overrides=overrides,
                    editor=self.editor,
                    terminals=self.terminals,
                )
                runtime.mcp.start()
                self._opened[key] = runtime
            return self._opened[key]

    async def anywhere(self, cwd: str | None) -> Runtime:
        """A runtime that can look into the store: of *cwd*, of any folder, or of this one."""
        if cwd is not None or not self._opened:
            return await self.open(cwd if cwd is not None else str(Path.cwd()))
        return next(iter(self._opened.values()))

    async def close(self) -> None:
        """End what runs in all of them."""
        async with self._opening:
            await asyncio.gather(*(runtime.close() for runtime in self._opened.values()))
            self._opened.clear()


def _real(path: Path) -> str:
    return os.path.realpath(path)


def _setting(server: HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio) -> JsonObject:
    """A server as the settings have it; {} for a kind that was not offered to the client."""
    match server:
        case McpServerStdio():
            environment: JsonObject = {each.name: each.value for each in server.env}
            command: list[Json] = [server.command, *server.args]
            return {server.name: {"type": "local", "command": command, "environment": environment}}
        case HttpMcpServer() | SseMcpServer():
            headers: JsonObject = {each.name: each.value for each in server.headers}
            return {server.name: {"type": "remote", "url": server.url, "headers": headers}}
        case _:
            return {}
