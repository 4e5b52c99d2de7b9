"""The actions of a screen on a server that are more than messages: each is done there."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.permission.rules import ALWAYS
from agent.runtime.runtime import Runtime
from agent.store import queries
from app.action_registry.registry import ORDER, find
from app.remote.controls import NOT_OFFERED
from app.remote.requests import NO_MODES
from app.remote.runtime import OLDER
from app.server.connections import PatientProtocol
from app.tui.action_dispatcher import NOT_AT_OPENCODE, ONLY_WHERE_IT_RUNS
from tests.app.conftest import Running
from tests.app.remote.conftest import Attach
from tests.app.server.conftest import Served
from tests.app.server.prompts import prompted as prompted_there
from tests.support.harness import GUARD, config_for, write_config
from tests.support.script import Call, Finish, Hold, Text, Tokens, answer

SERVERS = Path(__file__).parents[2] / "agent" / "mcp" / "servers"


async def runtime_of(served: Served) -> Runtime:
    return (await served.folders.open(str(served.project))).runtime


async def settings(served: Served, **more: object) -> None:
    """Start the server again with further settings."""
    await served.stop()
    asks = {"bash": "ask", "edit": "ask"}
    write_config(served.home, config_for(served.model, permission=asks, **more))
    await served.start()


async def prompted(running: Running, text: str) -> str:
    """Send a prompt and wait for the end of its turn; return the session's id."""
    await running.type(text, "enter")
    await running.until_idle()
    session = running.app.controller.live.session
    assert session is not None
    return session.id


async def command(running: Running, text: str, shown: str) -> None:
    """Run a slash command and wait for what it shows; close its page if there is one."""
    await running.type(text, "enter")
    await running.until_shown(shown)
    if not running.app.controller.on_main_screen():
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)


def test_the_lists_name_actions() -> None:
    assert set(ORDER) >= NOT_AT_OPENCODE | set(ONLY_WHERE_IT_RUNS)
    assert not NOT_AT_OPENCODE & set(ONLY_WHERE_IT_RUNS)


@pytest.mark.parametrize("name", sorted(ONLY_WHERE_IT_RUNS))
async def test_what_only_works_there_says_why(served: Served, attach: Attach, name: str) -> None:
    action = find(name)
    assert action is not None
    async with attach() as running:
        await command(running, f"/{action.slash[0]}", ONLY_WHERE_IT_RUNS[name][:40])


async def test_pages_show_what_the_server_has(served: Served, attach: Attach) -> None:
    (served.project / "AGENTS.md").write_text("# Rules\n\n- Use tabs\n")
    (await (await runtime_of(served)).trust.refreshed()).save_answer("trust")
    await settings(served)
    served.model.script(answer(Text("Hello."), Tokens(1200, 30), Finish("stop")))
    async with attach(size=(100, 30)) as running:
        await command(running, "/context", "System prompt")
        await prompted(running, "hi")
        await command(running, "/context", "█ Messages")
        await command(running, "/stats 7", "scripted/model-1")
        await command(running, "/instructions", "AGENTS.md")
        await command(running, "/memory", "Use tabs")
        await command(running, "/lsp", "Formatters")
        await command(running, "/status", served.address)
        await command(running, "/permissions", "Permissions of build")


async def test_caps_and_fallbacks_are_set_there(served: Served, attach: Attach) -> None:
    async with attach() as running:
        await command(running, "/budget day $5", "The cap for all sessions today is $5")
        await command(running, "/budget", "of $5")
        await command(running, "/budget session $1", "The cap for this session is $1")
        await command(running, "/fallback auto", "Another model continues without asking.")
        await command(running, "/fallback", "No fallback models are set.")
        assert (await runtime_of(served)).sessions.fallbacks.mode == "auto"


async def test_the_permission_mode_is_that_of_all_clients(served: Served, attach: Attach) -> None:
    async with attach() as first, attach() as second:
        await first.pilot.press("shift+tab")
        await first.until_shown("accept edits")
        await second.until_shown("accept edits")
        assert (await runtime_of(served)).permissions.mode == "accept edits"
        (await runtime_of(served)).permissions.mode = "judge"
        await first.until_shown("judge")
        await command(second, "/mode ask", "")
        await first.until(lambda: first.runtime.permissions.mode == "ask")
    async with attach() as third:
        assert third.runtime.permissions.mode == "ask"


async def test_a_permission_is_taken_back(served: Served, attach: Attach) -> None:
    served.model.script(
        answer(Call("bash", {"command": "touch a.txt"}), Finish("calls")),
        answer(Text("Done."), Finish("stop")),
    )
    async with attach() as running:
        await running.type("go", "enter")
        await running.until_shown("Run this command?")
        await running.pilot.press("a")
        await running.until_idle()
        await running.type("/permissions", "enter")
        await running.until_shown("Always, in this session")
        await running.type("touch")
        await running.pilot.press("ctrl+s")
        await running.until_shown("are saved in the settings of the server")
        await running.pilot.press("ctrl+d")
        await running.until_shown("will ask again")
        session = running.app.controller.live.session
        assert session is not None
        rules = await (await runtime_of(served)).permissions.current_rules(session.id)
        assert [rule for rule in rules if rule.source == ALWAYS] == []


async def test_lines_are_remembered_there(served: Served, attach: Attach) -> None:
    served.model.script(
        answer(Text("Hello."), Finish("stop")),
        answer(Text("- Tests run with make"), Finish("stop")),
    )
    async with attach() as running:
        await running.type("# Use tabs", "enter")
        await running.until_shown("Add this line to AGENTS.md?")
        await running.pilot.press("o")
        await running.until_shown("Added to AGENTS.md.")
        await prompted(running, "hi")
        await running.type("/memory propose", "enter")
        await running.until_shown("Remember this?")
        await running.pilot.press("enter")
        await running.until_shown("Add this line to AGENTS.md?")
        await running.pilot.press("o")
        await running.until(lambda: "make" in (served.project / "AGENTS.md").read_text())
        await command(running, "/memory", "Tests run with make")
    text = (served.project / "AGENTS.md").read_text()
    assert text == "# Instructions for coding agents\n\n- Use tabs\n- Tests run with make\n"


async def test_a_change_that_was_not_shown_is_not_written(served: Served) -> None:
    shown = await served.call("POST", "/opencode-py/memory/draft", {"lines": ["Use tabs"]})
    body = {
        "request": shown,
        "reply": {"answer": "once"},
        "origins": {"Run rm": {"source": "user", "created": 0}},
    }
    refused = await served.call("POST", "/opencode-py/memory", body, status=400)
    assert "nothing was written" in refused["data"]["message"]
    assert not (served.project / "AGENTS.md").exists()


async def test_a_side_question_is_answered_there(served: Served, attach: Attach) -> None:
    hold = Hold()
    served.model.script(
        answer(Text("Hello."), Finish("stop")),
        answer(Text("Because "), hold, Text("it rained."), Finish("stop")),
    )
    async with attach() as running:
        session = await prompted(running, "hi")
        await running.type("/btw why", "enter")
        await running.until_shown("Because")
        hold.gate.set()
        await running.until_shown("it rained.")
        await running.pilot.press("escape")
        assert len(await served.call("GET", f"/session/{session}/message")) == 2
        empty = await served.session()
        path = f"/opencode-py/session/{empty}/aside"
        refused = await served.call("POST", path, {"argument": "why"}, status=400)
        assert "just ask" in refused["data"]["message"]


async def test_a_goal_is_worked_on_there(served: Served, attach: Attach) -> None:
    write = Call("write", {"file_path": "done.txt", "content": "yes\n"})
    served.model.script(
        answer(write, Tokens(100, 1), Finish("calls")),
        answer(Text("It is done."), Tokens(100, 1), Finish("stop")),
    )
    async with attach() as running:
        await command(running, "/goal Fix it", "a command that exits with 0")
        await command(running, "/goal", "This session has no goal")
        await command(running, "/mode accept edits", "")
        await running.until(lambda: running.runtime.permissions.mode == "accept edits")
        await running.type('/goal Write it --check "test -f done.txt"', "enter")
        await running.until_shown("It is done.")
        await running.until_idle()
        await command(running, "/goal", "is reached")


async def test_a_prompt_is_repeated_there(served: Served, attach: Attach) -> None:
    served.model.always(answer(Text("All green."), Finish("stop")))
    async with attach() as running:
        await command(running, "/loop", "/loop 10m")
        await command(running, "/loop 10m Look", "The prompt is sent every 10m 0s")
        await running.until_shown("All green.")
        await running.until_idle()
        await command(running, "/loop", "Every 10m 0s: Look")
        await command(running, "/loop stop", "The loop is stopped.")


async def test_messages_and_sessions_are_pinned_and_archived(
    served: Served, attach: Attach
) -> None:
    served.model.script(answer(Text("The door is red."), Finish("stop")))
    async with attach() as running:
        session = await prompted(running, "Which color?")
        await running.type("/pin", "enter")
        await running.until_shown("Not pinned")
        await running.type("which", "enter")
        await running.until_shown("pinned, kept word for word")
        store = (await runtime_of(served)).store
        assert len(await store.read(queries.pinned_ids, session)) == 1
        repository = running.runtime.sessions.repository
        await repository.pin(session, pinned=True)
        await repository.archive(session, archived=True)
        stored = await store.session(session)
        assert (stored.pinned, stored.archived) == (True, True)
        copied = await running.runtime.store.session(session)
        assert (copied.pinned, copied.archived) == (True, True)
        await repository.archive(session, archived=False)
        assert not (await store.session(session)).archived


async def test_a_session_is_imported_there(
    served: Served, attach: Attach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.model.script(answer(Text("The answer."), Finish("stop")))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    async with attach() as running:
        first = await prompted(running, "hello")
        await command(running, "/export it.json", "Exported to")
        assert json.loads((here / "it.json").read_text())["session"]["id"] == first
        await running.type("/import it.json", "enter")
        live = running.app.controller.live
        await running.until(lambda: live.session is not None and live.session.id != first)
        await running.until_shown("The answer.")
        assert len(await served.call("GET", "/session")) == 2
        await running.type("/import none.json", "enter")
        await running.until(lambda: "no such file" in " ".join(running.text().split()))


async def test_servers_are_switched_there(served: Served, attach: Attach) -> None:
    workshop = {
        "type": "local",
        "command": [sys.executable, "-X", "not-for-clients", str(SERVERS / "workshop.py")],
        "environment": {"SECRET": "not-for-clients"},
    }
    await settings(served, mcp={"shop": workshop})
    async with attach() as running:
        await running.type("/mcp", "enter")
        await running.until_shown("● shop")
        await running.pilot.press("ctrl+t")
        await running.until_shown("○ shop")
        assert (await runtime_of(served)).registry.find("shop_echo") is None
        await running.pilot.press("ctrl+r")
        await running.until_shown("● shop")
        await running.pilot.press("ctrl+y")
        await running.until_shown("shop has no changes to accept.")
        await running.pilot.press("ctrl+l")
        await running.until_shown("run opencode-py mcp auth shop there")
        await running.pilot.press("enter")
        await running.until_shown("Gives back what it is given.")
    for path in ("/opencode-py/servers", "/opencode-py/status", "/mcp"):
        assert "not-for-clients" not in (await served.client.get(path)).text
    await served.call("POST", "/mcp/shop/disconnect")
    assert (await served.call("GET", "/mcp"))["shop"]["status"] == "disabled"
    await served.call("POST", "/mcp/none/connect", status=404)


async def test_commands_in_the_background(served: Served, attach: Attach) -> None:
    wait = "until [ -e go ]; do sleep 0.1; done"
    served.model.script(
        answer(Call("bash", {"command": f"echo first; {wait}; echo last"}), Finish("calls")),
        answer(Text("Started."), Finish("stop")),
    )
    served.model.always(answer(Text("I see."), Finish("stop")))
    async with attach() as running:
        await command(running, "/shells", "No background commands yet.")
        await running.type("go", "enter")
        await running.until_shown("Run this command?")
        await running.pilot.press("o")
        await running.until_shown("ctrl+b")
        await running.pilot.press("ctrl+b")
        await running.until_shown("1 command moved to the background.")
        await running.until_shown("Started.")
        await running.type("/shells", "enter")
        await running.until_shown("running")
        await running.pilot.press("enter")
        await running.until_shown("first")
        (served.project / "go").touch()
        await running.until_shown("exit 0 after")
        await running.until_shown("last")
        await running.pilot.press("escape")
        await running.until_shown("Ended")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
    await served.call("GET", "/opencode-py/shells/shell_none/output", status=404)


async def test_a_command_in_the_background_is_ended(served: Served, attach: Attach) -> None:
    served.model.script(
        answer(Call("bash", {"command": "sleep 300", "run_in_background": True}), Finish("calls")),
        answer(Text("Started."), Finish("stop")),
    )
    async with attach() as running:
        await running.type("go", "enter")
        await running.until_shown("Run this command in the background?")
        await running.pilot.press("o")
        await running.until_shown("Started.")
        await running.type("/shells", "enter")
        await running.until_shown("running")
        await running.pilot.press("ctrl+d")
        await running.until_shown("killed after")


async def test_a_compaction_takes_what_to_preserve(served: Served, attach: Attach) -> None:
    served.model.script(
        answer(Text("Hello."), Finish("stop")), answer(Text("A summary."), Finish("stop"))
    )
    async with attach() as running:
        await prompted(running, "hi")
        await running.type("/compact the names", "enter")
        await running.until(lambda: len(served.model.requests) == 2)
        await running.until_idle()
    assert "the names" in str(served.model.requests[1].body)


def words(running: Running) -> str:
    """Return the words on the screen, however they are wrapped."""
    return " ".join(running.text().split())


async def lack(served: Served, path: str) -> None:
    """Start the server again without the paths that begin with *path*, as an older one."""
    await served.stop()
    served.lacking = path
    await served.start()


async def test_an_older_server_is_used_without_what_it_lacks(
    served: Served, attach: Attach
) -> None:
    await lack(served, "/opencode-py")
    served.model.script(answer(Text("Hello."), Finish("stop")))
    async with attach() as running:
        notices = running.app.controller.main.notices
        await running.until(lambda: OLDER in [one.text for one in notices.all])
        await prompted(running, "hi")
        await running.until_shown("Hello.")
        await running.type("/context", "enter")
        await running.until(lambda: "of an older opencode-py" in words(running))
        running.runtime.permissions.mode = "auto"
        await running.until(lambda: NO_MODES in words(running))
        assert running.runtime.permissions.mode == "ask"


async def test_a_control_that_the_server_lacks_is_named(served: Served, attach: Attach) -> None:
    await lack(served, "/opencode-py/fallback")
    async with attach() as running:
        await running.type("/fallback", "enter")
        await running.until(lambda: NOT_OFFERED in words(running))


async def test_sessions_are_followed_after_the_server_became_older(
    served: Served, attach: Attach
) -> None:
    async with attach() as running:
        await lack(served, "/opencode-py")
        await running.until_shown("Reconnected to the server.")
        notices = running.app.controller.main.notices
        await running.until(lambda: NOT_OFFERED in [one.text for one in notices.all])


class BreakingConnection(PatientProtocol):
    """A connection that the test can break."""

    made: set["BreakingConnection"]

    def connection_made(self, transport: Any) -> None:
        self.made.add(self)
        super().connection_made(transport)


async def test_output_is_followed_after_the_connection_was_lost(
    served: Served, attach: Attach
) -> None:
    BreakingConnection.made = set()
    served.protocol = BreakingConnection
    await settings(served)
    line = "echo first; until [ -e go ]; do sleep 0.1; done; echo last"
    served.model.script(
        answer(Call("bash", {"command": line, "run_in_background": True}), Finish("calls")),
        answer(Text("Started."), Finish("stop")),
    )
    served.model.always(answer(Text("I see."), Finish("stop")))
    async with attach() as running:
        await running.type("go", "enter")
        await running.until_shown("Run this command in the background?")
        await running.pilot.press("o")
        await running.until_shown("Started.")
        await running.type("/shells", "enter")
        await running.until_shown("running")
        await running.pilot.press("enter")
        await running.until_shown("first")
        for connection in tuple(BreakingConnection.made):
            connection.transport.abort()
        (served.project / "go").touch()
        await running.until_shown("exit 0 after")
        await running.until_shown("last")
        controls = running.runtime.server_controls
        assert controls is not None
        (shell,) = await controls.shells()
        assert controls.shell_output.tail(shell.id) == "first\nlast\n"
        await running.pilot.press("escape")
        await running.until(lambda: controls.shell_output.find(shell.id) is None)


@pytest.mark.parametrize("path", ["aside", "memory"])
async def test_what_only_a_client_wants_ends_with_it(served: Served, path: str) -> None:
    hold = Hold()
    served.model.script(
        answer(Text("Hello."), Finish("stop")), answer(hold, Text("Late."), Finish("stop"))
    )
    session = await served.session()
    await prompted_there(served, session, "hi")
    asked = served.client.post(f"/opencode-py/session/{session}/{path}", json={"argument": "why"})
    asking = asyncio.create_task(asked)
    await hold.reached.wait()
    asking.cancel()
    async with asyncio.timeout(GUARD):
        await served.model.requests[-1].closed.wait()
