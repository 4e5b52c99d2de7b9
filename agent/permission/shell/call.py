"""A call: the words of one command with all that stands around them in the line."""

import re
from typing import NamedTuple

from agent.permission.shell.paths import Dirs
from agent.permission.syntax.lexicon import names
from agent.permission.syntax.words import Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]]*\])?\+?=")
"""A word that sets a variable, or an element of one: its name first."""

Ends = tuple[Dirs, Dirs]
"""The folders after a command that succeeded and after one that failed."""


class Call(NamedTuple):
    """*words* hold the name first. *sets* are variables given in front with their values, *more*
    and *fed* tell that paths or any arguments are added at run time, *level* counts what it is
    nested in."""

    words: tuple[Word, ...]
    source: str
    dirs: Dirs
    sets: tuple[tuple[str, str], ...] = ()
    more: bool = False
    fed: bool = False
    wrapped: bool = False
    aliases: tuple[str, ...] = ()
    level: int = 0


_GNU = names(
    "rm mv cp ln chmod chown tee dd sort split env timeout nice stdbuf xargs find sed tar install "
    "truncate touch mkdir rmdir shred head tail cat ls date time make"
)


def program(text: str) -> str:
    """The base name of a program; GNU's are called with a ``g`` in front on other systems."""
    base = text.rpartition("/")[2]
    return base[1:] if base[:1] == "g" and base[1:] in _GNU else base


_STEPPED_OVER = frozenset({"time", "!", "coproc"})


def step_over_keywords(call: Call) -> Call:
    """``time``, ``!`` and ``coproc`` in the place of a name: bash runs what follows, which may
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
