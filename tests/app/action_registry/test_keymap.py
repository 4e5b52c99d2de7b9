"""The keymap made of the registry's actions."""

from app.action_registry import keymap
from app.actions import actions


def test_the_default_keys_have_no_conflicts() -> None:
    assert keymap.build(actions()).conflicts == ()


def test_config_moves_a_key_and_none_removes_it() -> None:
    moved = keymap.build(actions(), {"session_new": "f5", "model.list": "none"})
    assert moved.keys_of("session.new") == ("f5",)
    assert moved.keys_of("model.list") == ()


def test_a_key_with_two_actions_goes_to_the_config_and_is_reported() -> None:
    built = keymap.build(actions(), {"session.fork": "<leader>n"})
    assert built.after_leader["n"] == "session.fork"
    assert any("Start a new session" in sentence for sentence in built.conflicts)


def test_fixed_keys_and_unknown_actions_are_refused_with_a_sentence() -> None:
    built = keymap.build(actions(), {"session.fork": "ctrl+c", "no.such": "f9"})
    assert "ctrl+c" not in built.direct
    assert len(built.conflicts) == 2


def test_the_leader_waits_for_one_key_and_not_for_long() -> None:
    now = 0.0
    leader = keymap.LeaderKey(lambda: now)
    assert not leader.consume()
    leader.press()
    assert leader.consume()
    assert not leader.consume()
    leader.press()
    now = keymap.LEADER_SECONDS + 0.1
    assert not leader.consume()


def test_the_leader_waits_as_long_as_the_settings_say() -> None:
    now = 0.0
    leader = keymap.LeaderKey(lambda: now, seconds=5)
    leader.press()
    now = 4.9
    assert leader.consume()


def test_names_of_opencode_are_known_and_unknown_ones_are_reported_together() -> None:
    there = {known.id for known in actions()}
    assert set(keymap.ALIASES.values()) <= there
    built = keymap.build(actions(), {f"input_word_{n}": "f9" for n in range(9)})
    (sentence,) = built.conflicts
    assert "input_word_0" in sentence
    assert sentence.endswith("and 5 more.")
