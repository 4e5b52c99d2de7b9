"""Settings of opencode and Claude Code outside config files: ``tui.json``, environment variables,
permissions in ``.claude/settings.json``, ``.mcp.json``."""

import json
from pathlib import Path

import pytest

from agent.config import env_variables
from agent.config.claude_code import from_claude_settings
from agent.config.loading import LoadedConfig, load_config
from agent.config.opencode import from_tui
from agent.config.paths import Paths
from agent.permission.rules import Rule, deciding_rule
from agent.permission.trust.project_files import scan_project
from agent.records.json import JsonObject
from tests.agent.config.conftest import Setting

TUI = {
    "$schema": "https://opencode.ai/tui.json",
    "theme": "nord",
    "keybinds": {
        "session_new": ["f5", "f6"],
        "model_list": False,
        "command_list": {"key": "p", "ctrl": True, "shift": True},
        "messages_undo": "<leader>Return",
        "agent_list": 7,
    },
    "leader_timeout": 1500,
    "mouse": False,
    "scroll_speed": 5,
    "diff_style": "stacked",
    "attention": {"enabled": True, "sound": False, "volume": 0.2},
    "scroll_acceleration": {"enabled": True},
    "plugin": ["opencode-wakatime"],
    "colour": "red",
}

VARIABLES = """
CONFIG CONFIG_DIR CONFIG_CONTENT TUI_CONFIG PERMISSION DB MODELS_URL MODELS_PATH AUTH_CONTENT
TEST_HOME SERVER_PASSWORD SERVER_USERNAME CLIENT PURE DISABLE_DEFAULT_PLUGINS
DISABLE_EXTERNAL_SKILLS DISABLE_LSP_DOWNLOAD DISABLE_CLAUDE_CODE DISABLE_CLAUDE_CODE_PROMPT
DISABLE_CLAUDE_CODE_SKILLS DISABLE_AUTOUPDATE DISABLE_PRUNE DISABLE_AUTOCOMPACT
DISABLE_MODELS_FETCH DISABLE_MOUSE DISABLE_TERMINAL_TITLE DISABLE_PROJECT_CONFIG DISABLE_SHARE
DISABLE_FFF DISABLE_CHANNEL_DB DISABLE_EMBEDDED_WEB_UI AUTO_SHARE ENABLE_EXA ENABLE_PARALLEL
ENABLE_QUESTION_TOOL ENABLE_EXPERIMENTAL_MODELS ALWAYS_NOTIFY_UPDATE SHOW_TTFD
AUTO_HEAP_SNAPSHOT EXPERIMENTAL EXPERIMENTAL_PLAN_MODE EXPERIMENTAL_LSP_TOOL
EXPERIMENTAL_LSP_TY EXPERIMENTAL_OXFMT EXPERIMENTAL_CODE_MODE EXPERIMENTAL_BACKGROUND_SUBAGENTS
EXPERIMENTAL_WORKSPACES EXPERIMENTAL_REFERENCES EXPERIMENTAL_EVENT_SYSTEM
EXPERIMENTAL_ICON_DISCOVERY EXPERIMENTAL_FILEWATCHER EXPERIMENTAL_DISABLE_FILEWATCHER
EXPERIMENTAL_DISABLE_COPY_ON_SELECT EXPERIMENTAL_OUTPUT_TOKEN_MAX
EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS EXPERIMENTAL_NATIVE_LLM EXPERIMENTAL_WEBSOCKETS FAKE_VCS
GIT_BASH_PATH WEBSEARCH_PROVIDER CALLER EDITOR_SSE_PORT
"""


def trusting(setting: Setting) -> LoadedConfig:
    return load_config(setting.project, setting.project, setting.env, trusted=True)


def test_a_tui_file_is_read_and_keys_without_effect_are_reported(setting: Setting) -> None:
    setting.write(setting.home / ".config/opencode/tui.jsonc", json.dumps(TUI, indent=1))
    loaded = setting.load()
    config = loaded.config
    assert config.theme == "nord"
    assert config.keybinds == {
        "session_new": "f5,f6",
        "model_list": "none",
        "command_list": "ctrl+shift+p",
        "messages_undo": "<leader>enter",
    }
    ui = config.ui
    assert (ui.leader_timeout, ui.mouse, ui.scroll_speed) == (1500, False, 5.0)
    assert (ui.diffs, ui.notifications) == ("unified", "osc9")
    said = "\n".join(loaded.notices)
    for key in ("scroll_acceleration", "plugin", "attention.volume", "keybinds.agent_list"):
        assert f"{key} has no effect: " in said
    assert "tui.jsonc:33: colour has no effect: there is no such setting here" in said
    assert len(loaded.notices) == 5


@pytest.mark.parametrize(
    ("attention", "way"),
    [
        ({"enabled": False}, "off"),
        ({"enabled": True}, "auto"),
        ({"enabled": True, "notifications": False}, "bell"),
        ({"enabled": True, "notifications": False, "sound": False}, "off"),
    ],
)
def test_attention_settings_select_the_notification_method(
    attention: dict[str, bool], way: str
) -> None:
    assert from_tui({"attention": dict(attention)})[0] == {"ui": {"notifications": way}}


def test_a_projects_tui_file_overrides_the_users_except_for_keys(
    setting: Setting,
) -> None:
    setting.write(setting.home / ".config/opencode/tui.json", {"theme": "nord"})
    setting.theirs({"theme": "gruvbox", "keybinds": {"session_new": "f5"}}, ".opencode/tui.json")
    setting.theirs({"pages": ["a"]}, "tui.json")  # another program's file
    loaded = trusting(setting)
    assert loaded.config.theme == "gruvbox"
    assert not loaded.config.keybinds
    assert loaded.sources["theme"] == ".opencode/tui.json"
    (notice,) = loaded.notices
    assert "your keys are set in your own settings" in notice
    assert setting.load().config.theme == "nord"  # without trust


def test_variables_name_files_and_contain_settings_in_order(setting: Setting) -> None:
    one = setting.write(setting.root / "one.json", {"theme": "nord", "default_agent": "a"})
    two = setting.write(setting.root / "two.json", {"theme": "gruvbox", "mouse": False})
    setting.write(setting.root / "more/opencode.json", {"small_model": "none"})
    setting.write(setting.root / "more/command/hi.md", "Say hi.")
    setting.theirs({"permission": {"bash": "ask"}, "default_agent": "project"})
    setting.env |= {
        "OPENCODE_CONFIG": str(one),
        "OPENCODE_TUI_CONFIG": str(two),
        "OPENCODE_CONFIG_DIR": str(setting.root / "more"),
        "OPENCODE_CONFIG_CONTENT": '{"default_agent": "content"}',
        "OPENCODE_PERMISSION": '{"bash": {"ls *": "allow"}}',
        "OPENCODE_DISABLE_AUTOCOMPACT": "1",
        "OPENCODE_DISABLE_PRUNE": "true",
        "OPENCODE_DISABLE_TERMINAL_TITLE": "1",
        "OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS": "9000",
    }
    loaded = trusting(setting)
    config = loaded.config
    assert (config.theme, config.ui.mouse, config.default_agent) == ("gruvbox", False, "content")
    assert config.small_model == "none"
    assert config.command["hi"].template == "Say hi."
    assert (config.compaction.auto, config.compaction.prune) == (False, False)
    assert (config.ui.title, config.bash.timeout) == (False, 9000)
    assert loaded.sources["compaction.auto"] == "OPENCODE_DISABLE_AUTOCOMPACT"
    assert [(r.pattern, r.action) for r in loaded.rules] == [("*", "ask"), ("ls *", "allow")]
    assert not loaded.notices


def test_a_broken_variable_is_reported_and_everything_asks(setting: Setting) -> None:
    setting.env["OPENCODE_PERMISSION"] = '{"bash": allow}'
    loaded = setting.load()
    assert "OPENCODE_PERMISSION:1:" in loaded.notices[0]
    assert loaded.rules[0].action == "ask"


def test_a_projects_settings_can_be_switched_off(setting: Setting) -> None:
    setting.theirs({"theme": "nord"})
    setting.theirs("Say hi.", ".opencode/command/hi.md")
    assert trusting(setting).config.command
    setting.env["OPENCODE_DISABLE_PROJECT_CONFIG"] = "1"
    loaded = trusting(setting)
    assert loaded.config.theme is None
    assert not loaded.config.command


def test_claude_codes_files_can_be_switched_off(setting: Setting) -> None:
    setting.write(setting.home / ".claude/commands/hi.md", "Say hi.")
    setting.write(setting.home / ".claude/settings.json", {"permissions": {"deny": ["WebSearch"]}})
    loaded = setting.load()
    assert loaded.rules
    assert loaded.config.command
    setting.env["OPENCODE_DISABLE_CLAUDE_CODE"] = "1"
    loaded = setting.load()
    assert not loaded.rules
    assert not loaded.config.command


@pytest.mark.parametrize("name", VARIABLES.split())
def test_each_variable_has_an_effect_or_is_always_on_or_is_reported(name: str) -> None:
    known = {*env_variables.SWITCHES, *env_variables.EFFECTIVE}
    said = env_variables.notices({f"OPENCODE_{name}": "x", "OPENCODE_PY_DATA": "y", "PATH": "z"})
    quiet = name in known | {*env_variables.ALWAYS_ON, *env_variables.INTERNAL}
    assert bool(said) is not quiet
    if said:
        assert f"OPENCODE_{name}: " in said[0]
        assert "PY_DATA" not in said[0]


def test_variables_without_effect_are_reported_in_one_sentence(setting: Setting) -> None:
    setting.env |= {"OPENCODE_AUTH_CONTENT": "secret", "OPENCODE_DB": "x.db"}
    (notice,) = setting.load().notices
    assert "OPENCODE_AUTH_CONTENT: keys come from the providers' own variables" in notice
    assert "OPENCODE_DB: sessions have their own folder" in notice
    assert "secret" not in notice


PERMISSIONS = {
    "permissions": {
        "allow": [
            "Bash(npm run test:*)",
            "Bash(git diff)",
            "Read(//etc/hosts)",
            "Edit(/src/**)",
            "WebFetch(domain:docs.example.com)",
            "mcp__shop",
            "Task(Explore)",
        ],
        "deny": ["Read(./.env)", "Read(./secrets/**)", "Bash(rm:*)", "Edit(*.lock)"],
        "ask": ["Bash(git push:*)", "mcp__shop__buy", "Unknown(x)"],
        "additionalDirectories": ["~/notes/"],
        "defaultMode": "plan",
    },
    "model": "opus",
    "env": {"A": "b"},
}

RULED = [
    ("bash", "npm run test", "allow"),
    ("bash", "npm run test --watch", "allow"),
    ("bash", "npm run testing", None),
    ("bash", "git diff", "allow"),
    ("bash", "git diff HEAD", None),
    ("bash", "git push origin", "ask"),
    ("bash", "rm -rf x", "deny"),
    ("read", "/etc/hosts", "allow"),
    ("read", ".env", "deny"),
    ("read", "sub/.env", None),
    ("read", "secrets/a/b", "deny"),
    ("edit", "src/a.py", "allow"),
    ("edit", "src/deep/a.py", "allow"),
    ("edit", "src/uv.lock", "deny"),
    ("edit", "uv.lock", "deny"),
    ("edit", "other.py", None),
    ("webfetch", "docs.example.com", "allow"),
    ("webfetch", "example.com", None),
    ("shop_list", "*", "allow"),
    ("shop_buy", "*", "ask"),
    ("task", "explore", "allow"),
    ("external_directory", f"{Path.home()}/notes/a/*", "allow"),
]


@pytest.mark.parametrize(("permission", "text", "action"), RULED)
def test_claude_codes_permissions_are_converted(
    setting: Setting, permission: str, text: str, action: str | None
) -> None:
    setting.write(setting.home / ".claude/settings.json", PERMISSIONS)
    loaded = setting.load()
    rules = [Rule(r.permission, r.pattern, r.action, r.source) for r in loaded.rules]
    found = deciding_rule(permission, text, rules)
    assert (found.action if found else None) == action
    assert {rule.source for rule in rules} == {"~/.claude/settings.json"}


def test_claude_codes_permissions_without_effect_are_reported(setting: Setting) -> None:
    setting.write(setting.home / ".claude/settings.json", PERMISSIONS)
    setting.write(
        setting.home / ".claude/settings.local.json", {"permissions": {"allow": ["Bash"]}}
    )
    *_, mode, unknown, every = setting.load().notices
    assert "permissions.defaultMode has no effect: choose the mode" in mode
    assert "Unknown(x) is not a tool" in unknown
    assert "Bash allows every command; only this program's own settings" in every


def test_a_projects_allow_rules_count_only_with_trust_and_are_shown_first(
    setting: Setting,
) -> None:
    setting.theirs(
        {"permissions": {"allow": ["Edit(./docs/**)"], "deny": ["Read(./keys/**)"]}},
        "sub/.claude/settings.json",
    )
    directory = setting.project / "sub"

    def ruled(*, trusted: bool) -> list[tuple[str, str, str]]:
        loaded = load_config(directory, setting.project, setting.env, trusted=trusted)
        return [(r.permission, r.pattern, r.action) for r in loaded.rules]

    denied = [("read", "sub/keys/*", "deny")]
    assert ruled(trusted=False) == denied
    assert ruled(trusted=True) == [("edit", "sub/docs/*", "allow"), *denied]
    loaded = load_config(directory, setting.project, setting.env)
    assert "its allow rules ignored, because this folder is not trusted" in loaded.notices[0]
    found = scan_project(directory, setting.project, Paths.find(setting.env), setting.env)
    assert [(each.kind, each.name, each.detail) for each in found.runs] == [
        ("allowed without asking", "edit", "sub/docs/*")
    ]


def test_a_claude_code_file_without_permissions_changes_nothing() -> None:
    assert from_claude_settings({"model": "opus", "hooks": {}}, "") == ({}, [])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"enableAllProjectMcpServers": True, "enabledMcpjsonServers": ["a"]}, []),
        ({"enabledMcpjsonServers": []}, []),
        ({"enableAllProjectMcpServers": False}, ["enableAllProjectMcpServers"]),
        ({"enabledMcpjsonServers": ["a"]}, ["enabledMcpjsonServers"]),
        ({"deniedMcpServers": [{"serverName": "a"}]}, ["deniedMcpServers"]),
        ({"allowedMcpServers": [{"serverName": "a"}]}, ["allowedMcpServers"]),
    ],
)
def test_a_choice_of_servers_that_differs_here_is_named(
    given: JsonObject, named: list[str]
) -> None:
    """Servers of a trusted folder start: a file that lets only some start has less effect here."""
    settings, ignored = from_claude_settings(given, "")
    assert settings == {}
    assert [path for path, _ in ignored] == [(key,) for key in named]


SERVERS = {
    "mcpServers": {
        "docs": {
            "command": "npx",
            "args": ["-y", "docs@${DOCS_VERSION:-1.2}", "${DOCS_ROOT}"],
            "env": {"TOKEN": "${DOCS_TOKEN}", "MODE": "${MODE:-}"},
        },
        "far": {
            "type": "http",
            "url": "${BASE:-https://far.test}/mcp",
            "headers": {"X": "1"},
            "headersHelper": "/bin/helper",
        },
    },
    "inputs": [],
}


def write_servers(setting: Setting, values: object = SERVERS) -> None:
    (setting.project / ".mcp.json").write_text(json.dumps(values))


def test_a_projects_mcp_json_counts_once_it_is_trusted(setting: Setting) -> None:
    write_servers(setting)
    loaded = load_config(setting.project, setting.project, setting.env)
    assert not loaded.config.mcp
    assert any("not trusted" in notice for notice in loaded.notices)
    found = scan_project(setting.project, setting.project, Paths.find(setting.env), setting.env)
    assert [(one.kind, one.name, one.source) for one in found.runs] == [
        ("MCP server", "docs", ".mcp.json"),
        ("MCP server", "far", ".mcp.json"),
    ]
    assert found.runs[0].argv[:2] == ("npx", "-y")
    assert ".mcp.json" in found.hashes
    loaded = trusting(setting)
    assert list(loaded.config.mcp) == ["docs", "far"]
    assert loaded.sources["mcp.far.url"] == ".mcp.json"


def test_variables_of_mcp_json_are_read_within_the_limits_of_a_project(
    setting: Setting,
) -> None:
    write_servers(setting)
    setting.env |= {"DOCS_TOKEN": "secret", "DOCS_VERSION": "2", "DOCS_ROOT": "/docs"}
    setting.env["BASE"] = "https://evil.test"
    loaded = trusting(setting)
    docs, far = loaded.config.mcp["docs"], loaded.config.mcp["far"]
    assert docs.environment == {"MODE": ""}
    assert not docs.enabled  # disabled, since one of its arguments must not be read
    assert far.enabled
    assert far.url == "https://far.test/mcp"
    notices = "\n".join(loaded.notices)
    assert "a project's settings cannot read the variables DOCS_ROOT, DOCS_TOKEN" in notices
    assert "a project's settings cannot read the variable BASE" in notices
    assert "its default is used" in notices
    assert "mcpServers.far.headersHelper has no effect" in notices
    assert "inputs has no effect" in notices
    setting.own({"project_reads": ["DOCS_TOKEN", "DOCS_VERSION", "BASE", "DOCS_ROOT", "MODE"]})
    setting.env["BASE"] = ""
    loaded = trusting(setting)
    docs, far = loaded.config.mcp["docs"], loaded.config.mcp["far"]
    assert docs.enabled
    assert docs.command == ("npx", "-y", "docs@2", "/docs")
    assert docs.environment == {"TOKEN": "secret", "MODE": ""}
    assert far.url == "https://far.test/mcp"
    assert (far.type, far.headers) == ("remote", {"X": "1"})


def test_servers_disabled_in_claude_codes_settings_are_disabled(setting: Setting) -> None:
    write_servers(setting)
    folder = setting.project / ".claude"
    folder.mkdir()
    (folder / "settings.local.json").write_text('{"disabledMcpjsonServers": ["docs", 7]}')
    mcp = trusting(setting).config.mcp
    assert (mcp["docs"].enabled, mcp["far"].enabled) == (False, True)
    setting.env["OPENCODE_DISABLE_CLAUDE_CODE"] = "1"
    assert not trusting(setting).config.mcp


@pytest.mark.parametrize("values", [[], {"mcpServers": []}, {"mcpServers": {"a": "b"}}, {}])
def test_an_mcp_json_without_servers_changes_nothing(setting: Setting, values: object) -> None:
    write_servers(setting, values)
    assert not trusting(setting).config.mcp
