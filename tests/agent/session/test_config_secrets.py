"""Secrets that the settings read with ``{env:…}`` and ``{file:…}`` stay away from the model."""

import json
import logging
from pathlib import Path

import pytest

from agent.config.loading import load_config
from agent.provider.catalog.from_config import secret_variables
from agent.redact import PLACEHOLDER, all_secrets
from app.startup.logs import start_log
from tests.support.harness import environment, open_harness, write_config
from tests.support.script import Call, Text, answer

KEY = "placeholder-4711-of-the-settings"


async def test_commands_and_the_model_get_no_secret_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable that the settings read is not inherited; the content of a file that they read is
    redacted wherever a tool prints it, in a failure too."""
    monkeypatch.setenv("SHOP_PASSPHRASE", "from-the-environment")
    monkeypatch.setenv("SHOP_PLAIN", "kept")
    key_file = tmp_path / "key"
    key_file.write_text(f"{KEY}\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "notes.txt").write_text(f"the key is {KEY}\n")
    mcp = {"shop": {"url": "http://127.0.0.1:9/", "headers": {"X": "{env:SHOP_PASSPHRASE}"}}}
    mcp["shop"]["enabled"] = False
    search = {"provider": "brave", "apiKey": f"{{file:{key_file}}}"}
    async with open_harness(tmp_path, permission="allow", mcp=mcp, websearch=search) as harness:
        harness.server.script(
            answer(Call("bash", {"command": "env; echo $SHOP_PASSPHRASE; cat notes.txt"})),
            answer(Call("bash", {"command": "cat notes.txt >&2; exit 3"})),
            answer(Call("read", {"file_path": "notes.txt"})),
            answer(Call("grep", {"pattern": "the key"})),
            answer(Text("done")),
        )
        session = await harness.session()
        await harness.turn(session, "print it")
        sent = str(harness.server.requests[-1].body)
        assert "SHOP_PLAIN=kept" in sent
        assert "from-the-environment" not in sent
        assert KEY not in sent
        assert sent.count(f"the key is {PLACEHOLDER}") == 4


async def test_no_hook_tells_the_model_a_secret_of_the_settings(tmp_path: Path) -> None:
    key_file = tmp_path / "key"
    key_file.write_text(f"{KEY}\n")

    def hooks_for(event: str, **said: str) -> list[dict[str, object]]:
        output = {"hookSpecificOutput": {"hookEventName": event, **said}}
        command = f"echo '{json.dumps(output)}'"
        return [{"hooks": [{"type": "command", "command": command}]}]

    events = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart")
    hooks = {event: hooks_for(event, additionalContext=f"{event} {KEY}") for event in events}
    search = {"provider": "brave", "apiKey": f"{{file:{key_file}}}"}
    async with open_harness(tmp_path, permission="allow", hooks=hooks, websearch=search) as harness:
        harness.server.script(
            answer(Call("glob", {"pattern": "*"})),
            answer(Call("read", {"file_path": "none"})),
            answer(Text("x")),
        )
        session = await harness.session()
        await harness.turn(session, "go")
        sent = str(harness.server.requests[-1].body)
        assert KEY not in sent
        assert [event for event in events if f"{event} {PLACEHOLDER}" not in sent] == []
        assert KEY not in str(await harness.messages(session))


def test_variables_of_all_settings_are_known(tmp_path: Path) -> None:
    """Wherever they are named; harmless ones stay, and what may be seen is not redacted."""
    home = tmp_path / "home"
    settings: dict[str, object] = {
        "model": "{env:SHOP_MODEL}",
        "provider": {
            "shop": {
                "options": {
                    "apiKey": "{env:SHOP_API}",
                    "headers": {"Authorization": "Basic {env:SHOP_LOGIN:-none}"},
                }
            }
        },
        "mcp": {
            "x": {"command": ["x", "--in", "{env:HOME}"], "environment": {"A": "{env:SHOP_A}"}}
        },
    }
    write_config(home, settings)
    env = {
        **environment(home),
        "SHOP_MODEL": "shop/large-model",
        "SHOP_API": "api-of-the-shop",
        "SHOP_LOGIN": "login-of-the-shop",
        "SHOP_A": "short",
    }
    loaded = load_config(tmp_path, tmp_path, env)
    named = {"SHOP_MODEL", "SHOP_API", "SHOP_LOGIN", "SHOP_A"}
    assert loaded.variables == named
    assert named <= secret_variables(loaded)
    known = set(all_secrets({}))
    assert {"api-of-the-shop", "login-of-the-shop"} <= known
    assert not {"shop/large-model", "short", env["HOME"]} & known


def test_the_log_has_no_secret_of_the_settings(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_config(home, {"provider": {"shop": {"options": {"apiKey": "{env:SHOP_LOGGED}"}}}})
    env = {**environment(home), "SHOP_LOGGED": "logged-by-accident"}
    load_config(tmp_path, tmp_path, env)
    root = logging.getLogger()
    before = list(root.handlers)
    try:
        file = start_log(env)
        logging.getLogger("agent").warning("refused: %s", "Bearer logged-by-accident")
        assert PLACEHOLDER in file.read_text()
        assert "logged-by-accident" not in file.read_text()
    finally:
        for handler in set(root.handlers) - set(before):
            root.removeHandler(handler)
            handler.close()
