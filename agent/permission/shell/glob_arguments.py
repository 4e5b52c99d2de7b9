"""Names of files that a program takes for options: those that patterns match, and added ones.

A project can hold a file named ``-oz``, and then ``sort *`` writes ``z``. Such a file can appear
after the analysis, so a pattern counts as each option with a side effect that it can match.
"""

import fnmatch
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.permission.programs import git_arguments
from agent.permission.programs.read_only import Reading, find_reads
from agent.permission.programs.record import SIDE_EFFECTS, Command, Option, Program
from agent.permission.programs.side_effects import has_side_effects
from agent.permission.protected import chooses_secrets
from agent.permission.shell.always_pattern import uncovered_reason
from agent.permission.shell.names import Names
from agent.permission.shell.paths import Dirs, Search, Workspace, paths_of
from agent.permission.shell.simple_command import SimpleCommand
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


def pattern_reason(base: str, known: Program, call: SimpleCommand, place: Workspace) -> str:
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


def _splits(word: Word, call: SimpleCommand, place: Workspace) -> bool:
    """Return whether a variable of *word*, without quotes around it, holds the name of a file with
    a space in it."""
    for part in word.parts:
        for value in part.values or () if not part.quoted else ():
            if is_pattern(value):
                paths = paths_of(Word(value, word.source), call.dirs, place)
                if paths is None or any(re.search(r"\s", path) for path in paths):
                    return True
    return False


# Names of files that are added to a command at run time, by find or xargs.
#
# A command that is proven to read is proven with such names too if none of them can be an option,
# or lead to a file for which a recursive read would ask.

_ANY = "\ue003"
"""An active ``*``, as which a name is read that is not known."""
_SEVERAL = 2
"""Names for each one that is added: one can be read where a second one is written."""


def takes_names(base: str, known: Program, call: SimpleCommand, place: Workspace) -> bool:
    """Return whether the command, to which names are added, is proven to read with any of them."""
    text_only = known.operands == "text" or known.syntax == "echo"
    names = call.added
    if names is None:
        if not text_only or call.replaced:
            return False
        names = Names(exact=True)
    words = _with_name(call, names, text_only=text_only)
    if words is None:
        return False
    full = call._replace(words=words, adds_paths=False, adds_arguments=False)
    reading = find_reads(base, known, words[1:])
    if reading is None or not reading.proven:
        return False
    if names.dashes and not (text_only or known.complete or _ends_options(known, words)):
        return False
    if uncovered_reason(base, known, full, None, []) or pattern_reason(base, known, full, place):
        return False
    return text_only or not _reach_secrets(names, reading, call.dirs, place)


def _with_name(call: SimpleCommand, names: Names, *, text_only: bool) -> tuple[Word, ...] | None:
    """Return the words of *call* with a pattern for the names that are added, None if a name
    becomes a part of other text."""
    name = _ANY if names.dashes else f"./{_ANY}"
    if not call.replaced:
        return (*call.words, *[Word(name, "an added name")] * _SEVERAL)
    found: list[Word] = []
    for word in call.words:
        before, replaced, after = word.text.partition(call.replaced)
        if not replaced:
            found.append(word)
            continue
        whole = before in ("", "./") and not after
        if not word.literal or not (whole or text_only) or before[:1] == "-":
            return None
        found += [Word(f"{before}{name}{after}", word.source)] * _SEVERAL
    return tuple(found)


def _ends_options(known: Program, words: Sequence[Word]) -> bool:
    """Return whether ``--`` stands in front of the names."""
    before = [word.text for word in itertools.takewhile(lambda word: not word.globs, words)]
    return "--" in before and known.syntax not in ("find", "fd", "test")


def _reach_secrets(names: Names, reading: Reading, dirs: Dirs, place: Workspace) -> bool:
    """Return whether one of *names* can lead to a file with secrets or out of the project."""
    if names.column or any(map(chooses_secrets, (*names.chosen, *names.picked))):
        return True
    tracked = place.tracked_in(names.folders) if names.tracked else None
    return any(
        Path(folder).is_dir()
        and Search(
            place,
            hidden=names.hidden,
            linked=names.linked or reading.linked,
            chosen=() if reading.recursive else names.chosen,
            named_links=not reading.recursive,
            split=not names.exact,
            tracked=tracked,
        ).reaches_secret(folder)
        for folder in {*names.folders, *(dirs if reading.recursive else ())}
    )
