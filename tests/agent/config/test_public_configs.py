"""Settings as public projects have them: they work, or one line says what has no effect."""

import pytest

from agent.config.loading import load_config
from agent.config.notices import by_file
from agent.runtime.folder_settings import read_settings
from agent.runtime.runtime import open_runtime
from tests.agent.config.conftest import Setting

BAD_PROJECTS = (
    {"agent": {"build": {"disable": True}}},
    {"default_agent": "nobody"},
    {"model": "nowhere/x"},
    {"agent": {"build": {"disable": True}, "plan": {"disable": True}}, "default_agent": "plan"},
    {"disabled_providers": ["demo"], "enabled_providers": ["nobody"]},
    {"provider": {"demo": {"models": {"offline": {"disabled": True}}}}},
)


@pytest.mark.parametrize("settings", BAD_PROJECTS)
async def test_no_project_keeps_the_program_from_starting(setting: Setting, settings) -> None:
    setting.theirs(settings)
    runtime = await open_runtime(setting.project, env=setting.env, trust_once=True)
    assert runtime.agents.get(runtime.config.config.default_agent)
    assert runtime.catalog.model(runtime.catalog.default_model())
    await runtime.close()


@pytest.mark.parametrize("name", ["ollama", "lmstudio", "llamacpp", "box"])
async def test_a_projects_local_provider_needs_no_key(setting: Setting, name: str) -> None:
    url = "http://192.168.1.5:8080/v1"
    given = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url}, "models": {"m": {}}}
    setting.theirs({"model": f"{name}/m", "provider": {name: given}})
    runtime = await open_runtime(setting.project, env=setting.env, trust_once=True)
    assert runtime.catalog.default_model() == f"{name}/m"
    assert runtime.catalog.access.is_usable(name)
    assert runtime.catalog.access.base_url(name) == url
    assert not runtime.notices
    await runtime.close()


def test_other_spellings_are_understood(setting: Setting) -> None:
    model = {
        "variants": {"high": {"reasoningEffort": "high"}, "low": {}, "max": {"disabled": True}}
    }
    setting.own(
        {
            "provider": {"x": {"api": "openai", "models": {"m": model}}},
            "mcpServers": {"q": {"command": "sh", "args": ["x.sh"]}},
            "permission": {"write": {"*": "allow", "*.lock": "deny"}, "apply_patch": "deny"},
        }
    )
    loaded = setting.load()
    assert not loaded.notices
    provider = loaded.config.provider["x"]
    assert (provider.api, provider.models["m"].efforts) == ("openai-chat", ("low", "high"))
    assert loaded.config.mcp["q"].command == ("sh", "x.sh")
    rules = [(rule.permission, rule.pattern, rule.action) for rule in loaded.rules]
    assert rules == [("edit", "*", "allow"), ("edit", "*.lock", "deny"), ("edit", "*", "deny")]


def test_keys_without_effect_are_one_line_for_each_file(setting: Setting) -> None:
    setting.theirs({"share": "manual", "username": "me", "watcher": {"ignore": ["x"]}})
    settings = {"model": "claude-x-1", "env": {"A": "1"}, "cleanupPeriodDays": 3, "statusLine": {}}
    setting.theirs(settings, ".claude/settings.json")
    loaded = load_config(setting.project, setting.project, setting.env, trusted=True)
    second, first = by_file(("something else", *loaded.notices), loaded.files)[1:]
    for key in ("share", "username", "watcher"):
        assert f"{key} has no effect: " in first
    assert first.startswith("opencode.json:")
    assert "model has no effect" in second
    assert "env has no effect" in second
    assert "cleanup" not in second


async def test_servers_and_addresses_of_a_project_are_shown_before_trust(setting: Setting) -> None:
    setting.theirs({"mcpServers": {"q": {"command": "sh", "args": ["x.sh"]}}})
    hooks = [{"type": "command", "command": "lint"}, {"type": "http", "url": "https://x.example/h"}]
    setting.theirs({"hooks": {"Stop": [{"hooks": hooks}]}}, ".claude/settings.json")
    _, trust = await read_settings(setting.project, setting.project, setting.env)
    shown = [run.text for run in trust.found.runs]
    assert shown == ["sh x.sh", "lint", "https://x.example/h"]
