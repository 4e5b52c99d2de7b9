"""A call: one command as it is called in a line."""

import re
from typing import NamedTuple

from agent.permission.shell.paths import Dirs
from agent.permission.syntax.words import Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]]*\])?\+?=")
"""A word that sets a variable, or an element of one: its name first."""

FoldersAfter = tuple[Dirs, Dirs]
"""The folders that the next command can run in after success, and after failure."""


class Call(NamedTuple):
    """One command as it is called in the line."""

    words: tuple[Word, ...]
    """The name and the arguments."""

    source: str
    """The text in the line."""

    dirs: Dirs
    """The folders it can run in."""

    sets: tuple[tuple[str, str], ...] = ()
    """The variables set in front of it, with their values."""

    adds_paths: bool = False
    """True if paths are added at run time."""

    adds_arguments: bool = False
    """True if any arguments are added at run time."""

    wrapped: bool = False
    """True if another program runs it."""

    aliases: tuple[str, ...] = ()
    """Further texts by which deny rules find it."""

    default_path: bool = False
    """True if its program is looked up in the system's PATH, as by ``command -p``."""

    level: int = 0
    """The number of commands it is nested in."""


_STEPPED_OVER = frozenset({"time", "!", "coproc"})


def step_over_keywords(call: Call) -> Call:
    """Drop ``time``, ``!`` and ``coproc`` in place of a name: bash runs what follows, which can
    begin with assignments of its own."""
    words, sets = call.words, list(call.sets)
    while words and words[0].source in _STEPPED_OVER:
        keyword = words[0].source
        words = words[1:]
        while keyword == "time" and words and words[0].source in ("-p", "--"):
            words = words[1:]
        while words and (assigned := ASSIGNMENT.match(words[0].source)):
            sets.append((assigned[1], words[0].text[assigned.end() :]))
            words = words[1:]
    return call if words is call.words else call._replace(words=words, sets=tuple(sets))
