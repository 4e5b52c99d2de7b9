"""``opencode-py debug``: answers for users and for scripts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness import environment, write_config
from tests.support.model_server import ModelServer
from tests.support.script import Call, Cut, Reason, Text, answer

COMMAND = [sys.executable, str(Path(__file__).parents[4] / "opencode_py.py")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "shop").mkdir()
    return tmp_path


def debug(folder: Path, *arguments: str, given: str = "") -> str:
    done = subprocess.run(
        [*COMMAND, "debug", *arguments],
        input=given,
        cwd=folder / "shop",
        env=environment(folder / "home"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_permission_cases_are_judged_by_their_own_rules_only(folder: Path) -> None:
    write_config(folder / "home", {"permission": {"bash": "allow"}})
    case = {
        "id": "one",
        "command": "git status && rm x > out",
        "cwd": "/w/p",
        "home": "/home/u",
        "rules": [
            {"permission": "bash", "pattern": "git *", "action": "allow"},
            {"permission": "bash", "pattern": "rm *", "action": "deny"},
        ],
    }
    (line,) = debug(folder, "permission", "--jsonl", given=lines(case)).splitlines()
    found = json.loads(line)
    assert (found["id"], found["verdict"], found["analysable"]) == ("one", "deny", True)
    assert found["commands"] == ["git", "rm"]
    assert found["edits"] == ["/w/p/out"]


def test_the_explanation_names_the_deciding_rule_and_the_always_pattern(folder: Path) -> None:
    write_config(folder / "home", {"permission": {"bash": {"git push *": "deny"}}})
    printed = debug(folder, "permission", "bash", "git push && npm run build")
    assert "deny  git push" in printed
    assert "git push *" in printed
    assert "config.json" in printed
    assert "Together: deny" in printed
    printed = debug(folder, "permission", "bash", "npm --prefix web publish > AGENTS.md")
    assert "the same as: npm publish, in web" in printed
    assert "it always asks" in printed
    assert "would store: bash: cd web && npm publish\n" in printed
    assert "npm run build *" in debug(folder, "permission", "bash", "npm run build")


def test_a_path_is_judged_as_a_tool_names_it(folder: Path) -> None:
    rules = {"*": "allow", f"{folder}/shop/locked/*": "deny", "**/.secretcfg": "deny"}
    write_config(folder / "home", {"permission": {"edit": rules, "read": {"**/top": "deny"}}})
    for permission, path, verdict in (
        ("edit", "locked/a.txt", "deny"),
        ("edit", "./locked/../locked/a.txt", "deny"),
        ("edit", ".secretcfg", "deny"),
        ("edit", "a.txt", "allow"),
        ("edit", ".git/config", "ask"),
        ("edit", "../a.txt", "ask"),
        ("read", f"{folder}/shop/top", "deny"),
        ("read", ".env", "ask"),
    ):
        assert f"Together: {verdict}," in debug(folder, "permission", permission, path), path


def test_edits_are_answered_with_the_text_or_the_reason(folder: Path) -> None:
    cases = [
        {
            "id": "a",
            "before": "\ufeffone\r\ntwo\r\n",
            "old": "two",
            "new": "$1",
            "replace_all": False,
        },
        {"id": "b", "before": "x\nx\n", "old": "x", "new": "y", "replace_all": False},
    ]
    first, second = map(
        json.loads, debug(folder, "edit", "--jsonl", given=lines(*cases)).splitlines()
    )
    assert first["after"] == "\ufeffone\r\n$1\r\n"
    assert "after" not in second
    assert second["error"]


def test_each_setting_names_its_source(folder: Path) -> None:
    write_config(folder / "home", {"model": "demo/offline", "permission": {"edit": "allow"}})
    printed = debug(folder, "config")
    assert "model" in printed
    assert "config.json" in printed
    assert "allow edit: *" in printed
    assert str(folder / "home" / "data") in debug(folder, "paths")


async def test_a_stream_is_read_through_the_real_provider_layer(folder: Path) -> None:
    import asyncio

    async with ModelServer() as server:
        server.script(
            answer(Reason("hm"), Text("hello"), Call("get_weather", {"city": "Ulm"})),
            answer(Text("half"), Cut()),
        )
        case = {"provider": "acme", "api": "openai-chat", "model": "m", "base_url": server.url}
        given = [lines({"id": name, **case}) for name in ("whole", "broken")]
        found = [
            json.loads(await asyncio.to_thread(debug, folder, "stream", "--jsonl", given=one))
            for one in given
        ]
    whole, broken = found
    assert (whole["text"], whole["reasoning"], whole["finish"]) == ("hello", "hm", "tool-calls")
    assert whole["tool_calls"][0]["input"] == {"city": "Ulm"}
    assert whole["order"] == ["reasoning", "text", "tool"]
    assert whole["usage"]["input"] == 100
    assert (broken["text"], broken["run_tools"]) == ("half", False)
    assert broken["error"]["class"] == "network"


def test_an_unknown_part_exits_with_2(folder: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "debug", "nonsense"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "nonsense" in done.stderr


def test_info_and_lists_are_json_too(folder: Path) -> None:
    settings = {"provider": {"openai": {"options": {"apiKey": "sk-very-secret"}}}}
    write_config(folder / "home", {**settings, "permission": {"bash": {"ls *": "allow"}}})
    facts = json.loads(debug(folder, "info", "--json"))
    assert facts["python"].startswith("3.")
    assert facts["folder"] == str(folder / "shop")
    assert facts["settings from"]
    assert "trust" in debug(folder, "info")
    assert json.loads(debug(folder, "paths", "--json"))["data"] == str(folder / "home" / "data")
    config = debug(folder, "config", "--json")
    assert json.loads(config)["rules"][0]["pattern"] == "ls *"
    for printed in (config, debug(folder, "config"), debug(folder, "info"), json.dumps(facts)):
        assert "sk-very-secret" not in printed
