"""The parser of what the terminal sends: keys, mouse events, pastes, and replies to queries.

A sequence can arrive in pieces, over ssh with pauses between them. A lone Esc, which begins every
sequence, is reported at once as ``EscapeBegun``; whether it was the key is known when something
else follows or nothing has for ``ESCAPE_WAIT``. A terminal with the kitty keyboard protocol sends a
complete sequence for that key too, so that nothing has to be waited for.

Complete sequences that mean no key, such as replies to another program's queries, are dropped.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator

from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.message import Message

ESCAPE_WAIT = 0.17
"""Seconds after which an Esc that nothing followed was the key: those that a slow line pauses
within a sequence, 0.15, and a little for the reader. A turn stops only then, since a closed
connection cannot be taken back; the screen says at once that it will."""

SEQUENCE_WAIT = 0.5
"""Seconds that the next piece of a sequence can take once its kind is known."""

LONGEST_WAIT = 1.0
"""Seconds for the pieces of a sequence together: what follows one without an end is typed. One that
still looks like a reply can take longer, as a slow line delivers it byte by byte."""

MAX_EARLY, MAX_EARLY_LINES = 400, 6
"""Characters and lines that can be typed before the terminal is in raw mode."""

ESC = "\x1b"

ASK_BACKGROUND = "\x1b]11;?\x07"
"""The query for the terminal's background color."""

_STRING = r"[\]P_^X][^\x07\x1b]*"
"""The body of an OSC, DCS, APC, PM or SOS sequence."""
_SEQUENCE = re.compile(
    # Keys of the Linux console, old mouse reports, CSI, SS3, strings, Alt and a character.
    r"\x1b(?:\[\[.|\[M...|\[(?![\[M])[0-?]*[ -/]*[@-~]|O[\d;]*[ -/:<-~]"
    rf"|{_STRING}(?:\x07|\x1b\\)|[^\x1b\[O\]P_^X])",
    re.DOTALL,
)
_BEGUN = re.compile(rf"\x1b(?:\[(?:\[|M.{{0,2}}|[0-?]*[ -/]*)|O[\d;]*|{_STRING}\x1b?)?", re.DOTALL)
"""The beginning of a sequence."""
_INTRODUCERS = "[O]P_^X"
"""The second characters of sequences of three and more."""
ALT_CHARACTERS = frozenset("bdf\r\n\x7f")
"""Characters that do something with Alt here: one that follows a lone Esc in time is such a key.
Any other is typed after the Esc key."""
_ALT_SEQUENCES = ("\x1b\x1b[", "\x1b\x1bO")
"""Arrow and other keys pressed with Alt, as rxvt and PuTTY send them."""
_REPLY = re.compile(r"\x1b(?:\[.|\](?:\d|[lL])|P[\d;]*[!>+$|]|_G).*", re.DOTALL)
"""The beginning of something that is never typed: after it, nothing can be a key."""
_KNOWN_REPLY = re.compile(
    # Keys and reports; colors, the clipboard; version, unit, capabilities, settings; graphics.
    r"\x1b(?:\[[0-?]*[ -/]*|\](?:\d+;)+(?:r?g?b?a?|rgba?:[\da-fA-F/]*)|\]52;\w*;[\w+/=]*"
    r"|P(?:>\|[\w .()+-]{0,40}|!\|[\da-fA-F]*|\d?\+r[\da-fA-F=;]*|\d?\$r[ -?]*\w?)"
    r"|_G[\w=,;: ]{0,80})\x1b?"
)
"""Replies of a known form as far as they have come: text that is typed after a lost end hardly fits
one."""
_LONGEST_KEY = 32
"""The length from which on Textual types a sequence that it does not know."""
_LONGEST_STRING = 1_000_000
"""The length in characters after which a sequence that does not end is given up."""

_BACKGROUND = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*"
    r"(?:\x07|\x1b\\)"
)


class TerminalBackground(Message):
    """The terminal reported its background color."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self.dark = dark


class EscapeBegun(Message):
    """An Esc arrived alone: the key, or the beginning of a sequence. The key itself, or
    ``EscapeTakenBack``, follows."""


class EscapeTakenBack(Message):
    """The Esc that was reported by ``EscapeBegun`` began a sequence."""


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def split_unmarked_paste(data: str) -> tuple[str, str] | None:
    """Split *data*, one read, into pasted text and the keys after it; None if it was typed.

    A line break amid text within one read is never typed. A final carriage return after lines that
    end with line feeds is the Enter key, and so is an initial one, which over a slow line arrives
    together with what was typed after it.
    """
    if ESC in data:
        return None
    body = data.rstrip("\r\n")
    inner = body.lstrip("\r\n")
    if "\n" not in body and "\r" not in body.lstrip("\r"):
        return None
    if not inner or _CONTROL.search(inner):
        return None
    if data.endswith("\r") and "\r" not in body:
        return data[:-1], "\r"
    return data, ""


def split_early(data: str) -> list[str]:
    """Split what was typed before the terminal was in raw mode, all in one read, into reads with
    Enter as a key of its own, which such a terminal delivers as a line feed. What is too long for
    that time, or marked, was pasted."""
    text = data.replace("\n", "\r")
    if text.count("\r") > MAX_EARLY_LINES or len(text) > MAX_EARLY or BRACKETED_PASTE_START in text:
        return [text]
    return [piece for piece in re.split("(\r)", text) if piece]


class KeyParser(XTermParser):
    """Splits the input into sequences and text; Textual's parser gives them their meaning.

    Feed it one read at a time: where a read ends tells an Esc from a sequence, and pasted text from
    typed one. Call ``tick`` when ``timeout`` has passed. *clock* returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._held = ""
        """The beginning of a sequence, or of the end of a paste."""
        self._began = self._arrived = 0.0
        self._alone = False
        """True if the Esc of what is held was the end of a read."""
        self._paste: list[str] | None = None

    @property
    def in_paste(self) -> bool:
        """True between the markers of a paste."""
        return self._paste is not None

    @property
    def waiting(self) -> bool:
        """Return whether a sequence has begun and not ended."""
        return bool(self._held) and not self.in_paste

    @property
    def timeout(self) -> float | None:
        """The seconds after which ``tick`` gives up what is held, None for never."""
        if not self.waiting:
            return None
        wait = ESCAPE_WAIT if self._held == ESC else SEQUENCE_WAIT
        end = self._arrived + wait
        if _KNOWN_REPLY.fullmatch(self._held) is None:
            end = min(end, self._began + LONGEST_WAIT)
        return max(0.0, end - self._clock())

    def expects_more(self, data: str) -> bool:
        """Return whether *data*, read but not fed, can be the beginning of an unmarked paste. A
        marked one says itself where it ends."""
        return not self.in_paste and bool(data) and split_unmarked_paste(data) is not None

    def feed(self, data: str) -> Iterator[Message]:
        """Yield the messages of one read."""
        if not data:
            return
        in_time = self.timeout != 0.0
        if self._held == ESC and self._alone and _continues_escape(data, in_time=in_time):
            yield EscapeTakenBack()
        elif (self._held == ESC and self._alone) or not in_time:
            yield from self._give_up()
        paste = split_unmarked_paste(data) if not (self.in_paste or self._held) else None
        if paste is not None:
            pasted, data = paste
            yield _paste(pasted)
        before = self._held
        yield from self._split(before + data)
        self._arrived = self._clock()
        if not before or not self._held.startswith(before):
            self._began, self._alone = self._arrived, self._held == ESC
            if self._alone:
                yield EscapeBegun()

    def tick(self) -> Iterator[Message]:
        """Yield the messages of a sequence whose rest has not arrived in time."""
        if self.timeout == 0.0:
            yield from self._give_up()

    def close(self) -> None:
        """Read to the end; an incomplete sequence is discarded."""
        for _ in super().feed(""):
            pass

    def _split(self, text: str) -> Iterator[Message]:
        self._held, at = "", 0
        while at < len(text):
            if self._paste is not None:
                at, ended = self._read_paste(self._paste, text, at)
                if ended:
                    yield _paste("".join(self._paste))
                    self._paste = None
                continue
            start = text.find(ESC, at)
            if start != at:
                start = len(text) if start < 0 else start
                yield from self._keys(super().feed(text[at:start]))
                at = start
                continue
            if (whole := _SEQUENCE.match(text, at)) is not None:
                at = whole.end()
                yield from self._meaning(whole.group())
                continue
            if text.startswith(_ALT_SEQUENCES, at):
                whole = _SEQUENCE.match(text, at + 1)
                if whole is not None:
                    at = whole.end()
                    yield from map(_with_alt, self._meaning(whole.group()))
                    continue
            match = _BEGUN.match(text, at)
            assert match is not None  # an Esc is one
            begun = match.group()
            if match.end() == len(text) and len(begun) < _LONGEST_STRING:
                self._held = begun
            else:
                begun = ESC + begun[1:].removesuffix(ESC)  # which begins the next sequence
                yield from self._unfinished(begun, alone=False)
            at += len(begun)

    def _read_paste(self, pasted: list[str], text: str, at: int) -> tuple[int, bool]:
        """Add *text* from *at* on to what was *pasted*; return how far it was read, and whether the
        paste ended there. What can be the beginning of the end's marker is held."""
        end = text.find(BRACKETED_PASTE_END, at)
        if end >= 0:
            pasted.append(text[at:end])
            return end + len(BRACKETED_PASTE_END), True
        sizes = range(len(BRACKETED_PASTE_END) - 1, 0, -1)
        tails = (BRACKETED_PASTE_END[:size] for size in sizes)
        self._held = next((tail for tail in tails if text.endswith(tail, at)), "")
        pasted.append(text[at : len(text) - len(self._held)])
        return len(text), False

    def _meaning(self, sequence: str) -> Iterator[Message]:
        """Yield the messages of a complete *sequence*."""
        if sequence == BRACKETED_PASTE_START:
            self._paste = []
        elif (background := _BACKGROUND.fullmatch(sequence)) is not None:
            yield TerminalBackground(dark=is_dark(*background.groups()))
        elif len(sequence) <= _LONGEST_KEY and sequence[1] not in "]P_^X":
            yield from self._keys(super().feed(sequence))
            if self._awaiting.timeout is not None:  # not known: Textual waits for more
                if len(sequence) == 2:
                    self._timeout_time = 0.0
                    yield from self._keys(super().tick())
                else:
                    self._forget()

    def _forget(self) -> None:
        """Let Textual's parser begin anew."""
        self._timeout_time = None
        self._gen = self.parse(self._tokens.append)  # pyright: ignore[reportUnknownMemberType] - Textual leaves it untyped
        self._awaiting = next(self._gen)

    def _give_up(self) -> Iterator[Message]:
        held, self._held = self._held, ""
        alone, self._alone = self._alone, False
        yield from self._unfinished(held, alone=alone)

    def _unfinished(self, begun: str, *, alone: bool) -> Iterator[Message]:
        """Yield the messages of a sequence that does not end. It was typed, if it can have been: as
        Esc and characters, if that Esc arrived *alone*, otherwise with Alt."""
        if begun == ESC:
            yield events.Key("escape", ESC)
        elif begun.endswith("$") and len(begun) > 2:  # rxvt's keys with shift end there
            yield from self._meaning(begun)
        elif _REPLY.fullmatch(begun) is None:
            typed = begun[1:].removesuffix(ESC)
            if alone:
                yield events.Key("escape", ESC)
                yield from self._keys(super().feed(typed))
            else:
                yield from self._keys(self._sequence_to_key_events(typed[0], alt=True))
                yield from self._keys(super().feed(typed[1:]) if typed[1:] else ())

    def _keys(self, messages: Iterable[Message]) -> Iterator[Message]:
        for message in messages:
            if not isinstance(message, events.Key):
                yield message
            elif message.key.endswith("+\r"):
                # xterm's modifyOtherKeys form of shift+enter
                yield events.Key(message.key[:-1] + "enter", None)
            elif not (message.character and "\ud800" <= message.character <= "\udfff"):
                yield message


def _continues_escape(data: str, *, in_time: bool) -> bool:
    """Return whether *data* goes on a sequence whose Esc arrived alone."""
    return data[0] in _INTRODUCERS or (in_time and data in ALT_CHARACTERS)


def _with_alt(message: Message) -> Message:
    """Return the key that is *message*, pressed with Alt; other messages as they are."""
    return events.Key(f"alt+{message.key}", None) if isinstance(message, events.Key) else message


def _paste(text: str) -> events.Paste:
    """Return *text* as a paste, without what is no text."""
    return events.Paste(text.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8"))


def is_dark(red: str, green: str, blue: str) -> bool:
    """Return whether a color, given as hexadecimal fractions of any length, is closer to black."""
    r, g, b = (int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.5


def colorfgbg_is_dark(colorfgbg: str) -> bool:
    """Return whether ``COLORFGBG`` (``15;0``) names a dark background or none."""
    return colorfgbg.rpartition(";")[2] not in {"7", "15"}
