"""Settings that are made without pydantic are those that pydantic would make."""

from typing import Any

from pydantic import TypeAdapter

from agent.config.file_keys import file_key
from agent.config.settings_schema import Config
from agent.records.json_reader import ExactReader, InexactValue
from tests.support.changed_values import changed

EVERY_KIND: dict[str, Any] = {
    "model": "bench/one",
    "permission": {"bash": {"git *": "allow", "*": "ask"}, "edit": "deny"},
    "permission_mode": "deny-wins",
    "provider": {
        "bench": {
            "api": "openai-chat",
            "env": ["BENCH_KEY"],
            "options": {
                "baseURL": "http://127.0.0.1:1/v1",
                "timeout": False,
                "chunkTimeout": 9,
                "headers": {"X-Team": "ünï"},
            },
            "models": {"one": {"limit": {"context": 9}, "cost": {"input": 1, "output": 2.5}}},
        }
    },
    "agent": {"plan": {"mode": "primary", "temperature": 0, "permission": "ask", "steps": None}},
    "mcp": {
        "a": {"command": ["a", "b"], "environment": {"A": "b"}, "oauth": False},
        "b": {"url": "https://example.com", "oauth": {"clientId": "c", "callbackPort": 7}},
    },
    "command": {"fix": {"template": "Fix $1", "argument-hint": "FILE", "subtask": True}},
    "hooks": {"Stop": [{"matcher": "", "hooks": [{"command": "true", "timeout": 3}]}]},
    "lsp": {"own": {"command": ["x"], "initialization": {"a": [1, None, {"b": 2.5}]}}},
    "formatter": True,
    "ui": {"mouse": False, "scroll_speed": 3},
    "statusLine": {"command": "echo"},
    "limits": {"steps": 5, "cost": 1},
    "snapshot": False,
}

READ = ExactReader(lambda _, name: file_key(name), ignores_unknown=False).of(Config)


def test_usual_settings_are_exact() -> None:
    assert READ(EVERY_KIND) == TypeAdapter(Config).validate_python(EVERY_KIND)


def test_the_same_as_pydantic_makes() -> None:
    adapter = TypeAdapter(Config)
    outcomes = {"exact": 0, "left to pydantic": 0}
    for values in changed(EVERY_KIND):
        try:
            made = READ(values)
        except InexactValue:
            outcomes["left to pydantic"] += 1
            continue
        outcomes["exact"] += 1
        assert repr(made) == repr(adapter.validate_python(values)), values
    assert min(outcomes.values()) > 100
