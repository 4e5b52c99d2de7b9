"""Clients that cannot answer: nothing waits for an answer that cannot come."""

import asyncio
import json
import re
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from acp.schema import ClientCapabilities, FileSystemCapabilities, ReadTextFileResponse

from agent.records.json import Json
from tests.agent.mcp.mcp_harness import SERVERS
from tests.app.acp.conftest import Editor, Home
from tests.app.acp.raw_client import Bare
from tests.support.harness import GUARD
from tests.support.script import Call, Hold, Text, answer
from tests.support.subagents import Script, task

TOUCH = Call("bash", {"command": "touch made"})
ASKS = Call("question", {"questions": [{"question": "Which?", "options": [{"label": "left"}]}]})
PERMISSION = "session/request_permission"


async def request(bare: Bare, method: str) -> Any:
    """Return the agent's next request of the client."""
    assert bare.process.stdout is not None
    while True:
        line = await asyncio.wait_for(bare.process.stdout.readline(), GUARD)
        assert line, "the agent ended"
        message = json.loads(line)
        if message.get("method") == method:
            return message


def results(home: Home) -> str:
    messages = home.server.requests[-1].body["messages"]
    return str([m["content"] for m in messages if m["role"] == "tool"])


@pytest.mark.parametrize(
    "reply",
    [
        {"result": None},
        {"result": {}},
        {"result": "once"},
        {"result": {"outcome": {"outcome": "selected"}}},
        {"result": {"outcome": {"outcome": "unknown", "optionId": "once"}}},
        {"error": {}},
        {},
    ],
)
async def test_an_answer_that_is_none_is_a_refusal(home: Home, reply: dict[str, Json]) -> None:
    bare = await Bare.start(home)
    session = await bare.session(home)
    home.server.script(answer(TOUCH), answer(ASKS), answer(Text("left out")))
    bare.prompt(session, "go")
    for _ in range(2):
        asked = await request(bare, PERMISSION)
        bare.write({"jsonrpc": "2.0", "id": asked["id"], **reply})
    assert (await bare.until(3))["result"]["stopReason"] == "end_turn"
    assert "could not ask the user" in results(home)
    assert "The editor cannot show this question" in results(home)
    assert not (home.project / "made").exists()
    bare.process.terminate()
    await bare.ended()


@pytest.mark.parametrize("call", [TOUCH, ASKS])
async def test_a_client_that_ends_with_an_open_dialog_ends_the_agent(
    home: Home, call: Call
) -> None:
    bare = await Bare.start(home)
    session = await bare.session(home)
    home.server.script(answer(call))
    bare.prompt(session, "go")
    await request(bare, PERMISSION)
    assert bare.process.stdin is not None
    bare.process.stdin.close()
    assert await bare.ended() == (0, "")


async def test_a_client_that_no_longer_reads_ends_the_agent(home: Home) -> None:
    bare = await Bare.start(home)
    session = await bare.session(home)
    hold = Hold()
    home.server.script(answer(Text("half"), hold, TOUCH))
    bare.prompt(session, "go")
    await asyncio.wait_for(hold.reached.wait(), GUARD)
    output = bare.process._transport.get_pipe_transport(1)  # to close it alone
    output.close()
    hold.gate.set()
    assert await asyncio.wait_for(bare.process.wait(), GUARD) == 0


async def test_a_prompt_is_answered_when_its_session_is_closed_or_loaded_again(home: Home) -> None:
    async with home.desk() as desk:
        opened = await desk.new()
        for end in ("close", "load"):
            desk.server.script(answer(TOUCH))
            asking = asyncio.create_task(desk.prompt(opened.session_id, "go"))
            await asyncio.wait_for(desk.editor.open_dialogs.wait(), GUARD)
            desk.editor.open_dialogs.clear()
            where = {"cwd": str(home.project), "session_id": opened.session_id, "mcp_servers": []}
            if end == "close":
                await desk.agent.close_session(session_id=opened.session_id)
            else:
                await desk.agent.load_session(**where)
            done = await asyncio.wait_for(asking, GUARD)
            assert done.stop_reason == "cancelled"
            await desk.agent.load_session(**where)


async def test_a_sub_agents_session_asks_where_it_is_open(home: Home) -> None:
    async with home.desk() as desk:
        opened = await desk.new()
        desk.server.script(answer(task("look")), answer(Text("seen")), answer(Text("done")))
        await desk.prompt(opened.session_id, "go")
        found = await desk.agent.list_sessions(cwd=str(home.project))
        assert [each.session_id for each in found.sessions] == [opened.session_id]
        await desk.agent.close_session(session_id=opened.session_id)
        child = re.findall(r"ses_\w+", results(home))[0]
        await desk.agent.load_session(cwd=str(home.project), session_id=child, mcp_servers=[])
        desk.editor.answers = ["once"]
        desk.server.script(answer(TOUCH), answer(Text("made it")))
        await asyncio.wait_for(desk.prompt(child, "make it"), GUARD)
        assert (home.project / "made").exists()


@dataclass
class Slow(Editor):
    """A client whose user never approves a change of a file."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def read_text_file(self, path: str, **_: Any) -> ReadTextFileResponse:
        return ReadTextFileResponse(content="x = 1\n")

    async def write_text_file(self, **_: Any) -> None:
        self.asked.set()
        await asyncio.get_running_loop().create_future()


async def test_a_change_that_the_editor_never_approves_can_be_cancelled(home: Home) -> None:
    (home.project / "x.py").write_text("x = 1\n")
    home.settings(permission={"edit": "allow"})
    client = Slow()
    files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
    async with home.desk(client, ClientCapabilities(fs=files)) as desk:
        opened = await desk.new()
        desk.server.script(answer(Call("write", {"file_path": "y.py", "content": "y = 1\n"})))
        asking = asyncio.create_task(desk.prompt(opened.session_id, "go"))
        await asyncio.wait_for(client.asked.wait(), GUARD)
        await desk.agent.cancel(session_id=opened.session_id)
        assert (await asyncio.wait_for(asking, GUARD)).stop_reason == "cancelled"


async def test_a_servers_form_is_declined_without_forms_of_the_client(home: Home) -> None:
    server = {"type": "local", "command": [sys.executable, str(SERVERS / "raw.py"), "asks"]}
    home.settings(mcp={"asks": server}, permission={"asks_*": "allow"})
    async with home.desk() as desk:
        opened = await desk.new()
        desk.server.script(answer(Call("asks_good", {})), answer(Text("done")))
        desk.editor.answers = ["0"]  # the first field has choices, the next wants a number
        await asyncio.wait_for(desk.prompt(opened.session_id, "go"), GUARD)
        assert "decline" in results(home)


async def test_a_background_sub_agent_is_asked_about_after_the_model_stopped(home: Home) -> None:
    async with home.desk() as desk:
        opened = await desk.new()
        script = Script(
            answer(task("look", background=True)),
            answer(Text("it works on")),
            answer(Text("it could not")),
            look=[answer(TOUCH), answer(Text("refused"))],
        )
        desk.server.always(script)
        desk.editor.answers = [""]
        done = await asyncio.wait_for(desk.prompt(opened.session_id, "go"), GUARD)
        assert done.stop_reason in {"end_turn", "refusal"}
        assert not (home.project / "made").exists()
