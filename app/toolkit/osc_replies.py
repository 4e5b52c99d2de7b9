"""What a terminal answers when it is asked: the colour of its background (OSC 11). Other answers
of its kind, whoever asked, are taken out of what is typed as well."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

ASK_BACKGROUND = "\x1b]11;?\x07"

_BEGINS = re.compile(r"\x1b\]\d+;")
"""The beginning of any answer (OSC); nobody types that."""
_END = r"(?:\x07|\x1b\\)"
_LONGEST = 80
"""Characters that an answer may have; what goes on longer is none."""
REPLY_TIMEOUT = 0.5
"""Seconds that the rest of an answer may take, also over a slow line."""
_ANSWER = re.compile(rf"\x1b\]\d+;[^\x07\x1b]{{0,{_LONGEST}}}{_END}")
"""Also one that a bad line broke, or to a question of the program that ran before."""
_BACKGROUND = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*" + _END
)


class TerminalBackground(Message):
    """The terminal told the colour of its background: *dark* or light."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self.dark = dark


@dataclass(slots=True)
class TerminalReplies:
    """Takes the answers out of what is read. One that came in two reads is kept till then, but not
    for ever, whoever goes on typing. *clock* is in seconds."""

    clock: Callable[[], float] = time.monotonic
    _held: str = ""
    _since: float = 0.0

    @property
    def waiting(self) -> bool:
        """Whether an answer has begun and not ended."""
        return bool(self._held)

    def give_up(self) -> None:
        """Forget an answer whose end does not come: it was lost on the way."""
        self._held = ""

    def extract(self, data: str) -> tuple[str, list[TerminalBackground]]:
        """*data*, one read, without the answers in it, and what they say."""
        if self._held and self.clock() - self._since > REPLY_TIMEOUT:
            self.give_up()
        if not self._held and _BEGINS.search(data) is None:
            return data, []
        self._since = self._since if self._held else self.clock()
        text, self._held = self._held + data, ""
        found = [
            TerminalBackground(dark=is_dark(*match.groups()))
            for match in map(_BACKGROUND.fullmatch, _ANSWER.findall(text))
            if match is not None
        ]
        text = _ANSWER.sub("", text)
        begun = _BEGINS.search(text)
        if begun is not None and len(text) - begun.start() < _LONGEST:
            text, self._held = text[: begun.start()], text[begun.start() :]
        return text, found


def is_dark(red: str, green: str, blue: str) -> bool:
    """Whether a colour, given as hexadecimal shares of any length, is nearer to black."""
    r, g, b = (int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.5


def colorfgbg_is_dark(colorfgbg: str) -> bool:
    """What ``COLORFGBG`` (``15;0``) says of the background; dark where it says nothing."""
    return colorfgbg.rpartition(";")[2] not in {"7", "15"}
