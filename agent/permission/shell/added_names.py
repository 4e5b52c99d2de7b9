"""Names of files that are added to a command at run time, by find or xargs.

A command that is proven to read is proven with such names too if none of them can be an option, or
lead to a file for which a recursive read would ask.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

from agent.permission.programs.read_only import Reading, find_reads
from agent.permission.programs.record import Program
from agent.permission.protected import chooses_secrets
from agent.permission.shell.always_pattern import uncovered_reason
from agent.permission.shell.call import Call
from agent.permission.shell.glob_arguments import pattern_reason
from agent.permission.shell.names import Names
from agent.permission.shell.paths import Dirs, Search, Workspace
from agent.permission.syntax.words import Word

_ANY = "\ue003"
"""An active ``*``, as which a name is read that is not known."""
_SEVERAL = 2
"""Names for each one that is added: one can be read where a second one is written."""


def takes_names(base: str, known: Program, call: Call, place: Workspace) -> bool:
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


def _with_name(call: Call, names: Names, *, text_only: bool) -> tuple[Word, ...] | None:
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
