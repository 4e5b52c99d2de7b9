"""Editors that drive the full screen over the server that ``--port`` starts."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from tests.app.conftest import Running, Starter
from tests.support.model_server import ModelServer
from tests.support.script import Call, Finish, Text, answer

PASSWORD = "of-the-tests"
ENV = {"OPENCODE_SERVER_PASSWORD": PASSWORD}


@asynccontextmanager
async def editor(running: Running) -> AsyncIterator[httpx2.AsyncClient]:
    remote = running.app.controller.remote
    await running.until(lambda: bool(remote.address))
    headers = {"authorization": f"Bearer {PASSWORD}"}
    async with httpx2.AsyncClient(base_url=remote.address, headers=headers) as client:
        yield client


async def tui(client: httpx2.AsyncClient, path: str, **body: str) -> None:
    assert (await client.post(f"/tui/{path}", json=body)).json() is True


async def test_an_editor_fills_in_and_sends_the_prompt(
    start: Starter, scripted: ModelServer
) -> None:
    scripted.script(answer(Text("Hello editor."), Finish("end")))
    async with start(port=0, env=ENV) as running, editor(running) as client:
        await tui(client, "append-prompt", text="hi ")
        await tui(client, "append-prompt", text="there")
        await running.until(lambda: running.prompt == "hi there")
        await tui(client, "submit-prompt")
        await running.until_shown("Hello editor.")
        await running.until_idle()
        assert running.prompt == ""
        (session,) = (await client.get("/session")).json()
        messages = (await client.get(f"/session/{session['id']}/message")).json()
        assert messages[0]["parts"][0]["text"] == "hi there"


async def test_an_answer_of_an_editor_closes_the_dialog(
    start: Starter, scripted: ModelServer
) -> None:
    scripted.script(
        answer(Call("write", {"file_path": "a.txt", "content": "x\n"}), Finish("calls")),
        answer(Text("Done."), Finish("end")),
    )
    async with start(port=0, env=ENV) as running, editor(running) as client:
        await running.type("go", "enter")
        await running.until_shown("reject")
        (asked,) = (await client.get("/permission")).json()
        reply = await client.post(f"/permission/{asked['id']}/reply", json={"reply": "once"})
        assert reply.status_code == 200
        await running.until_shown("Done.")
        await running.until_idle()
        assert running.app.controller.on_main_screen()


async def test_an_editor_runs_commands_and_clears_the_prompt(
    start: Starter, scripted: ModelServer
) -> None:
    async with start(port=0, env=ENV) as running, editor(running) as client:
        await tui(client, "append-prompt", text="hi")
        await tui(client, "clear-prompt")
        await running.until(lambda: running.prompt == "")
        await tui(client, "open-help")
        await running.until(lambda: not running.app.controller.on_main_screen())


async def test_an_editor_plugin_publishes_events(start: Starter, scripted: ModelServer) -> None:
    """opencode.nvim finds the server by its health, then publishes events of the full screen."""
    scripted.script(
        answer(Text("First answer."), Finish("end")), answer(Text("Second answer."), Finish("end"))
    )
    accepted = [("accept", "application/json"), ("accept", "text/event-stream")]
    async with start(port=0, env=ENV) as running, editor(running) as client:
        client.headers = httpx2.Headers([*client.headers.multi_items(), *accepted])
        assert (await client.get("/global/health")).json()["healthy"] is True
        assert (await client.get("/path")).json()["directory"] == str(running.runtime.directory)
        agents = (await client.get("/agent")).json()
        assert "general" in {one["name"] for one in agents if one["mode"] == "subagent"}

        async def publish(kind: str, **properties: str) -> None:
            sent = await client.post("/tui/publish", json={"type": kind, "properties": properties})
            assert sent.json() is True

        async def run(command: str) -> None:
            await publish("tui.command.execute", command=command)

        await publish("tui.prompt.append", text="one")
        await run("prompt.submit")
        await running.until_shown("First answer.")
        await running.until_idle()
        first = running.app.controller.live.session
        assert first is not None
        await run("session.new")
        await running.until(lambda: running.app.controller.live.session is None)
        await publish("tui.prompt.append", text="two")
        await run("prompt.submit")
        await running.until_shown("Second answer.")
        await running.until_idle()
        await tui(client, "select-session", sessionID=first.id)
        await running.until_shown("First answer.")
        await run("session.undo")
        await running.until(lambda: not running.app.controller.on_main_screen())
        await running.pilot.press("escape")
        await run("session.share")
        await running.until_shown("wants to share the session")
        await run("hologram.show")
        await running.until_shown("asked for the command hologram.show")


async def test_a_port_in_use_is_reported(start: Starter, scripted: ModelServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with start(port=port, env=ENV) as running:
            await running.until(lambda: f"127.0.0.1:{port}" in running.text())
