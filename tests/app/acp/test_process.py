"""The process of ``opencode-py acp``: its streams, its end, and invalid messages."""

import asyncio
import json
import signal
from typing import Any

import pytest

from tests.app.acp.conftest import LAUNCHER, Home
from tests.support.harness import GUARD
from tests.support.script import Call, Hold, Text, answer

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


async def test_invalid_messages_get_an_error_and_are_survived(home: Home) -> None:
    bare = await Bare.start(home)
    bare.write("{not json", "")
    assert (await bare.until(None))["error"]["code"] == -32700
    bare.write("[1, 2]", '"text"')
    assert (await bare.until(None))["error"]["code"] == -32600
    bare.write({"jsonrpc": "2.0", "id": 7, "method": "session/dance", "params": {}})
    assert (await bare.until(7))["error"]["code"] == -32601
    bare.write({"jsonrpc": "2.0", "id": 8, "method": "session/new", "params": {"cwd": 5}})
    assert (await bare.until(8))["error"]["code"] == -32602
    bare.write(HELLO)
    assert (await bare.until(1))["result"]["protocolVersion"] == 1
    assert bare.process.stdin is not None
    bare.process.stdin.close()
    assert await bare.ended() == (0, "")


async def test_output_of_a_command_does_not_reach_the_protocol(home: Home) -> None:
    home.settings(permission={"bash": "allow"})
    bare = await Bare.start(home)
    session = await bare.session(home)
    noise = "echo to stdout; echo to stderr >&2; cat"
    home.server.script(answer(Call("bash", {"command": noise})), answer(Text("done")))
    bare.prompt(session, "go")
    assert (await bare.until(3))["result"]["stopReason"] == "end_turn"
    bare.process.terminate()
    await bare.ended()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (None, 0)]
)
async def test_it_exits_cleanly_in_the_middle_of_a_turn(
    home: Home, number: signal.Signals | None, code: int
) -> None:
    bare = await Bare.start(home)
    session = await bare.session(home)
    hold = Hold()
    home.server.script(answer(Text("half"), hold))
    bare.prompt(session, "go")
    await asyncio.wait_for(hold.reached.wait(), GUARD)
    if number is None:
        assert bare.process.stdin is not None
        bare.process.stdin.close()
    else:
        bare.process.send_signal(number)
    assert await bare.ended() == (code, "")
    async with home.desk() as desk:
        await desk.agent.load_session(cwd=str(home.project), session_id=session, mcp_servers=[])
        assert desk.editor.text("user_message_chunk") == "go"
        assert desk.editor.text() == "half"


async def test_the_commands_follow_the_response_that_names_their_session(home: Home) -> None:
    bare = await Bare.start(home)
    session = await bare.session(home)
    assert all("method" not in line for line in bare.lines)
    assert bare.process.stdout is not None
    result = json.loads(await asyncio.wait_for(bare.process.stdout.readline(), GUARD))
    assert result["params"]["sessionId"] == session
    assert result["params"]["update"]["sessionUpdate"] == "available_commands_update"
    bare.process.terminate()
    await bare.ended()
