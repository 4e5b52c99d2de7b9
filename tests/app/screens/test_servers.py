"""The MCP servers: the list, the page of one server, the status line."""

import asyncio
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.mcp.records import Prompt, PromptArgument, Resource, Server, ServerStatus, ToolDefinition
from agent.records.errors import ToolError
from app.actions.custom_commands import prompt_arguments
from app.screens.servers import McpScreen, McpServerScreen, server_row, server_rows
from app.session_state.folder_facts import McpSummary, mcp_summary
from app.widgets.status import Status, status_text
from tests.agent.mcp.mcp_harness import SERVERS
from tests.app.conftest import Starter, configure
from tests.support.hosting import Host
from tests.support.model_server import ModelServer
from tests.support.script import Call, Text, answer
from tests.support.snapshots import assert_pictures

COMMAND = ("npx", "-y", "@acme/docs-mcp@1.4.0")
TOOLS = tuple(
    (f"docs_{name}", ToolDefinition(name=name, description=text))
    for name, text in (
        ("search", "Search the documentation for words or phrases."),
        ("read", "Read a page of the documentation as Markdown."),
        ("list", "List all pages with their titles."),
    )
)
STANDINGS = (
    ServerStatus(
        server=Server(name="docs", command=COMMAND),
        state="connected",
        transport="stdio",
        server_info="acme docs 1.4.0",
        tools=TOOLS,
        changed_tools=("read",),
        instructions="Search before you read a page.",
        new_instructions="Read the page on errors first.",
        prompts=(Prompt(name="review", description="Reviews a page"),),
        resources=(Resource(uri="docs://index", name="All pages"),),
        problems=(
            "The tool export is ignored: its schema cannot be used, because it is not an object.",
        ),
    ),
    ServerStatus(server=Server(name="github", url="https://api.test/mcp"), state="needs auth"),
    ServerStatus(server=Server(name="old", command=("old",)), state="disabled"),
    ServerStatus(
        server=Server(name="shop", command=("shopd",)),
        state="failed",
        reason="The program ended: exit code 1.",
        log="\x1b[31mshopd: no license file in ~/.shopd",
    ),
    ServerStatus(server=Server(name="slow", url="https://slow.test"), state="connecting"),
)


def test_rows_show_the_status_of_each_server() -> None:
    rows = [server_row(status) for status in STANDINGS]
    assert [(row.title, row.note) for row in rows] == [
        ("● docs", "3 tools, 2 changed, 1 problem"),
        ("◆ github", "needs a login"),
        ("○ old", "off"),
        ("✕ shop", "failed: The program ended: exit code 1."),
        ("◐ slow", "connecting…"),
    ]


def test_the_status_line_names_failed_servers() -> None:
    assert mcp_summary(STANDINGS) == McpSummary(4, 1, ("github", "shop"))
    assert "mcp" not in status_text(Status(), 100).plain
    assert "mcp 2" in status_text(Status(servers=McpSummary(2, 2)), 100).plain
    assert "mcp 1/2" in status_text(Status(servers=McpSummary(2, 1)), 100).plain
    assert "mcp ✕ shop" in status_text(Status(servers=McpSummary(2, 1, ("shop",))), 80).plain
    assert "mcp ✕ 2" in status_text(Status(servers=McpSummary(2, 0, ("a", "b"))), 80).plain


async def test_snapshot_of_the_list() -> None:
    host = Host(McpScreen(server_rows(STANDINGS), lambda *_: None))
    async with host.run_test() as pilot:
        await assert_pictures(pilot, "screen-mcp")


@pytest.mark.parametrize("place", [0, 3])
async def test_snapshot_of_a_server(place: int) -> None:
    host = Host(McpServerScreen(STANDINGS[place]))
    async with host.run_test() as pilot:
        await assert_pictures(pilot, f"screen-mcp-{STANDINGS[place].server.name}")


@pytest.fixture
async def model_server(folders: Mapping[str, str]):
    """A model server, and an MCP server in the settings."""
    workshop = {"type": "local", "command": [sys.executable, str(SERVERS / "workshop.py")]}
    async with ModelServer() as server:
        configure(folders, server, mcp={"shop": workshop, "gone": {"command": ["no-such-program"]}})
        yield server
    assert server.refused == []


async def test_a_server_is_switched_and_shown(start: Starter, model_server: ModelServer) -> None:
    async with start() as running:
        await running.until_shown("mcp ✕ gone")
        await running.until_shown("mcp 1/2")
        await running.type("/mcp", "enter")
        await running.until_shown("● shop")
        await running.type("shop")
        await running.pilot.press("ctrl+t")
        await running.until_shown("○ shop")
        await running.until_shown("Off until the next start")
        assert running.runtime.registry.find("shop_echo") is None
        await running.pilot.press("ctrl+r")
        await running.until_shown("● shop")
        assert running.runtime.registry.find("shop_echo") is not None
        await running.pilot.press("enter")
        await running.until(
            lambda: re.search("shop_echo +Gives back what it is given", running.text()) is not None
        )
        await running.pilot.press("escape")
        await running.until_shown("MCP servers")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)


async def test_changed_instructions_of_a_server_are_accepted(
    start: Starter, folders: Mapping[str, str], tmp_path: Path
) -> None:
    says = tmp_path / "says"
    script = f"import os, sys; os.environ['WORKSHOP_SAYS'] = open({str(says)!r}).read(); "
    script += f"sys.argv = ['x']; exec(open({str(SERVERS / 'workshop.py')!r}).read())"
    command = [sys.executable, "-c", script]
    await asyncio.to_thread(says.write_text, "Saw before you glue.")
    async with ModelServer() as server:
        configure(folders, server, mcp={"shop": {"type": "local", "command": command}})
        await accept_what_it_says(start, says)


async def accept_what_it_says(start: Starter, says: Path) -> None:
    async with start() as running:
        await running.until_shown("mcp 1")
        await running.type("/mcp", "enter")
        await running.until_shown("● shop")
        await running.pilot.press("ctrl+y")
        await running.until_shown("shop has no changes to accept.")
        await asyncio.to_thread(says.write_text, "Glue before you saw.")
        await running.pilot.press("ctrl+r")
        await running.until_shown("11 tools, 1 changed")
        await running.pilot.press("enter")
        await running.until_shown("Glue before you saw.")
        assert "changed since you accepted" in running.text()
        await running.pilot.press("escape")
        await running.until_shown("MCP servers")
        await running.pilot.press("ctrl+y")
        await running.until_shown("What shop says now is accepted.")
        await running.until(
            lambda: running.runtime.registry.server_instructions == {"shop": "Glue before you saw."}
        )


async def test_a_call_needs_permission_and_is_shown(
    start: Starter, model_server: ModelServer, work: Path
) -> None:
    text = "a [/b] \x1b[31mc"
    model_server.script(answer(Call("shop_echo", {"text": text, "times": 2})), answer(Text("done")))
    async with start(size=(80, 24)) as running:
        await running.until_shown("mcp 1/2")
        await running.type("say it", "enter")
        await running.until_shown("Call echo of the MCP server shop?")
        assert "ask   shop_echo   a tool of the MCP server shop" in running.text()
        await running.pilot.press("o")
        await running.until_shown("done")
        await running.until_idle()
        shown = running.text()
        assert "shop echo" in shown
        assert "a [/b]" in shown
        assert "\x1b" not in json.dumps(shown)


REVIEW = Prompt(
    name="review",
    arguments=(
        PromptArgument(name="drawing", required=True),
        PromptArgument(name="tone"),
    ),
)


@pytest.mark.parametrize(
    ("typed", "given"),
    [
        ("chair", {"drawing": "chair"}),
        ("chair very kind", {"drawing": "chair", "tone": "very kind"}),
        ("'a chair' kind", {"drawing": "a chair", "tone": "kind"}),
        ("tone=kind a chair", {"tone": "kind", "drawing": "a chair"}),
        ("don't", {"drawing": "don't"}),
    ],
)
def test_arguments_of_a_prompt(typed: str, given: dict[str, str]) -> None:
    assert prompt_arguments(REVIEW, typed) == given


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(ToolError, match="review also needs: drawing"):
        prompt_arguments(REVIEW, "tone=kind")


async def test_a_prompt_is_a_command_and_a_resource_is_named(
    start: Starter, model_server: ModelServer
) -> None:
    model_server.script(answer(Text("first")), answer(Text("second")))
    async with start() as running:
        await running.until_shown("mcp 1/2")
        await running.type("/shop:rev")
        await running.until_shown("Reviews a drawing.")
        running.app.controller.main.prompt.set_text("/shop:review chair stern")
        await running.pilot.press("enter")
        await running.until_shown("first")
        await running.until_idle()
        assert "Review chair, and be stern." in str(model_server.requests[0].body["messages"])
        assert "/shop:review chair stern" in running.text()
        await running.type("see @shop:")
        await running.until_shown("shop:shop://plan")
        await running.pilot.press("enter")
        await running.until(lambda: running.prompt.strip() == "see @shop:shop://plan")
        await running.pilot.press("enter")
        await running.until_shown("second")
        await running.until_idle()
        assert "a bench and a lathe" in str(model_server.requests[1].body["messages"])
