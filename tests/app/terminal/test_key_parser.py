"""Keys from bytes: whole, in pieces, and after each other."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.message import Message

from app.terminal.driver import ALT_ENTER
from app.terminal.key_parser import (
    ALT_CHARACTERS,
    EscapeBegun,
    EscapeTakenBack,
    KeyParser,
    TerminalBackground,
    split_early,
    split_unmarked_paste,
)
from app.widgets.input.prompt import NEWLINE_KEYS, Prompt

LONG_AGO = 10.0
"""Seconds after which nothing is waited for."""

BACKGROUND = "\x1b]11;rgb:fbfb/fafa/f7f7\x1b\\"
REPLIES = (
    "\x1b[?62;22c",  # device attributes: primary, secondary, tertiary
    "\x1b[>41;354;0c",
    "\x1bP!|00000000\x1b\\",
    "\x1b[?64;1;2;6;9;15;16;17;18;21;22;28;29c",
    "\x1b[0n",
    "\x1b[?997;1n",
    "\x1b[8;24;80t",
    "\x1b[4;480;800t",
    "\x1b[?25u",
    "\x1b[?9001;2$y",
    "\x1b[4;2$y",
    "\x1bP>|XTerm(380)\x1b\\",
    "\x1bP1+r544e=787465726d\x1b\\",
    "\x1bP0+r\x1b\\",
    "\x1bP1$r0m\x1b\\",
    "\x1b_Gi=31;OK\x1b\\",
    "\x1b^private\x1b\\",
    "\x1bXstart of string\x1b\\",
    "\x1b]10;rgb:d6d6/dada/e1e1\x07",
    "\x1b]4;1;rgb:aaaa/0000/0000\x1b\\",
    "\x1b]11;rgb:fbfb/fa\udcfffa/f7f7\x1b\\",
    "\x1b]11;r\x00b:fbfb/fafa/f7f7\x07",
    "\x1b]11;\x07",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b]lthe title\x1b\\",
    "\x1b[M ab",  # an old mouse report
)
SEQUENCES = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[1;5C": "ctrl+right",
    "\x1b[3~": "delete",
    "\x1b[Z": "shift+tab",
    "\x1b[15;2~": "shift+f5",
    "\x1bOP": "f1",
    "\x1b[[A": "f1",
    "\x1b[27u": "escape",
    "\x1b[27;1u": "escape",
    "\x1b[97;;97u": "a",
    "\x1b[99;5u": "ctrl+c",
    "\x1b[13;2u": "shift+enter",
    "\x1b[27;2;13~": "shift+enter",
    "\x1b[I": "AppFocus",
    "\x1b[O": "AppBlur",
    "\x1b[<35;10;10M": "MouseMove",
    "\x1b[<0;10;10M": "MouseDown",
    "\x1b[<65;10;10M": "MouseScrollDown",
    "\x1b[48;24;80;480;800t": "Resize",
    "\x1b[?2026;2$y": "TerminalSupportsSynchronizedOutput",
    "\x1b[200~a\rb\x1b[31mc\x1b[201~": "paste:a\rb\x1b[31mc",
    BACKGROUND: "TerminalBackground",
    **dict.fromkeys(REPLIES, ""),
}


@pytest.fixture(autouse=True)
def alt_enter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add what the driver adds to Textual's table when it is created."""
    for sequence, keys in ALT_ENTER.items():
        monkeypatch.setitem(ANSI_SEQUENCES_KEYS, sequence, keys)


class Line:
    """A parser at the end of a line on which time passes only between the reads."""

    def __init__(self) -> None:
        self.now = 0.0
        self.parser = KeyParser(lambda: self.now)

    def read(self, *chunks: str, gap: float = 0.0) -> list[str]:
        """Return what the chunks mean, each one read, with *gap* seconds after each."""
        found: list[str] = []
        for chunk in chunks:
            found += names(self.parser.feed(chunk))
            found += self.wait(gap)
        return found

    def wait(self, seconds: float = LONG_AGO) -> list[str]:
        self.now += seconds
        return names(self.parser.tick())


def names(messages: Iterable[Message]) -> list[str]:
    """Return keys as such, a paste as ``paste:…``, other messages by their class."""
    found: list[str] = []
    for message in messages:
        if isinstance(message, events.Key):
            found.append(message.key)
        elif isinstance(message, events.Paste):
            found.append(f"paste:{message.text}")
        elif not isinstance(message, EscapeBegun | EscapeTakenBack):
            found.append(type(message).__name__)
    return found


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("gap", [0.0, 0.05, 0.08, 0.15])
def test_a_sequence_cut_at_any_byte_is_the_same(sequence: str, gap: float) -> None:
    meaning = [SEQUENCES[sequence]] if SEQUENCES[sequence] else []
    for at in range(1, len(sequence) + 1):
        line = Line()
        assert line.read("x", sequence[:at], sequence[at:], "y", gap=gap) == ["x", *meaning, "y"]
        assert line.wait() == []


@pytest.mark.parametrize(
    "sequence", [s for s in ANSI_SEQUENCES_KEYS if s[:2] in {"\x1b[", "\x1bO"}]
)
def test_every_known_sequence_can_be_cut(sequence: str) -> None:
    whole = Line().read(sequence) or (line := Line()).read(sequence) + line.wait()
    for at in range(1, len(sequence)):
        line = Line()
        assert line.read(sequence[:at], sequence[at:], gap=0.15) + line.wait() == whole


@pytest.mark.parametrize("gap", [0.0, 0.15])
def test_a_sequence_in_single_bytes_is_one_key(gap: float) -> None:
    assert Line().read(*"\x1b[1;5C", gap=gap) == ["ctrl+right"]
    assert Line().read(*"\x1b[200~ab\x1b[201~c", gap=gap) == ["paste:ab", "c"]


UNKNOWN_FORM = {
    "\x1b^private\x1b\\",
    "\x1bXstart of string\x1b\\",
    "\x1b]lthe title\x1b\\",
    "\x1b]11;rgb:fbfb/fa\udcfffa/f7f7\x1b\\",
    "\x1b]11;r\x00b:fbfb/fafa/f7f7\x07",
}
"""Sequences whose rest could be typed text."""


@pytest.mark.parametrize("sequence", sorted(set(SEQUENCES) - UNKNOWN_FORM))
@pytest.mark.parametrize("gap", [0.05, 0.08, 0.15])
def test_a_sequence_in_single_bytes_is_the_same(sequence: str, gap: float) -> None:
    line = Line()
    meaning = [SEQUENCES[sequence]] if SEQUENCES[sequence] else []
    assert line.read("x", *sequence, "y", gap=gap) + line.wait() == ["x", *meaning, "y"]


def test_a_lone_escape_is_a_key_after_the_wait_or_with_the_next_key() -> None:
    line = Line()
    assert line.read("\x1b", gap=0.15) == []
    assert line.wait() == ["escape"]
    assert line.read("\x1b", "x") == ["escape", "x"]
    assert line.read("\x1b", "\x1b", "\x1b[A") + line.wait() == ["escape", "escape", "up"]
    assert line.read("\x1b\x1b") + line.wait() == ["escape", "escape"]


def test_a_lone_escape_is_a_key_soon_after_the_longest_pause_of_a_line() -> None:
    assert Line().read("\x1b", gap=0.18) == ["escape"]


def test_the_escape_of_the_kitty_protocol_is_not_waited_for() -> None:
    line = Line()
    assert line.read("\x1b[27u") == ["escape"]
    assert line.parser.timeout is None


def test_a_lone_escape_is_reported_at_once_and_taken_back() -> None:
    parser = Line().parser
    assert [type(one) for one in parser.feed("\x1b")] == [EscapeBegun]
    first, up = parser.feed("[A")
    assert isinstance(first, EscapeTakenBack)
    assert isinstance(up, events.Key)
    assert up.key == "up"


def test_alt_is_part_of_the_key_in_one_read() -> None:
    line = Line()
    assert line.read("\x1bq") == ["alt+q"]
    assert line.read("\x1b\x1b[A") == ["alt+up"]
    assert line.read("\x1bO") + line.wait() == ["alt+shift+o"]
    assert line.read("\x1b", "O") + line.wait() == ["escape", "O"]


@pytest.mark.parametrize("gap", [0.0, 0.05, 0.08, 0.15])
@pytest.mark.parametrize("character", sorted(ALT_CHARACTERS))
def test_alt_and_a_character_can_be_cut(character: str, gap: float) -> None:
    whole = Line().read("\x1b" + character)
    assert len(whole) == 1
    line = Line()
    assert line.read("a", "\x1b", character, "y", gap=gap) == ["a", *whole, "y"]
    assert line.read("\x1b", gap=0.2) == ["escape"]
    assert line.wait() == []


def test_every_key_with_alt_of_the_prompt_can_be_cut() -> None:
    bound = {key for binding in Prompt.BINDINGS for key in binding.key.split(",")}
    letters = {key.removeprefix("alt+") for key in bound if len(key) == 5 and key[:4] == "alt+"}
    assert letters
    assert letters <= ALT_CHARACTERS


@pytest.mark.parametrize(
    "sequence",
    ["\n", "\x1b\r", "\x1b\n", "\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;3u", "\x1b[27;5;13~"],
)
def test_every_encoding_of_a_newline_key_is_one(sequence: str) -> None:
    keys = Line().read("a", sequence, "b", "\r")
    assert len(keys) == 4
    assert keys[0] == "a"
    assert keys[1] in NEWLINE_KEYS
    assert keys[2:] == ["b", "enter"]


def test_a_sequence_that_is_broken_off_takes_nothing_with_it() -> None:
    assert Line().read("\x1b[1;\x03", "\x1b]11;rgb\x1b[Ax") == ["ctrl+c", "up", "x"]


def test_a_lost_end_of_a_reply_delays_typed_keys_only_briefly() -> None:
    line = Line()
    assert line.read(f"a{BACKGROUND[:-2]}") == ["a"]
    assert line.read(*"some words", gap=0.2)[-5:] == [*"words"]
    assert line.read(BACKGROUND[:-2]) + line.wait() + line.read("typed") == [*"typed"]


def test_a_reply_reports_the_background() -> None:
    (found,) = Line().parser.feed(BACKGROUND)
    assert isinstance(found, TerminalBackground)
    assert not found.dark


def test_text_with_line_breaks_in_one_read_is_a_paste_without_markers() -> None:
    assert Line().read("a\nb\nc", "\r") == ["paste:a\nb\nc", "enter"]
    assert Line().read("a\rb\rc") == ["paste:a\rb\rc"]


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
    assert Line().read("\rok") == ["enter", "o", "k"]
    assert split_unmarked_paste("\ra\rb") == ("\ra\rb", "")


def test_bytes_that_are_not_text_are_dropped() -> None:
    """An old mouse report and line noise, as the driver decodes them."""
    noise = b"\x1b[M \x80!".decode("utf-8", "surrogateescape")
    assert Line().read(noise, "\udcff", "ok") == ["o", "k"]


@given(st.lists(st.text(st.characters() | st.sampled_from("\x1b[]OP_\\\x07;?1A~"), max_size=12)))
def test_no_input_breaks_the_parser(chunks: list[str]) -> None:
    line = Line()
    line.read(*chunks)
    line.wait()
    if not line.parser.in_paste:
        assert line.read("ok", "\x1b[27u")[-3:] == ["o", "k", "escape"]


def test_only_an_unmarked_paste_is_gathered_before_it_is_read() -> None:
    """The end of a marked one is looked for in each read, so a large one costs only its size."""
    parser = KeyParser()
    assert parser.expects_more("one\ntwo")
    assert not parser.expects_more("")
    assert not parser.expects_more("one\n\x01")
    assert not list(parser.feed("\x1b[200~one\ntwo"))
    assert not parser.expects_more("three\nfour")


@pytest.mark.parametrize(
    ("early", "keys"),
    [
        ("hi\n", ["h", "i", "enter"]),
        ("a\n!b\r\r", ["a", "enter", "exclamation_mark", "b", "enter", "enter"]),
        ("a\nb", ["a", "enter", "b"]),
        ("\x1b[A\n", ["up", "enter"]),
    ],
)
def test_enter_typed_before_the_first_frame_is_a_key(early: str, keys: list[str]) -> None:
    assert Line().read(*split_early(early)) == keys


@pytest.mark.parametrize("early", ["a\n" * 9, "a" * 500 + "\nb\n", "\x1b[200~a\rb\r\x1b[201~"])
def test_what_is_too_long_to_be_typed_before_the_first_frame_is_a_paste(early: str) -> None:
    pasted, *rest = Line().read(*split_early(early))
    assert pasted.startswith("paste:")
    assert rest in ([], ["enter"])
