"""Tools that are offered on demand when there are many."""

import sys
from pathlib import Path

from agent.provider.client import ToolSchema
from agent.tools.tool_search import rank_tools
from tests.agent.mcp.mcp_harness import SERVERS, SHOP, connected
from tests.support.harness import open_harness, tool_names
from tests.support.script import Call, Text, answer

MANY = {"type": "local", "command": [sys.executable, str(SERVERS / "raw.py"), "many"]}


def schema(name: str, description: str) -> ToolSchema:
    return ToolSchema(name, description, {"type": "object", "properties": {}})


def test_the_best_matches_come_first() -> None:
    tools = [
        schema("github_list_issues", "Lists issues."),
        schema("github_create_issue", "Opens a new issue."),
        schema("mail_send", "Sends a mail, for instance about an issue."),
        schema("db_query", "Runs SQL."),
    ]
    names = [one.name for one in rank_tools(tools, "create an Issue")]
    assert names == ["github_create_issue", "github_list_issues", "mail_send"]
    assert [one.name for one in rank_tools(tools, "github")] == names[:2]
    assert rank_tools(tools, "weather") == []


async def test_few_tools_are_all_offered(tmp_path: Path) -> None:
    async with open_harness(tmp_path, mcp={"shop": SHOP}) as harness:
        await connected(harness, "shop")
        harness.server.script(answer(Text("done")))
        await harness.turn(await harness.session(), "go")
        offered = tool_names(harness.server.requests[0].body)
        assert "shop_echo" in offered
        assert "tool_search" not in offered


async def test_many_tools_are_found_by_search_and_then_called(tmp_path: Path) -> None:
    """300 tools of 100 tokens each are more than a tenth of 100,000."""
    rules = {"many_*": "allow"}
    async with open_harness(tmp_path, mcp={"many": MANY}, permission=rules) as harness:
        await connected(harness, "many")
        harness.server.script(
            answer(Call("tool_search", {"query": "tool42"})),
            answer(Call("many_tool42", {"n": 1})),
            answer(Text("done")),
            answer(Text("again")),
        )
        session = await harness.session()
        await harness.turn(session, "go")
        await harness.turn(session, "and again")
        bodies = [tool_names(request.body) for request in harness.server.requests]
        assert "tool_search" in bodies[0]
        assert not [name for name in bodies[0] if name.startswith("many_")]
        for later in bodies[1:]:
            assert "many_tool42" in later
            assert len([name for name in later if name.startswith("many_")]) <= 8
        found, called = await harness.tools(session)
        assert "many_tool42: xxx" in found.state.output
        assert '"n": 1' in called.state.output
