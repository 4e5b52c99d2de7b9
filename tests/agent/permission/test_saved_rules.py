"""Rules saved to the user's own settings."""

import json
from pathlib import Path

import pytest

from agent.agents import Agents
from agent.config.loading import load_config
from agent.config.paths import Paths
from agent.permission.rules import deciding_rule, evaluate, strictest
from agent.permission.saved_rules import save_rule, save_setting
from agent.permission.shell.analysis import command_needs
from agent.records.errors import ConfigError


def test_a_saved_rule_is_read_at_the_next_start(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "OPENCODE_PY_CONFIG_DIR": str(tmp_path / "config")}
    path = save_rule(tmp_path / "config", "bash", "git push *")
    save_rule(tmp_path / "config", "webfetch", "docs.python.org")
    assert path == tmp_path / "config" / "config.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    loaded = load_config(tmp_path, tmp_path, env, paths=Paths.find(env))
    assert loaded.notices == ()
    for permission, text in (("bash", "git push origin"), ("webfetch", "docs.python.org")):
        rule = deciding_rule(permission, text, Agents(loaded).rules("build"))
        assert rule is not None
        assert rule.action == "allow"


def test_a_rule_is_saved_to_the_file_that_has_rules_and_keeps_its_comments(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"permission": {"edit": "ask"}}')
    (tmp_path / "config.jsonc").write_text('{"theme": "nord"} // mine')
    assert save_rule(tmp_path, "bash", "make *").name == "config.json"
    (tmp_path / "config.jsonc").write_text('{"permission": {"bash": "ask"}} // mine')
    path = save_rule(tmp_path, "bash", "make *")
    assert path.name == "config.jsonc"
    assert path.read_text().endswith("} // mine")


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"permission": ')
    with pytest.raises(ConfigError, match=r"was not changed: line 1.*by hand"):
        save_rule(tmp_path, "bash", "make *")
    assert (tmp_path / "config.json").read_text() == '{"permission": '


def test_a_saved_rule_keeps_the_limits_of_an_answer(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "OPENCODE_PY_CONFIG_DIR": str(tmp_path / "config")}
    config = tmp_path / "config" / "config.json"
    config.parent.mkdir()
    bash = {"git push --tags *": "deny", "git tag *": "allow"}
    config.write_text(json.dumps({"permission": {"bash": bash}}))
    save_rule(tmp_path / "config", "bash", "git push *")
    loaded = load_config(tmp_path, tmp_path, env, paths=Paths.find(env))
    assert loaded.notices == ()
    rules = Agents(loaded).rules("build")

    def action_of(line: str) -> str:
        needs = command_needs(line, directory="/srv", project="/srv", home="/home/a", start="/srv")
        return strictest(*(evaluate(need, rules).action for need in needs))

    assert action_of("git push origin main") == "allow"
    assert action_of("git push --force origin main") == "ask"
    assert action_of("git push --tags origin") == "deny", "no answer lifts a deny"
    assert action_of("git tag --force v1") == "allow", "the user's own rule is as it is written"


def test_a_rule_saved_before_there_were_marks_counts_as_written_until_it_is_saved_again(
    tmp_path: Path,
) -> None:
    env = {"HOME": str(tmp_path), "OPENCODE_PY_CONFIG_DIR": str(tmp_path / "config")}

    def action_of(line: str) -> str:
        loaded = load_config(tmp_path, tmp_path, env, paths=Paths.find(env))
        needs = command_needs(line, directory="/srv", project="/srv", home="/home/a", start="/srv")
        rules = Agents(loaded).rules("build")
        return strictest(*(evaluate(need, rules).action for need in needs))

    save_setting(tmp_path / "config", ("permission", "bash", "git push *"), "allow")
    assert action_of("git push --force origin main") == "allow"
    save_rule(tmp_path / "config", "bash", "git push *")
    assert action_of("git push --force origin main") == "ask"
    assert action_of("git push origin main") == "allow"


@pytest.mark.parametrize("text", ["", "[]", '{"rules": 1}', '{"rules": {"bash": [1, "git *"]}}'])
def test_unreadable_marks_do_not_stop_the_start(tmp_path: Path, text: str) -> None:
    env = {"HOME": str(tmp_path), "OPENCODE_PY_CONFIG_DIR": str(tmp_path)}
    (tmp_path / "config.json").write_text('{"permission": {"bash": {"git *": "allow"}}}')
    (tmp_path / "saved-rules.json").write_text(text)
    loaded = load_config(tmp_path, tmp_path, env, paths=Paths.find(env))
    assert [rule.saved for rule in loaded.rules] == ["git" in text]
