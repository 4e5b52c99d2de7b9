"""A client of the agent process that sends raw lines."""

import asyncio
import json
from typing import Any

from tests.app.acp.conftest import LAUNCHER, Home
from tests.support.harness import GUARD

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


class Bare:
    """An agent process that is sent raw lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[Any] = []

    @classmethod
    async def start(cls, home: Home) -> "Bare":
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *LAUNCHER, cwd=home.project, env=home.env, stdin=pipe, stdout=pipe, stderr=pipe
        )
        return cls(process)

    def write(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for message in messages:
            text = message if isinstance(message, str) else json.dumps(message)
            self.process.stdin.write(text.encode() + b"\n")

    async def until(self, message_id: int | None) -> Any:
        """The answer to a message; every line on the way must be the protocol's."""
        assert self.process.stdout is not None
        while True:
            line = await asyncio.wait_for(self.process.stdout.readline(), GUARD)
            assert line, "the agent ended"
            self.lines.append(json.loads(line))
            last = self.lines[-1]
            assert last["jsonrpc"] == "2.0"
            if "method" not in last and last.get("id") == message_id:
                return last

    async def session(self, home: Home) -> str:
        cwd = {"cwd": str(home.project), "mcpServers": []}
        self.write(HELLO, {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": cwd})
        return (await self.until(2))["result"]["sessionId"]

    def prompt(self, session_id: str, text: str) -> None:
        blocks = [{"type": "text", "text": text}]
        given = {"sessionId": session_id, "prompt": blocks}
        self.write({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": given})

    async def ended(self) -> tuple[int, str]:
        _, err = await asyncio.wait_for(self.process.communicate(), GUARD)
        assert self.process.returncode is not None
        return self.process.returncode, err.decode()
