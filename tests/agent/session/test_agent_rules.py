"""The limits of the built-in agents, which apply whatever the settings allow."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from agent.agents import Agents
from agent.config.loading import LoadedConfig
from agent.config.permission_rules import ConfigRule
from agent.config.settings_schema import AgentConfig, Config
from agent.permission.rules import ALWAYS, Rule, evaluate
from agent.permission.shell.analysis import command_needs
from agent.records.events import PermissionAsked
from agent.records.messages import Completed, Failed, Session
from agent.records.requests import Action
from tests.support.harness import Harness, open_harness, tool_names
from tests.support.script import Call, Text, answer

PLAN = ".opencode-py/plans/move.md"
OPEN = (ConfigRule("bash", "*", "allow", "yours"), ConfigRule("edit", "*", "allow", "yours"))


def verdict(agent: str, line: str, rules: Iterable[ConfigRule], *more: Rule) -> set[str]:
    agents = Agents(LoadedConfig(rules=tuple(rules)))
    needs = command_needs(line, directory="/srv/p", project="/srv/p")
    found = (*agents.rules(agent, child=agent == "explore"), *more)
    return {evaluate(need, found).action for need in needs if need.permission == "bash"}


@pytest.mark.parametrize("agent", ["plan", "explore"])
@pytest.mark.parametrize(
    ("line", "settings", "expected"),
    [
        ("git status", OPEN, "allow"),
        ("git status", (), "allow"),
        ("npm test", OPEN, "ask"),
        ("npm test", (), "ask"),
        ("$X", OPEN, "ask"),
        ("npm test", (*OPEN, ConfigRule("bash", "npm *", "deny", "yours")), "deny"),
        ("git status", (*OPEN, ConfigRule("bash", "git *", "deny", "yours")), "deny"),
        ("git status", (ConfigRule("bash", "git *", "ask", "yours"),), "ask"),
    ],
)
def test_a_command_asks_unless_it_only_reads(
    agent: str, line: str, settings: tuple[ConfigRule, ...], expected: str
) -> None:
    assert verdict(agent, line, settings) == {expected}


def test_always_rules_apply_to_the_plan_agent_too() -> None:
    always = Rule("bash", "npm test *", "allow", ALWAYS)
    assert verdict("plan", "npm test", OPEN, always) == {"allow"}


def test_build_follows_the_settings() -> None:
    assert verdict("build", "npm test", OPEN) == {"allow"}
    assert verdict("build", "npm test", ()) == {"ask"}


def test_bash_that_the_settings_deny_is_not_offered_to_the_plan_agent() -> None:
    agents = Agents(LoadedConfig(rules=(ConfigRule("bash", "*", "deny", "yours"),)))
    assert "bash" not in agents.offered_tools("plan", ["bash", "read"])


async def planning(harness: Harness) -> Session:
    return await harness.runtime.sessions.repository.create(agent="plan")


async def test_plan_edits_only_its_plan_file_with_permission(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, permission={"edit": "allow", "bash": "allow"}) as harness:
        harness.server.script(
            answer(Call("write", {"filePath": "app.py", "content": "x = 1\n"})),
            answer(Call("bash", {"command": "echo y > app.py"})),
            answer(Call("write", {"filePath": PLAN, "content": "# Move\n"})),
            answer(Text("Planned.")),
        )
        session = await planning(harness)
        await harness.send(session, "plan the move")
        asked = await harness.permission_request()
        assert [need.need.pattern for need in asked.needs if need.action == "ask"] == [PLAN]
        harness.answer(asked, "once")
        await harness.idle(session)
        outside, redirected, plan = await harness.tools(session)
        for refused in (outside, redirected):
            assert isinstance(refused.state, Failed)
            assert "`app.py` (edit) is denied" in refused.state.error
        assert isinstance(plan.state, Completed)
        assert not (harness.folder / "app.py").exists()
        assert (harness.folder / PLAN).read_text() == "# Move\n"


async def test_plan_reads_with_bash_freely_and_asks_for_the_rest(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        harness.server.script(
            answer(Call("bash", {"command": "ls"})),
            answer(Call("bash", {"command": "touch made"})),
            answer(Text("Seen.")),
        )
        session = await planning(harness)
        await harness.send(session, "look")
        asked = await harness.permission_request()
        assert [need.need.pattern for need in asked.needs if need.action == "ask"] == ["touch made"]
        harness.answer(asked, "reject", "not now")
        await harness.idle(session)
        assert len([e for e in harness.events if isinstance(e, PermissionAsked)]) == 1
        assert not (harness.folder / "made").exists()


async def test_hidden_agents_are_offered_no_tool(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Text("Hello.")))
        await harness.turn(await harness.session(), "hi")
        names = tool_names(harness.server.requests[0].body)
        assert "bash" in names
        for hidden in ("title", "summary", "compaction"):
            assert harness.runtime.agents.offered_tools(hidden, names) == frozenset()


async def test_an_unknown_tool_is_answered_with_the_tools_of_the_step(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"webfetch": "deny"}) as harness:
        harness.server.script(answer(Call("teleport", {})), answer(Text("Done.")))
        session = await harness.session()
        await harness.turn(session, "look it up")
        (call,) = await harness.tools(session)
        assert isinstance(call.state, Failed)
        offered = tool_names(harness.server.requests[0].body)
        listed = call.state.error.partition("The tools are: ")[2].rstrip(".").split(", ")
        assert set(listed) == offered
        assert "webfetch" not in listed


USUAL = ("list", "plan_exit", "question", "read", "task", "task_output", "todoread", "todowrite")


def offered(agents: Agents, name: str, callers: tuple[str, ...] = ()) -> set[str]:
    return set(agents.offered_tools(name, USUAL, callers))


def test_only_the_plan_agent_is_offered_to_leave_plan_mode() -> None:
    agents = Agents(LoadedConfig())
    assert offered(agents, "plan") == {*USUAL} - {"list", "todoread"}
    assert offered(agents, "build") == {*USUAL} - {"list", "todoread", "plan_exit"}


@pytest.mark.parametrize("action", ["allow", "ask"])
def test_a_rule_brings_back_a_tool_that_is_not_offered_by_default(action: Action) -> None:
    agents = Agents(LoadedConfig(rules=(ConfigRule("list", "*", action, "yours"),)))
    assert "list" in offered(agents, "build")
    assert "todoread" not in offered(agents, "build")


@pytest.mark.parametrize(("depth", "callers", "can"), [(1, 0, True), (1, 1, False), (2, 1, True)])
def test_sub_agents_are_offered_as_deep_as_they_may_be(depth: int, callers: int, can: bool) -> None:
    config = Config(agent={"lead": AgentConfig(mode="all")}, subagent_depth=depth)
    rules = {"lead": (ConfigRule("task", "*", "allow", "yours"),)}
    agents = Agents(LoadedConfig(config=config, agent_rules=rules))
    found = offered(agents, "lead", ("lead",) * callers)
    assert ({"task", "task_output"} <= found) is can


def test_task_is_not_offered_where_every_sub_agent_is_denied() -> None:
    denied = tuple(ConfigRule("task", name, "deny", "yours") for name in ("plan", "general"))
    some = Agents(LoadedConfig(rules=denied))
    assert "task" in offered(some, "build")
    every = (*denied, ConfigRule("task", "expl*", "deny", "yours"))
    assert not {"task", "task_output"} & offered(Agents(LoadedConfig(rules=every)), "build")


def test_a_tool_that_another_one_covers_is_offered_where_that_one_is_not() -> None:
    tools = ("bash", "bash_output", "task", "task_output")
    usual, denied = Agents(LoadedConfig()), ConfigRule("bash", "*", "deny", "yours")
    assert usual.offered_tools("build", tools) == {"bash", "bash_output", "task"}
    without = Agents(LoadedConfig(rules=(denied,)))
    assert without.offered_tools("build", tools) == {"task", "task_output"}


async def test_few_tools_are_offered_by_default(harness: Harness) -> None:
    harness.server.script(answer(Text("Hello.")))
    await harness.turn(await harness.session(), "hi")
    tools = harness.server.requests[0].body["tools"]
    assert len(tools) <= 11
    size = len(json.dumps([tool["function"] for tool in tools], separators=(",", ":")))
    assert size / 4 <= 3_900


async def test_tools_that_are_not_offered_by_default_run_when_they_are_called(
    harness: Harness,
) -> None:
    todo = {"content": "Paint", "status": "pending"}
    harness.server.script(
        answer(Call("todowrite", {"todos": [todo]})),
        answer(Call("todo_read", {}), Call("LS", {})),
        answer(Text("Done.")),
    )
    session = await harness.session()
    await harness.turn(session, "go")
    assert not {"todoread", "list", "plan_exit"} & tool_names(harness.server.requests[0].body)
    _, read, listed = (call.state for call in await harness.tools(session))
    assert isinstance(read, Completed)
    assert "Paint" in read.output
    assert isinstance(listed, Completed)
