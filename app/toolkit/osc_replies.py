"""Replies of the terminal to queries: its background color (OSC 11).

Other replies of this kind, whichever program asked for them, are removed from the input too.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

ASK_BACKGROUND = "\x1b]11;?\x07"

_REPLY_START = re.compile(r"\x1b\]\d+;")
"""The beginning of any OSC reply; it is never typed."""
_END = r"(?:\x07|\x1b\\)"
_MAX_LENGTH = 80
"""The longest reply in characters; anything longer is not one."""
REPLY_TIMEOUT = 0.5
"""Seconds that the rest of a reply can take, also over a slow line."""
_REPLY = re.compile(rf"\x1b\]\d+;[^\x07\x1b]{{0,{_MAX_LENGTH}}}{_END}")
"""A complete reply, including broken ones and replies to the program that ran before."""
_BACKGROUND = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*" + _END
)


class TerminalBackground(Message):
    """The terminal reported its background color."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self.dark = dark


@dataclass(slots=True)
class TerminalReplies:
    """Extracts replies from the input.

    A reply that arrives in two reads is held until it is complete or ``REPLY_TIMEOUT`` has passed.
    """

    clock: Callable[[], float] = time.monotonic
    """Returns monotonic seconds."""
    _held: str = ""
    _since: float = 0.0

    @property
    def waiting(self) -> bool:
        """Return whether a reply has begun and not ended."""
        return bool(self._held)

    def give_up(self) -> None:
        """Forget a reply whose end does not arrive."""
        self._held = ""

    def extract(self, data: str) -> tuple[str, list[TerminalBackground]]:
        """Return *data*, one read, without the replies in it, and the messages for them."""
        if self._held and self.clock() - self._since > REPLY_TIMEOUT:
            self.give_up()
        if not self._held and _REPLY_START.search(data) is None:
            return data, []
        self._since = self._since if self._held else self.clock()
        text, self._held = self._held + data, ""
        found = [
            TerminalBackground(dark=is_dark(*match.groups()))
            for match in map(_BACKGROUND.fullmatch, _REPLY.findall(text))
            if match is not None
        ]
        text = _REPLY.sub("", text)
        begun = _REPLY_START.search(text)
        if begun is not None and len(text) - begun.start() < _MAX_LENGTH:
            text, self._held = text[: begun.start()], text[begun.start() :]
        return text, found


def is_dark(red: str, green: str, blue: str) -> bool:
    """Return whether a color, given as hexadecimal fractions of any length, is closer to black."""
    r, g, b = (int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.5


def colorfgbg_is_dark(colorfgbg: str) -> bool:
    """Return whether ``COLORFGBG`` (``15;0``) names a dark background or none."""
    return colorfgbg.rpartition(";")[2] not in {"7", "15"}
