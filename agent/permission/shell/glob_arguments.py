"""Patterns that can match the name of a file that a program takes for an option.

A project can hold a file named ``-oz``, and then ``sort *`` writes ``z``. Such a file can appear
after the analysis, so a pattern counts as each option with a side effect that it can match.
"""

import fnmatch
import re
from collections.abc import Iterator, Sequence

from agent.permission.programs import git_arguments
from agent.permission.programs.record import SIDE_EFFECTS, Command, Option, Program
from agent.permission.programs.side_effects import has_side_effects
from agent.permission.shell.call import Call
from agent.permission.shell.paths import Dirs, Workspace, paths_of
from agent.permission.syntax.words import (
    Word,
    glob_pattern,
    is_pattern,
    matches_flag,
    starts_with_pattern,
)

_OPTION_VALUE = re.compile("--[a-z-]+=[^/]*[\ue003-\ue005]")
"""An option with a pattern in its value."""
_HARMFUL = SIDE_EFFECTS - {"read"}
_WITH_CODE = frozenset({"sed", "tar", "make", "npm", "editor", "pager", "curl", "database"})
_MATCHED_WHOLE = frozenset({"find", "fd", "test"})
"""Programs whose options have no value in the same word."""


def pattern_reason(base: str, known: Program, call: Call, place: Workspace) -> str:
    """Return the reason why a pattern among the words of *call* can be more than operands, "" if it
    cannot."""
    words = call.words[1:]
    for word in words:
        if word.text == "--" and known.syntax not in _MATCHED_WHOLE:
            return ""
        for value in filter(is_pattern, word.values or ()):
            if known.operands == "one":
                return f"{word.source} can match several files, and {base} writes to the second"
            if not starts_with_pattern(value):
                continue
            first = word is words[0]
            if _can_be_option(base, known, value, words, first=first):
                return f"{word.source} can match a file whose name is an option of {base}"
            if base != "echo" and _matches_option(value, call.dirs, place):
                return f"{word.source} matches a file whose name is an option of {base}"
    if has_side_effects(known) and any(_splits(word, call, place) for word in call.written):
        return "a file name with a space in it turns into several arguments"
    return ""


def _can_be_option(
    base: str, known: Program, value: str, words: Sequence[Word], *, first: bool
) -> bool:
    if base == "printf":  # ``-v`` and the name of a variable, with a subscript that is evaluated
        return first
    if known.interpreter or known.evaluates_names or known.syntax in _WITH_CODE:
        return True
    free = matches_flag(value)
    if known.syntax in _MATCHED_WHOLE:
        return free
    return any(
        free or option.value != "none"
        for option in _options(known, words)
        if option.effect in _HARMFUL
    )


def _options(known: Program, words: Sequence[Word]) -> Iterator[Option]:
    """Yield the options of the program, or of the subcommand that is used."""
    if known.syntax == "git":
        used = known.subcommand.get(git_arguments.parse(words).subcommand)
        yield from used.options if used is not None else ()
        yield from known.shared_options if used is not None and used.effect == "read" else ()
        return
    yield from known.options
    waiting: list[Command] = list(known.subcommands)
    while waiting:
        command = waiting.pop()
        yield from command.options
        waiting += command.subcommands


def literal_option(word: Word, dirs: Dirs, place: Workspace) -> Word:
    """Return ``--include=*.py`` as the text that it is as long as no file has such a name."""
    if not _OPTION_VALUE.match(word.raw) or not dirs:
        return word
    if word.parts or any(_matches_option(value, dirs, place) for value in word.values or ()):
        return word
    return Word(word.text, word.source, code=word.code)


def _matches_option(value: str, dirs: Dirs, place: Workspace) -> bool:
    """Return whether the pattern matches a name that starts with a dash now."""
    first = glob_pattern(value.partition("/")[0])
    return any(
        name.startswith("-") and fnmatch.fnmatch(name, first)
        for folder in dirs
        for name in place.list_names(f"{folder.rstrip('/')}/")
    )


def _splits(word: Word, call: Call, place: Workspace) -> bool:
    """Return whether a variable of *word*, without quotes around it, holds the name of a file with
    a space in it."""
    for part in word.parts:
        for value in part.values or () if not part.quoted else ():
            if is_pattern(value):
                paths = paths_of(Word(value, word.source), call.dirs, place)
                if paths is None or any(re.search(r"\s", path) for path in paths):
                    return True
    return False
