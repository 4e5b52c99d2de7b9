"""The notices of a run: each sentence once, with how often it came up."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from agent.records.frozen import frozen

Level = Literal["information", "warning", "error"]

MAX_KEPT = 500
"""The notices that are kept; older ones are dropped."""


@frozen
class Notice:
    """A sentence for the user."""

    text: str
    level: Level = "information"
    times: int = 1
    """The number of times it occurred."""
    lasting: bool = False
    """True if it holds until its cause is fixed, such as a fault of the settings."""


class NoticeLog:
    """All notices in the order in which they first came up."""

    def __init__(self) -> None:
        self._notices: dict[str, Notice] = {}
        self._unseen: set[str] = set()

    @property
    def all(self) -> tuple[Notice, ...]:
        return tuple(self._notices.values())

    @property
    def lasting(self) -> tuple[str, ...]:
        """The sentences that hold until their cause is fixed."""
        return tuple(one.text for one in self._notices.values() if one.lasting)

    @property
    def unseen(self) -> int:
        """The number of warnings and errors since the list was last looked at."""
        return len(self._unseen)

    def add(self, text: str, level: Level = "information") -> None:
        before = self._notices.get(text)
        times = before.times + 1 if before is not None else 1
        self._notices[text] = Notice(text, level, times, lasting=bool(before and before.lasting))
        if level != "information":
            self._unseen.add(text)
        while len(self._notices) > MAX_KEPT:
            self._forget(next(iter(self._notices)))

    def set_lasting(self, texts: Iterable[str]) -> None:
        """Replace the lasting notices by *texts*; those that came before stay as they are."""
        new = dict.fromkeys(texts)
        for text in self.lasting:
            if text not in new:
                self._forget(text)
        for text in new:
            if text not in self._notices:
                self._notices[text] = Notice(text, "warning")
                self._unseen.add(text)
            self._notices[text] = replace(self._notices[text], lasting=True)

    def mark_seen(self) -> None:
        """Count from now on only what comes up anew."""
        self._unseen.clear()

    def _forget(self, text: str) -> None:
        del self._notices[text]
        self._unseen.discard(text)
