"""The process of ``opencode-py acp``: its streams, its end, and invalid messages."""

import asyncio
import json
import signal

import pytest

from tests.app.acp.conftest import Home
from tests.app.acp.raw_client import HELLO, Bare
from tests.support.harness import GUARD
from tests.support.script import Call, Hold, Text, answer


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
