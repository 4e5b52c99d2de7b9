"""Programs, servers and rules in the config files of a project."""

import json
from pathlib import Path

import pytest

from agent.config.paths import Paths
from agent.permission.trust.project_files import (
    ProjectFindings,
    ProjectProgram,
    find_programs,
    scan_project,
)
from agent.records.json import JsonObject

Listed = tuple[str, str, str]
"""Kind, name and text of each program."""

LISTED: list[tuple[str, JsonObject, list[Listed]]] = [
    ("nothing", {"model": "a/b", "mcp": {}, "plugin": [], "hooks": {}, "lsp": False}, []),
    ("no table", {"mcp": "x", "plugin": 3, "instructions": "https://x.test"}, []),
    (
        "a server with arguments next to its command",
        {"mcp": {"d": {"command": "npx", "args": ["-y", "docs"]}}},
        [("MCP server", "d", "npx -y docs")],
    ),
    (
        "arguments that are no list count for nothing",
        {"mcp": {"d": {"command": ["npx", "docs"], "args": "-y"}}},
        [("MCP server", "d", "npx docs")],
    ),
    (
        "a number among the words",
        {"mcp": {"d": {"command": ["serve", 8080]}}},
        [("MCP server", "d", "serve 8080")],
    ),
    (
        "variables under both names",
        {"mcp": {"d": {"command": "d", "environment": {"A": "1"}, "env": {"B": "2", "C": "3"}}}},
        [("MCP server", "d", "d\nwith A=1 B=2 C=3")],
    ),
    (
        "variables that are no table",
        {"mcp": {"d": {"command": "d", "env": "A=1", "environment": ["B"]}}},
        [("MCP server", "d", "d")],
    ),
    (
        "two servers",
        {"mcp": {"a": {"command": "a"}, "b": {"url": "https://b.test"}}},
        [("MCP server", "a", "a"), ("MCP server", "b", "https://b.test")],
    ),
    (
        "a disabled server is listed completely",
        {"mcp": {"d": {"enabled": False, "a": 1}}},
        [("MCP server", "d", '{"a": 1, "enabled": false}')],
    ),
    (
        "addresses anywhere, each once",
        {
            "provider": {
                "lab": {
                    "options": {
                        "baseURL": "http://x/v1",
                        "list": ["no", "https://y", "http://x/v1"],
                    }
                }
            }
        },
        [("model provider", "lab", "http://x/v1, https://y")],
    ),
    (
        "a provider without an address",
        {"provider": {"lab": {"name": "Lab"}}},
        [("model provider", "lab", '{"name": "Lab"}')],
    ),
    (
        "every command of a hook",
        {
            "hooks": {
                "Stop": [
                    {"hooks": [{"command": "a"}, {"command": "b"}]},
                    {"matcher": "x", "hooks": [{"command": ["c", "d e"]}]},
                ]
            }
        },
        [("hook", "Stop", "a"), ("hook", "Stop", "b"), ("hook", "Stop", "c 'd e'")],
    ),
    (
        "hooks in a list",
        {"hooks": [{"command": "a"}]},
        [("hook", '{"command": "a"}', "a")],
    ),
    (
        "plugins by name, with settings, and odd ones",
        {"plugin": ["acme@1", ["other@2", {"a": 1}], []]},
        [
            ("plugin", "acme@1", "acme@1"),
            ("plugin", "other@2", '["other@2", {"a": 1}]'),
            ("plugin", "[]", "[]"),
        ],
    ),
    (
        "everything on PATH",
        {"formatter": True, "lsp": True},
        [
            ("formatter", "all", "those found on PATH"),
            ("language server", "all", "those found on PATH"),
        ],
    ),
    (
        "instructions from elsewhere, not from here",
        {"instructions": ["docs/a.md", "https://x.test/a.md", 3]},
        [("instructions from", "https://x.test/a.md", "https://x.test/a.md")],
    ),
    (
        "what is allowed and not what is asked or denied",
        {"permission": {"bash": {"curl *": "allow", "rm *": "deny", "ls": "ask"}, "edit": "allow"}},
        [
            ("allowed without asking", "bash", "curl *"),
            ("allowed without asking", "edit", "*"),
        ],
    ),
    ("everything allowed has no effect in a project", {"permission": "allow"}, []),
    ("a permission of no form", {"permission": ["allow"]}, []),
    (
        "switches on and off",
        {"tools": {"write": True, "bash": False}},
        [("allowed without asking", "edit", "*")],
    ),
    (
        "agents",
        {"agent": {"a": {"permission": {"webfetch": "allow"}}, "b": "x", "c": {"tools": {}}}},
        [("allowed without asking", "webfetch (agent a)", "*")],
    ),
    ("agents of no form", {"agent": ["a"]}, []),
]


@pytest.mark.parametrize(
    ("values", "expected"), [row[1:] for row in LISTED], ids=[r[0] for r in LISTED]
)
def test_programs_of_a_file_are_listed(values: JsonObject, expected: list[Listed]) -> None:
    found = list(find_programs(values, "opencode.json"))
    assert [(runs.kind, runs.name, runs.text) for runs in found] == expected
    assert {runs.source for runs in found} <= {"opencode.json"}


def test_one_word_is_shown_as_a_shell_command_and_several_are_quoted() -> None:
    def shown(*argv: str) -> str:
        return ProjectProgram(kind="hook", name="x", source="s", argv=argv).text

    assert shown("a; b c") == "a; b c"
    assert shown("a", "b c") == "a 'b c'"


def findings_of(home: Path, project: Path, *patterns: str) -> ProjectFindings:
    env = {"HOME": str(home)}
    return scan_project(project, project, Paths.find(env), env, patterns)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = (tmp_path / "home" / "shop").resolve()
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"mcp": {"d": {"command": "d", "cwd": "a"}}},
         {"mcp": {"d": {"command": "d", "cwd": "b"}}}),
        ({"mcp": {"d": {"url": "https://d", "headers": {"A": "1"}}}},
         {"mcp": {"d": {"url": "https://d", "headers": {"A": "2"}}}}),
        ({"mcp": {"d": {"command": "d"}}}, {"mcp": {"e": {"command": "d"}}}),
        ({"mcp": {"d": {"command": "d"}}}, {"formatter": {"d": {"command": "d"}}}),
        ({"mcp": {"d": {"command": "d e"}}}, {"mcp": {"d": {"command": ["d", "e"]}}}),
        ({"permission": {"bash": {"a": "allow"}}}, {"permission": {"bash": {"b": "allow"}}}),
    ],
)  # fmt: skip
def test_trust_is_bound_to_the_whole_entry(
    project: Path, before: JsonObject, after: JsonObject
) -> None:
    file = project / "opencode.json"
    file.write_text(json.dumps(before))
    first = findings_of(project.parent, project).hashes
    file.write_text(json.dumps(after))
    second = findings_of(project.parent, project).hashes
    assert list(first) == list(second) == ["opencode.json"]
    assert first != second


def hashes_with(project: Path, command: str) -> str:
    values = {"hooks": {"Stop": [{"command": command}]}}
    (project / "opencode.json").write_text(json.dumps(values))
    return findings_of(project.parent, project).hashes["opencode.json"]


@pytest.mark.parametrize(
    "command", ["sh tools/x.sh", "tools/x.sh", "./tools/x.sh -v", "cat a | sh tools/../tools/x.sh"]
)
def test_trust_is_bound_to_files_that_a_command_names(project: Path, command: str) -> None:
    (project / "tools").mkdir()
    script = project / "tools" / "x.sh"
    script.write_text("true")
    before = hashes_with(project, command)
    assert hashes_with(project, command) == before
    script.write_text("evil")
    assert hashes_with(project, command) != before


def test_outside_files_and_folders_are_not_hashed(project: Path) -> None:
    outside = project.parent / "x.sh"
    outside.write_text("a")
    (project / "tools").mkdir()
    before = hashes_with(project, "sh ../x.sh tools")
    outside.write_text("b")
    (project / "tools" / "y").write_text("b")
    assert hashes_with(project, "sh ../x.sh tools") == before


def test_a_word_that_cannot_be_a_path_is_ignored(project: Path) -> None:
    assert hashes_with(project, f"sh {'a' * 5000} \0")


def test_a_program_of_any_size_that_grows_is_another(project: Path) -> None:
    plugins = project / ".opencode-py" / "plugins"
    plugins.mkdir(parents=True)
    file = plugins / "a.py"
    with file.open("wb") as opened:
        opened.truncate(20 * 1024 * 1024)
    before = findings_of(project.parent, project).hashes
    with file.open("ab") as opened:
        opened.write(b"x")
    assert findings_of(project.parent, project).hashes != before


def test_a_plugin_and_a_tool_are_named_by_their_file(project: Path) -> None:
    for name in ("plugins/a.py", "tools/b.py"):
        (project / ".opencode-py" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / ".opencode-py" / name).write_text("x")
    found = findings_of(project.parent, project)
    assert [(each.kind, each.name, each.source) for each in found.runs] == [
        ("plugin", "a", ".opencode-py/plugins/a.py"),
        ("tool", "b", ".opencode-py/tools/b.py"),
    ]
    assert sorted(found.hashes) == [".opencode-py/plugins/a.py", ".opencode-py/tools/b.py"]
    assert len(set(found.hashes.values())) == 1


def test_patterns_of_instructions_lead_into_the_project_alone(project: Path) -> None:
    for name in ("docs/a.md", "docs/deep/b.md", "https:/x.test/c.md", "~/d.md", "docs/e.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")
    (project / "docs" / "out.md").symlink_to(project.parent / "out.md")
    (project.parent / "out.md").write_text("x")

    def named(*patterns: str) -> list[str]:
        return [each.name for each in findings_of(project.parent, project, *patterns).steers]

    assert named("docs/*.md") == ["docs/a.md"]
    assert sorted(named("docs/**/*.md")) == ["docs/a.md", "docs/deep/b.md"]
    assert named("docs", "https://x.test/c.md", "~/d.md", f"{project}/docs/a.md", "../out.md") == []


def test_a_pattern_applies_from_the_open_folder_up_to_the_root(project: Path) -> None:
    (project / "lib" / "deep").mkdir(parents=True)
    for name in ("notes.md", "lib/notes.md", "lib/deep/notes.md"):
        (project / name).write_text("x")
    env = {"HOME": str(project.parent)}
    found = scan_project(project / "lib", project, Paths.find(env), env, ("notes.md",))
    assert [each.name for each in found.steers] == ["notes.md", "lib/notes.md"]


def test_settings_of_another_program_count_for_their_hooks_alone(project: Path) -> None:
    (project / ".claude").mkdir()
    for name, command in (("settings.json", "a"), ("settings.local.json", "b")):
        hooks = {"Stop": [{"command": command}]}
        values = {"hooks": hooks, "mcp": {"x": {"command": "c"}}}
        (project / ".claude" / name).write_text(json.dumps(values))
    found = findings_of(project.parent, project)
    assert [(each.kind, each.text, each.source) for each in found.runs] == [
        ("hook", "a", ".claude/settings.json"),
        ("hook", "b", ".claude/settings.local.json"),
    ]
    assert not found.steers


def test_a_broken_file_hides_no_other(project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text("{")
    (project / ".claude" / "settings.local.json").write_text('{"hooks": {"S": [{"command": "b"}]}}')
    (project / "opencode.json").write_text("{")
    (project / ".opencode-py").mkdir()
    (project / ".opencode-py" / "config.json").write_text('{"mcp": {"d": {"command": "d"}}}')
    agents = project / ".opencode-py" / "agents"
    agents.mkdir()
    (agents / "a.md").write_text("---\npermission: [\n---\nx")
    (agents / "b.md").write_text("---\npermission:\n  bash: allow\n---\nx")
    found = findings_of(project.parent, project)
    assert sorted((each.kind, each.text) for each in found.runs) == [
        ("MCP server", "d"),
        ("allowed without asking", "*"),
        ("hook", "b"),
    ]
