"""What a terminal answers when it is asked: the colour of its background (OSC 11)."""

import re
from dataclasses import dataclass

from textual.message import Message

ASK_BACKGROUND = "\x1b]11;?\x07"

_BEGINS = "\x1b]11;"
_ANSWER = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*"
    r"(?:\x07|\x1b\\)"
)
_LONGEST = 80
"""Characters that an answer may have; what goes on longer is none."""


class TerminalBackground(Message):
    """The terminal told the colour of its background: *dark* or light."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self.dark = dark


@dataclass(slots=True)
class Replies:
    """Takes the answers out of what is read. One that came in two reads is kept till then."""

    _held: str = ""

    def take(self, data: str) -> tuple[str, list[TerminalBackground]]:
        """*data*, one read, without the answers in it, and what they say."""
        if not self._held and _BEGINS not in data:
            return data, []
        text, self._held = self._held + data, ""
        found = [
            TerminalBackground(dark=is_dark(*match.groups())) for match in _ANSWER.finditer(text)
        ]
        text = _ANSWER.sub("", text)
        begun = text.find(_BEGINS)
        if begun >= 0 and len(text) - begun < _LONGEST:
            text, self._held = text[:begun], text[begun:]
        return text, found


def is_dark(red: str, green: str, blue: str) -> bool:
    """Whether a colour, given as hexadecimal shares of any length, is nearer to black."""
    r, g, b = (int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.5


def hinted_dark(colorfgbg: str) -> bool:
    """What ``COLORFGBG`` (``15;0``) says of the background; dark where it says nothing."""
    return colorfgbg.rpartition(";")[2] not in {"7", "15"}
