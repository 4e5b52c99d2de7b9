"""Keys from bytes, and from the registry to the keymap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

from app.actions import actions
from app.commands import keymap
from app.toolkit.driver import ALT_ENTER, KeyParser, split_unmarked_paste
from app.widgets.input.prompt import NEWLINE_KEYS


@pytest.fixture(autouse=True)
def alt_enter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add what the driver adds to Textual's table when it is created."""
    for sequence, keys in ALT_ENTER.items():
        monkeypatch.setitem(ANSI_SEQUENCES_KEYS, sequence, keys)


def read(parser: KeyParser, *chunks: str) -> list[str]:
    """Return the keys (or ``paste:…``) that the chunks give, each chunk one read."""
    found: list[str] = []
    for chunk in chunks:
        for message in parser.feed(chunk):
            if isinstance(message, events.Paste):
                found.append(f"paste:{message.text}")
            elif isinstance(message, events.Key):
                found.append(message.key)
    return found


@pytest.mark.parametrize(
    "sequence",
    ["\n", "\x1b\r", "\x1b\n", "\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;3u", "\x1b[27;5;13~"],
)
def test_every_encoding_of_a_newline_key_is_one(sequence: str) -> None:
    keys = read(KeyParser(), "a", sequence, "b", "\r")
    assert len(keys) == 4
    assert keys[0] == "a"
    assert keys[1] in NEWLINE_KEYS
    assert keys[2:] == ["b", "enter"]


def test_a_lone_escape_is_a_key_when_the_next_key_comes_in_another_read() -> None:
    assert read(KeyParser(), "\x1b", "b") == ["escape", "b"]


def test_an_escape_sequence_split_over_two_reads_stays_one_key() -> None:
    assert read(KeyParser(), "\x1b", "[A") == ["up"]
    assert read(KeyParser(), "\x1b[", "A") == ["up"]


def test_alt_and_a_letter_in_one_read_stay_together() -> None:
    parser = KeyParser()
    assert read(parser, "\x1bq") == []
    parser._timeout_time = 0.0
    assert [m.key for m in parser.tick() if isinstance(m, events.Key)] == ["alt+q"]


def test_a_bracketed_paste_is_one_unit_and_its_enter_a_key() -> None:
    assert read(KeyParser(), "\x1b[200~a\nb\nc\x1b[201~", "\r") == ["paste:a\nb\nc", "enter"]


def test_a_bracketed_paste_split_over_reads_is_one_unit() -> None:
    keys = read(KeyParser(), "\x1b[20", "0~a\nb", "\nc\nd", "\x1b[201~")
    assert keys == ["paste:a\nb\nc\nd"]


def test_text_with_line_breaks_in_one_read_is_a_paste_without_markers() -> None:
    assert read(KeyParser(), "a\nb\nc", "\r") == ["paste:a\nb\nc", "enter"]
    assert read(KeyParser(), "a\rb\rc") == ["paste:a\rb\rc"]


@pytest.mark.parametrize(
    "typed", ["hello\r", "\r", "\n", "\r\r", "a\n", "\x03", "x\x03\n", "", "ab"]
)
def test_typed_text_is_not_mistaken_for_a_paste(typed: str) -> None:
    assert split_unmarked_paste(typed) is None


def test_a_carriage_return_after_pasted_line_feeds_is_the_enter_key() -> None:
    assert split_unmarked_paste("a\nb\nc\r") == ("a\nb\nc", "\r")
    assert split_unmarked_paste("a\rb\rc\r") == ("a\rb\rc\r", "")


def test_keys_after_enter_can_arrive_with_it() -> None:
    assert split_unmarked_paste("\r/exit") is None
    assert read(KeyParser(), "\rok") == ["enter", "o", "k"]
    assert split_unmarked_paste("\ra\rb") == ("\ra\rb", "")


def test_bytes_that_are_not_text_are_dropped() -> None:
    """An old mouse report and line noise, as the driver decodes them."""
    noise = b"\x1b[M \x80!".decode("utf-8", "surrogateescape")
    assert read(KeyParser(), noise, "\udcff", "ok") == ["o", "k"]


@given(st.lists(st.text(max_size=12), max_size=6))
def test_no_input_breaks_the_parser(chunks: list[str]) -> None:
    parser = KeyParser()
    read(parser, *chunks)
    if parser.waiting:
        parser._timeout_time = 0.0
        list(parser.tick())


def test_the_default_keys_have_no_conflicts() -> None:
    assert keymap.build(actions()).conflicts == ()


def test_config_moves_a_key_and_none_removes_it() -> None:
    moved = keymap.build(actions(), {"session_new": "f5", "model.list": "none"})
    assert moved.keys_of("session.new") == ("f5",)
    assert moved.keys_of("model.list") == ()


def test_a_key_with_two_actions_goes_to_the_config_and_is_reported() -> None:
    built = keymap.build(actions(), {"session.fork": "<leader>n"})
    assert built.after_leader["n"] == "session.fork"
    assert any("New session" in sentence for sentence in built.conflicts)


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
