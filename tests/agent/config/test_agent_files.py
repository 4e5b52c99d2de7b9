"""Agents in markdown files."""

import os

import pytest

from agent.agents import Agents
from agent.config.definitions import SMALL_MODEL
from agent.config.loading import load_config
from agent.permission.rules import evaluate
from agent.records.requests import PermissionNeed


def load(setting, *, trusted=False):
    return load_config(setting.project, setting.project, setting.env, trusted=trusted)


def test_the_users_agents_are_found_in_all_folders(setting):
    places = {
        ".config/opencode-py/agents/a.md": "a",
        ".config/opencode/agent/deep/b.md": "deep/b",
        ".opencode/agents/c.md": "c",
        ".claude/agents/d.md": "d",
        ".agents/agents/e.md": "e",
        ".config/opencode-py/modes/f.md": "f",
    }
    for place in places:
        setting.write(setting.home / place, "---\ndescription: d\n---\nYou look.\n")
    loaded = load(setting)
    assert not loaded.notices
    assert set(loaded.config.agent) == set(places.values())
    modes = {name: agent.mode for name, agent in loaded.config.agent.items()}
    assert modes == {"a": "all", "deep/b": "all", "c": "all", "d": "subagent", "e": "subagent",
                     "f": "primary"}  # fmt: skip
    assert loaded.config.agent["deep/b"].prompt == "You look."
    assert loaded.sources["agent.a.prompt"] == "~/.config/opencode-py/agents/a.md"
    assert Agents(loaded).get("c").prompt == "You look."


def test_all_settings_and_rules_of_an_agent_file_count(setting):
    setting.write(
        setting.home / ".config/opencode-py/agents/review.md",
        "---\nname: other\ndescription: Use when: reviewing\nmode: primary\nmodel: lab/big\n"
        "temperature: 0.2\nmaxSteps: 7\ntools:\n  write: false\n"
        "permission:\n  bash:\n    '*': ask\n    git diff*: allow\n---\nReview.",
    )
    loaded = load(setting)
    assert not loaded.notices
    agent = loaded.config.agent["review"]
    assert (agent.description, agent.mode, agent.model) == (
        "Use when: reviewing",
        "primary",
        "lab/big",
    )
    assert (agent.temperature, agent.steps, agent.prompt) == (0.2, 7, "Review.")
    rules = [(r.permission, r.pattern, r.action) for r in loaded.agent_rules["review"]]
    assert rules == [
        ("edit", "*", "deny"),
        ("bash", "*", "ask"),
        ("bash", "git diff*", "allow"),
    ]


def test_another_programs_list_of_tools_only_removes_tools(setting):
    setting.write(
        setting.home / ".claude/agents/look.md",
        "---\nname: look\ndescription: Looks.\ntools: Read, Grep, Bash\nmodel: sonnet\n"
        "color: red\n---\nLook.",
    )
    loaded = load(setting)
    assert not loaded.notices
    assert loaded.config.agent["look"].model is None
    rules = {r.permission: r.action for r in loaded.agent_rules["look"]}
    assert set(rules.values()) == {"deny"}
    assert not set(rules) & {"read", "grep", "bash"}
    assert {"edit", "webfetch", "task"} <= set(rules)


def test_a_projects_agents_count_only_with_trust_and_within_its_limits(setting):
    setting.theirs(
        "---\ndescription: d\npermission:\n  '*': allow\n  webfetch: allow\n---\n{env:SECRET}",
        ".opencode-py/agents/theirs.md",
    )
    setting.env["SECRET"] = "s3cret"
    assert not load(setting).config.agent
    loaded = load(setting, trusted=True)
    assert loaded.config.agent["theirs"].prompt == "{env:SECRET}"
    (rule,) = loaded.agent_rules["theirs"]
    assert (rule.permission, rule.action) == ("webfetch", "allow")
    assert rule.source == "project .opencode-py/agents/theirs.md, agent theirs"
    assert "cannot allow everything" in loaded.notices[0]


def test_the_later_of_two_agents_counts_and_a_config_file_can_add(setting):
    setting.own({"agent": {"a": {"steps": 3}}})
    setting.write(setting.home / ".claude/agents/a.md", "---\ndescription: first\n---\none")
    setting.write(setting.home / ".config/opencode-py/agents/a.md", "two")
    agent = load(setting).config.agent["a"]
    assert (agent.prompt, agent.description, agent.steps) == ("two", "first", 3)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("---\n- a\n---\nx", "not a list of keys"),
        (b"\xff\xfe\xff", "UTF-8"),
        ("---\nstepps: 5\n---\nx", "did you mean steps?"),
        ("---\nmode: boss\n---\nx", 'expected "primary"'),
    ],
)
def test_a_faulty_agent_is_reported_and_the_others_apply(setting, content, word):
    folder = setting.home / ".config/opencode-py/agents"
    setting.write(folder / "bad.md", content)
    setting.write(folder / "good.md", "Good.")
    os.mkfifo(folder / "pipe.md")
    loaded = load(setting)
    assert len(loaded.notices) == 1
    assert word in loaded.notices[0]
    assert "agents/bad.md" in loaded.notices[0]
    assert loaded.config.agent["good"].prompt == "Good."


def test_an_agent_with_unreadable_rules_makes_everything_ask(setting):
    setting.own({"permission": {"bash": "allow"}})
    setting.write(
        setting.home / ".config/opencode-py/agents/bad.md", "---\npermission: alow\n---\n"
    )
    assert [rule.action for rule in load(setting).rules] == ["ask", "ask"]


def test_another_programs_list_of_tools_excludes_those_of_servers(setting):
    setting.write(
        setting.home / ".claude/agents/look.md",
        "---\ntools: Read, Bash(git log:*, ls), mcp__github__search, mcp__docs\n"
        "disallowedTools: Write\nmodel: haiku\n---\nLook.",
    )
    setting.write(setting.home / ".claude/agents/all.md", "---\ndisallowedTools: [Edit]\n---\nx")
    agents = Agents(load(setting))
    names = ("read", "grep", "bash", "edit", "github_search", "github_post", "docs_x", "lint")
    assert agents.offered_tools("look", (*names, "tool_search")) == {
        "read",
        "bash",
        "github_search",
        "docs_x",
        "tool_search",
    }
    assert agents.offered_tools("all", names) == {*names} - {"edit"}
    assert agents.get("look").model == SMALL_MODEL
    asks = [PermissionNeed(name, "x") for name in ("github_post", "docs_x", "external_directory")]
    actions = [evaluate(need, agents.rules("look")).action for need in asks]
    assert actions == ["deny", "ask", "ask"]


@pytest.mark.parametrize(
    "settings",
    [
        {"agent": {"build": {"disable": True}}},
        {"agent": {"build": {"disable": True}, "plan": {"disable": True}}},
        {"agent": {"build": {"mode": "subagent"}, "plan": {"hidden": True}}},
        {"agent": {"compaction": {"disable": True}, "title": {"mode": "primary"}}},
    ],
)
def test_the_user_always_has_an_agent_and_the_program_its_own(setting, settings):
    setting.theirs(settings)
    agents = Agents(load(setting, trusted=True))
    assert agents.primary()
    assert agents.get("compaction").mode == agents.get("title").mode == "hidden"


def test_an_agent_in_a_worktree_is_written_in_both_ways(setting):
    folder = setting.home
    setting.write(folder / ".config/opencode-py/agents/a.md", "---\nworktree: true\n---\nBuild.")
    setting.write(folder / ".opencode/agents/b.md", "---\nisolation: worktree\n---\nBuild.")
    setting.write(folder / ".claude/agents/c.md", "---\nisolation: worktree\n---\nBuild.")
    setting.write(folder / ".claude/agents/d.md", "---\nisolation: remote\n---\nBuild.")
    setting.write(folder / ".claude/agents/e.md", "---\ndescription: x\n---\nBuild.")
    loaded = load(setting)
    agents = Agents(loaded)
    assert [name for name in "abcde" if agents.get(name).worktree] == ["a", "b", "c"]
    (notice,) = loaded.notices
    assert "only worktree is supported" in notice
