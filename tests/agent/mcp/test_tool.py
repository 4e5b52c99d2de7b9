"""Servers' tools in turns: through the registry, the pipeline and permissions."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent.config.loading import load_config
from agent.records.messages import Completed, Failed
from agent.runtime.headless import HeadlessRun
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from tests.agent.mcp.mcp_harness import SERVERS, SHOP, connected
from tests.support.harness import environment, open_harness, tool_names
from tests.support.script import Call, Text, answer

SILENT = {"type": "local", "command": [sys.executable, str(SERVERS / "raw.py"), "silent"]}


async def test_always_covers_one_tool_of_one_server(tmp_path: Path) -> None:
    async with open_harness(tmp_path, mcp={"shop": SHOP}) as harness:
        await connected(harness, "shop")
        call = Call("shop_echo", {"text": "hello"})
        harness.server.script(answer(call), answer(call), answer(Text("done")))
        session = await harness.session()
        await harness.send(session, "say hello")
        request = await harness.permission_request()
        assert request.heading == "Call echo of the MCP server shop?"
        (judged,) = request.needs
        assert judged.need.permission == "shop_echo"
        assert json.loads(judged.need.pattern) == {"text": "hello"}
        assert request.always == (("shop_echo", "*"),)
        assert "text: hello" in str(request.blocks)
        harness.answer(request, "always")
        assert (await harness.idle(session)).outcome == "completed"
        assert tool_names(harness.server.requests[0].body) >= {"shop_echo", "read"}
        states = [part.state for part in await harness.tools(session)]
        assert [s.output for s in states if isinstance(s, Completed)] == ["hello", "hello"]
        assert states[0].label.verb == "shop"
        assert (states[0].label.object, states[0].label.note) == ("echo", "text=hello")


async def test_rules_name_a_server_or_a_tool(tmp_path: Path) -> None:
    rules = {"shop_*": "allow", "shop_crash": "deny"}
    async with open_harness(tmp_path, mcp={"shop": SHOP}, permission=rules) as harness:
        await connected(harness, "shop")
        harness.server.script(
            answer(Call("shop_echo", {"text": "hello"})),
            answer(Call("shop_crash", {})),
            answer(Text("done")),
        )
        session = await harness.session()
        await harness.turn(session, "go")
        offered = tool_names(harness.server.requests[0].body)
        assert "shop_echo" in offered
        assert "shop_crash" not in offered
        first, second = [part.state for part in await harness.tools(session)]
        assert isinstance(first, Completed)
        assert isinstance(second, Failed)
        assert second.kind == "denied"


async def test_a_huge_result_is_cut_and_stored(tmp_path: Path) -> None:
    async with open_harness(
        tmp_path, mcp={"shop": SHOP}, permission={"shop_*": "allow"}
    ) as harness:
        await connected(harness, "shop")
        harness.server.script(answer(Call("shop_much", {"lines": 400_000})), answer(Text("done")))
        session = await harness.session()
        await harness.turn(session, "go")
        (state,) = [part.state for part in await harness.tools(session)]
        assert isinstance(state, Completed)
        assert len(state.output) < 60_000
        assert state.spill is not None
        spilled = await asyncio.to_thread(Path(state.spill).read_text)
        assert "line 399999" in spilled


async def test_a_server_that_hangs_delays_no_turn(tmp_path: Path) -> None:
    async with open_harness(tmp_path, mcp={"silent": SILENT, "shop": SHOP}) as harness:
        await connected(harness, "shop")
        harness.server.script(answer(Text("done")))
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        assert "shop_echo" in tool_names(harness.server.requests[0].body)
        status = harness.runtime.mcp.status("silent")
        assert status is not None
        assert status.state == "connecting"


def test_the_sdk_is_loaded_only_with_servers() -> None:
    code = (
        "import sys, agent.runtime.runtime; "
        "print([m for m in sys.modules if m.split('.')[0] in ('mcp', 'mcp_types', 'jsonschema')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_a_headless_run_waits_for_the_servers(tmp_path: Path) -> None:
    """Its only prompt has no later turn in which their tools could appear."""
    settings = {"mcp": {"shop": SHOP}, "permission": {"shop_*": "allow"}}
    async with open_harness(tmp_path, **settings) as harness:
        harness.server.script(answer(Call("shop_echo", {"text": "hi"})), answer(Text("done")))
        headless = HeadlessRun(harness.runtime)
        session = await headless.session(resume=False, session_id=None, fork=False)
        await headless.wait_for_servers()
        async for _ in headless.run(session, PromptInput(text="go")):
            pass
        assert headless.result is not None
        assert headless.result.exit_code == 0
        assert "shop_echo" in tool_names(harness.server.requests[0].body)


@pytest.mark.parametrize("trusted", [False, True])
async def test_a_projects_server_waits_for_trust(tmp_path: Path, trusted: bool) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    (folder / "opencode.json").write_text(json.dumps({"mcp": {"shop": SHOP}}))

    async def say(question: object) -> str:
        assert "workshop.py" in str(question)
        return "trust" if trusted else "refuse"

    runtime = await open_runtime(folder, env=environment(home), ask_trust=say)  # type: ignore[arg-type]
    try:
        await runtime.mcp.wait_until_tried(30)
        assert [s.state for s in runtime.mcp.statuses()] == (["connected"] if trusted else [])
    finally:
        await runtime.close()


def test_the_formats_of_other_programs_are_read(tmp_path: Path) -> None:
    servers = {
        "a": {"command": "npx", "args": ["-y", "a"], "env": {"K": "1"}},
        "b": {"type": "stdio", "command": ["b"], "disabled": True},
        "c": {"type": "http", "url": "https://c.test/mcp", "headers": {"X": "1"}},
        "d": {"type": "remote", "url": "https://d.test", "oauth": {"clientId": "i", "scope": "s"}},
        "e": {"enabled": False},
        "f": {"url": "https://f.test", "oauth": False, "timeout": 5000},
    }
    path = tmp_path / "home" / "config" / "config.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"mcp": servers}))
    loaded = load_config(tmp_path, tmp_path, environment(tmp_path / "home"))
    assert loaded.notices == ()
    mcp = loaded.config.mcp
    assert (mcp["a"].command, mcp["a"].environment) == (("npx", "-y", "a"), {"K": "1"})
    assert not mcp["b"].enabled
    assert (mcp["c"].type, mcp["c"].headers) == ("remote", {"X": "1"})
    assert mcp["d"].oauth.client_id == "i"  # type: ignore[union-attr]
    assert not mcp["e"].enabled
    assert (mcp["f"].oauth, mcp["f"].timeout) == (False, 5000)


async def test_a_server_is_one_source_in_the_context_window(tmp_path: Path) -> None:
    async with open_harness(tmp_path, mcp={"shop": SHOP}) as harness:
        await connected(harness, "shop")
        contents = await harness.runtime.context_usage.measure(None, "scripted/model-1", "build")
    names = [source.name for source in contents.in_group("tools")]
    servers = [source for source in contents.in_group("tools") if "MCP server" in source.name]
    assert [source.name.split(" (")[0] for source in servers] == ["shop"]
    assert servers[0].tokens > 0
    assert not [name for name in names if name.startswith("shop_")]
    assert "read" in names
