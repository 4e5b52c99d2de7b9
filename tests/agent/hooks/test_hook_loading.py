"""Sources of hooks, and the calls that they match."""

import json
from pathlib import Path

import pytest

from agent.config.loading import load_config
from agent.config.paths import Paths
from agent.hooks.loading import find_hooks
from agent.hooks.records import HookCall, concerns, matches


def group(command: str, matcher: str = "", **more: object) -> dict[str, object]:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}


def write(path: Path, values: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(values if isinstance(values, str) else json.dumps(values))


@pytest.fixture
def place(tmp_path: Path):
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}

    def load(*, trusted: bool):
        paths = Paths.find(env)
        loaded = load_config(project, project, env, paths=paths, trusted=trusted)
        return loaded, find_hooks(loaded, project, project, env, trusted=trusted)

    return home, project, load


def test_a_projects_hooks_count_only_with_trust(place) -> None:
    home, project, load = place
    write(home / ".config/opencode-py/config.json", {"hooks": {"Stop": [group("mine")]}})
    write(home / ".claude/settings.json", {"hooks": {"Stop": [group("theirs")]}, "model": "x"})
    write(project / ".claude/settings.json", {"hooks": {"PreToolUse": [group("p", "Bash")]}})
    write(project / ".claude/settings.local.json", {"hooks": {"Stop": [group("local")]}})
    write(project / ".opencode-py/config.json", {"hooks": {"Stop": [group("added")]}})
    _, found = load(trusted=False)
    assert [hook.command for hook in found.hooks] == ["mine", "theirs"]
    _, found = load(trusted=True)
    # A project adds to the user's own hooks and removes none of them.
    assert [h.command for h in found.hooks] == ["mine", "added", "theirs", "p", "local"]
    assert [h.uses_claude_names for h in found.hooks] == [False, False, True, True, True]
    assert not found.notes


def test_unusable_hooks_are_reported_and_the_rest_counts(place) -> None:
    home, _, load = place
    write(home / ".config/opencode-py/config.json",
          {"hooks": {"Stopp": [group("a")], "Stop": [group("b", timeout=5)]}})  # fmt: skip
    write(
        home / ".claude/settings.json",
        {
            "hooks": {
                "WorktreeCreate": [group("c")],
                "Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}, group("d", timeout=7)],
            }
        },
    )
    _, found = load(trusted=False)
    assert [(hook.command, hook.timeout) for hook in found.hooks] == [("b", 5.0), ("d", 7.0)]
    assert ["hooks.Stopp: there is no such event" in found.notes[0],
            "WorktreeCreate" in found.notes[1],
            "only commands are run" in found.notes[2]] == [True, True, True]  # fmt: skip


def test_a_broken_file_of_another_program_is_reported_once(place) -> None:
    home, _, load = place
    write(home / ".claude/settings.json", "{broken")
    loaded, found = load(trusted=False)
    assert not found.hooks
    assert not found.notes
    assert len(loaded.notices) == 1


def test_hooks_without_effect_are_one_note_for_each_file(place) -> None:
    _, project, load = place
    kinds = [{"type": "agent", "prompt": "x"}, {"type": "mcp_tool", "server": "x"}]
    windows = {"type": "command", "command": "x", "shell": "powershell"}
    write(
        project / ".claude/settings.json",
        {"hooks": {"PreToolUse": [{"hooks": [*kinds, kinds[0], windows]}]}},
    )
    (note,) = load(trusted=True)[1].notes
    assert "hooks for PreToolUse (agent), PreToolUse (mcp_tool), PreToolUse (powershell)" in note


def test_hooks_of_another_program_can_be_switched_off(place) -> None:
    home, _, load = place
    write(home / ".claude/settings.json",
          {"disableAllHooks": True, "hooks": {"Stop": [group("x")]}})  # fmt: skip
    assert not load(trusted=False)[1].hooks


BASH, EDIT = {"command": "npm test && git push origin"}, {"file_path": "/p/src/a.ts"}


@pytest.mark.parametrize(
    ("condition", "about", "arguments", "expected"),
    [
        ("Bash(rm *)", "bash", BASH, False),
        ("Bash(git push *)", "bash", BASH, True),
        ("Bash(git push:*)", "bash", BASH, True),
        ("Bash", "bash", BASH, True),
        ("Bash(rm *)", "bash", {"command": "if ((("}, True),
        ("Bash(rm *)", "edit", EDIT, False),
        ("Edit(*.ts)", "edit", EDIT, True),
        ("Edit(src/**)", "edit", EDIT, True),
        ("Edit(*.py)", "edit", EDIT, False),
        ("WebFetch(domain:a.example)", "webfetch", {"url": "https://a.example/x"}, True),
        ("WebFetch(domain:b.example)", "webfetch", {"url": "https://a.example/x"}, False),
        ("PowerShell(rm *)", "bash", BASH, False),
    ],
)
def test_a_hook_with_a_condition_is_for_the_calls_that_it_names(
    place, condition: str, about: str, arguments: dict[str, str], expected: bool
) -> None:
    _, project, load = place
    each = {"hooks": [{"type": "command", "command": "x", "if": condition}]}
    write(project / ".claude/settings.json", {"hooks": {"PreToolUse": [each], "Stop": [each]}})
    first, stop = load(trusted=True)[1].hooks
    call = HookCall(
        event="PreToolUse",
        session_id="s",
        directory="/p",
        about=about,
        details={"tool_name": about, "tool_input": arguments},
    )
    assert concerns(first, call) is expected
    assert not concerns(stop, HookCall(event="Stop", session_id="s", directory="/p"))


@pytest.mark.parametrize(
    ("matcher", "about", "expected"),
    [
        ("Edit, Write", "write", True),
        ("Edit,Write", "bash", False),
        ("^Notebook", "notebookedit", True),
        ("mcp__github__", "github_search", False),
        ("mcp__github__.", "github_search", True),
    ],
)
def test_matchers_of_claude_code_are_lists_of_names_or_expressions(
    matcher: str, about: str, expected: bool
) -> None:
    assert matches(matcher, about, anywhere=True) is expected


@pytest.mark.parametrize(
    ("matcher", "about", "expected"),
    [
        ("", "bash", True),
        ("*", "bash", True),
        ("Bash", "bash", True),
        ("bash", "bash", True),
        ("Bash", "bash_output", False),
        ("Edit|Write", "write", True),
        ("Edit|Write", "multiedit", False),
        ("Multi.*", "multiedit", True),
        ("LS", "list", True),
        ("mcp__github__.*", "github_search_code", True),
        ("mcp__git.*", "git_hub_search", True),
        ("mcp__github__.*", "gitlab_search", False),
        ("Bash(", "bash", False),
        ("manual", "auto", False),
    ],
)
def test_matchers_cover_names_here_and_in_claude_code(
    matcher: str, about: str, expected: bool
) -> None:
    assert matches(matcher, about) is expected
