"""Servers over stdio, as real programs."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.mcp.records import Server
from agent.records.blocks import ImageBlock, TextBlock
from agent.records.errors import InvalidArguments, ToolError
from agent.tools.core.tool import Result
from tests.agent.mcp.mcp_harness import ENVIRONMENT, GUARD, context, open_mcp, raw, workshop
from tests.support.processes import living


async def test_the_tools_of_a_server_are_registered(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, workshop()) as mcp:
        status = mcp.status("shop")
        assert (status.state, status.transport) == ("connected", "stdio")
        assert status.server_info == "workshop 1.2"
        assert "shop_echo" in mcp.registry.names
        schema = next(s for s in mcp.registry.schemas() if s.name == "shop_echo")
        assert schema.description.startswith("Gives back what it is given.")
        assert schema.parameters["required"] == ["text"]
        result = await mcp.call("shop_echo", text="hello", times=2)
        assert result.output == "hello\nhello"
        assert result.blocks == (TextBlock("text: hello\ntimes: 2"), TextBlock("hello\nhello"))


async def test_a_failing_server_does_not_affect_the_others(tmp_path: Path) -> None:
    """The others work; each that fails has a reason."""
    missing = Server(name="missing", command=("no-such-program-here",), folder=tmp_path)
    nowhere = workshop("nowhere", folder=tmp_path / "nowhere")
    empty = Server(name="empty", problem="mcp.empty.command is missing.")
    off = workshop("off", enabled=False)
    silent = raw("silent", connect_timeout=0.5)
    servers = (workshop(), missing, nowhere, empty, off, silent, raw("exits"), raw("chats"))
    async with open_mcp(tmp_path, *servers, start=False) as mcp:
        mcp.service.start()
        await mcp.connected("shop", "chats")
        failed = ("missing", "nowhere", "empty", "silent", "exits")
        await mcp.until(lambda: all(mcp.status(n).state == "failed" for n in failed))
        reasons = {name: mcp.status(name).reason for name in failed}
        assert reasons["missing"] == "no-such-program-here was not found on PATH."
        assert reasons["nowhere"].startswith("There is no folder")
        assert reasons["empty"] == "mcp.empty.command is missing."
        assert reasons["silent"] == "The server was not ready within 0.5 seconds."
        assert reasons["exits"].endswith("It said: no licence found.")
        assert mcp.status("off").state == "disabled"
        assert (await mcp.call("shop_echo", text="hello")).output == "hello"
        assert mcp.registry.find("chats_good") is not None


async def test_no_process_of_a_server_is_left(tmp_path: Path) -> None:
    """Also of one that ignores the end of its input."""
    before = living()
    async with open_mcp(tmp_path, workshop(), raw("silent"), start=False) as mcp:
        mcp.service.start()
        await mcp.connected("shop")
        await mcp.until(lambda: len(living() - before) >= 2)
    assert living() <= before


async def test_a_bad_schema_excludes_one_tool_only(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, raw("schemas")) as mcp:
        names = [name for name, _ in mcp.status("schemas").tools]
        assert names == [f"schemas_{n}" for n in ("none", "ref", "any", "int", "good")]
        problems = " ".join(mcp.status("schemas").problems)
        assert "The tool later is ignored: it runs as a server-side task." in problems
        for name in ("string", "word", "alien"):
            assert f"The tool {name} is ignored: its schema cannot be used" in problems
        for schema in mcp.registry.schemas():
            assert schema.parameters["type"] == "object"
        result = await mcp.call("schemas_int", n=1)
        assert '"n": 1' in result.output


async def test_a_list_with_a_repeated_cursor_ends(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, raw("circle")) as mcp:
        assert [n for n, _ in mcp.status("circle").tools] == ["circle_good", "circle_goodagain"]
        assert "repeats its pages" in mcp.status("circle").problems[0]


async def test_a_changed_list_is_read_again(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, workshop()) as mcp:
        assert mcp.registry.find("shop_polish") is None
        await mcp.call("shop_grow")
        await mcp.until(lambda: mcp.registry.find("shop_polish") is not None)
        assert (await mcp.call("shop_polish")).output == "shiny"


async def test_results_of_every_kind(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, workshop()) as mcp:
        assert (await mcp.call("shop_nothing")).output == "(the server returned nothing)"
        assert (await mcp.call("shop_point")).output == "Resource: plan · shop://plan · The plan"
        with pytest.raises(ToolError, match="the glue is out"):
            await mcp.call("shop_fail")
        blind = await mcp.call("shop_draw")
        assert not blind.files
        assert "the current model cannot see images" in blind.output
        seen = await mcp.call_in(context(tmp_path, vision=True), "shop_draw")
        assert [file.mime for file in seen.files] == ["image/png"]
        assert [b for b in seen.blocks or () if isinstance(b, ImageBlock)]
        much = await mcp.call("shop_much", lines=50_000)
        assert much.output.endswith("line 49999")
        shown = [b.text for b in much.blocks or () if isinstance(b, TextBlock)]
        assert len(shown[-1]) < 21_000
        assert "more characters" in shown[-1]


async def test_progress_is_reported(tmp_path: Path) -> None:
    received: list[str] = []
    async with open_mcp(tmp_path, workshop()) as mcp:
        await mcp.call_in(context(tmp_path, progress=received.append), "shop_step")
    assert received == ["sawing  1 of 2", "gluing  2 of 2"]


async def test_arguments_are_checked_before_the_user_is_asked(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, workshop()) as mcp:
        tool = mcp.tool("shop_echo")
        with pytest.raises(InvalidArguments, match="'text' is a required property"):
            await tool.prepare(tool.args(), context(tmp_path))


async def answered(call: Callable[[], Awaitable[Result]]) -> str:
    """Return the output of a call, made again where a busy machine is slower than its limit."""
    async with asyncio.timeout(GUARD):
        while True:
            with contextlib.suppress(ToolError):
                return (await call()).output


async def test_a_call_without_a_response_times_out(tmp_path: Path) -> None:
    """The next call works."""
    async with open_mcp(tmp_path, workshop(idle_timeout=0.3)) as mcp:
        with pytest.raises(ToolError, match=r"sent nothing for 0\.3 seconds"):
            await mcp.call("shop_sleep")
        assert await answered(lambda: mcp.call("shop_echo", text="here")) == "here"


async def test_resources_and_prompts_without_a_response_time_out(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, raw("mute", idle_timeout=0.3)) as mcp:
        with pytest.raises(ToolError, match=r"sent nothing for 0\.3 seconds"):
            await mcp.service.read("mute", "raw://x")
        with pytest.raises(ToolError, match=r"sent nothing for 0\.3 seconds"):
            await mcp.service.prompt("mute", "x", {})
        assert "seen" in await answered(lambda: mcp.call("mute_good"))


async def test_changed_lists_that_never_come_are_reported(tmp_path: Path) -> None:
    server = raw("mute", connect_timeout=5.0)
    async with open_mcp(tmp_path, server) as mcp:
        await mcp.call("mute_good")
        await mcp.until(lambda: bool(mcp.status("mute").problems))
        assert mcp.status("mute").problems == ("It did not list its tools within 5 seconds.",)
        assert "seen" in (await mcp.call("mute_good")).output


async def test_a_cancelled_call_ends_at_once(tmp_path: Path) -> None:
    begun = asyncio.Event()
    ctx = context(tmp_path, progress=lambda _: begun.set())
    async with open_mcp(tmp_path, workshop()) as mcp:
        call = asyncio.create_task(mcp.call_in(ctx, "shop_sleep"))
        async with asyncio.timeout(GUARD):
            await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await mcp.call("shop_echo", text="here")).output == "here"


async def test_a_server_can_ask_for_the_opened_folder(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, raw("roots")) as mcp:
        received = json.loads((await mcp.call("roots_good")).output)
        assert received["roots"] == [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]


async def test_a_server_is_notified_of_a_cancelled_call(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, raw("waits")) as mcp:
        waiting = asyncio.create_task(mcp.call("waits_good", wait=True))
        await mcp.call("waits_good")  # it has read the earlier messages
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        heard: list[dict] = []
        async with asyncio.timeout(GUARD):
            while not any(one["method"] == "notifications/cancelled" for one in heard):
                heard = json.loads((await mcp.call("waits_good")).output)
        (received,) = [one for one in heard if one["method"] == "notifications/cancelled"]
        assert received["params"]["requestId"] is not None


async def test_a_server_that_crashes_is_restarted(tmp_path: Path) -> None:
    """The running call fails; the next one waits for the new process."""
    async with open_mcp(tmp_path, workshop()) as mcp:
        with pytest.raises(ToolError, match="broke during the call"):
            await mcp.call("shop_crash")
        assert (await mcp.call("shop_echo", text="again")).output == "again"
        await mcp.connected("shop")


async def test_a_failed_server_is_tried_again_on_request(tmp_path: Path) -> None:
    """After several attempts it is given up, with a reason."""
    lamp = tmp_path / "lamp"
    code = (
        f"import os, sys; os.path.exists({str(lamp)!r}) or sys.exit('dark'); "
        f"os.execv(sys.executable, [sys.executable, {workshop().command[1]!r}])"
    )
    server = workshop(command=(sys.executable, "-c", code))
    async with open_mcp(tmp_path, server) as mcp:
        await mcp.until(lambda: mcp.status("shop").state == "failed")
        assert mcp.status("shop").reason.endswith("It said: dark.")
        lamp.touch()
        await mcp.service.connect("shop")
        await mcp.connected("shop")


async def test_a_program_gets_a_minimal_environment(tmp_path: Path) -> None:
    """Harmless variables, and those that its entry names."""
    env = {**ENVIRONMENT, "SHOP_KEY": "k"}
    os.environ["PRETEND_TOKEN"] = "secret"
    try:
        async with open_mcp(tmp_path, workshop(environment={"SHOP_KEY": "k"})) as mcp:
            seen = (await mcp.call("shop_environment")).output.split()
    finally:
        del os.environ["PRETEND_TOKEN"]
    assert "SHOP_KEY" in seen
    assert "PRETEND_TOKEN" not in seen
    assert set(seen) <= {*env, "OPENCODE_PY_CALL", "LC_CTYPE", "LOGNAME", "SHELL", "TERM", "USER"}


async def test_disconnecting_a_server_removes_its_tools(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, workshop()) as mcp:
        await mcp.service.disconnect("shop")
        assert mcp.status("shop").state == "disabled"
        assert mcp.registry.names == ()
        await mcp.service.connect("shop")
        await mcp.connected("shop")
        assert "shop_echo" in mcp.registry.names


async def test_resources_and_prompts_are_read(tmp_path: Path) -> None:
    async with open_mcp(tmp_path, workshop()) as mcp:
        assert mcp.service.resource_uris() == (("shop", "shop://plan"),)
        read = await mcp.call("read_mcp_resource", server="shop", uri="shop://plan")
        assert read.output == "[shop://plan]\na bench and a lathe"
        (schema,) = mcp.registry.schemas({"read_mcp_resource"})
        assert "- shop shop://plan: plan" in schema.description
        answer = await mcp.service.read("shop", "shop://plan")
        assert answer.content[0].text == "a bench and a lathe"  # type: ignore[union-attr]
        prompt = await mcp.service.prompt("shop", "review", {"drawing": "a chair"})
        assert prompt.content[0].text == "Review a chair, and be kind."  # type: ignore[union-attr]
