"""The names of files that a command prints or adds: ``git ls-files``, ``find . -exec``."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent.permission.programs import git_arguments
from agent.permission.programs.arguments import Arguments, Given, parse
from agent.permission.programs.read_only import Reading, find_roots
from agent.permission.programs.record import Command, Listing, Program
from agent.permission.shell.paths import Dirs, Workspace, paths_of
from agent.permission.syntax.source import word_set
from agent.permission.syntax.words import Word, as_written
from agent.records.frozen import frozen

_PATH_TESTS = word_set("-path -ipath -wholename -iwholename -regex -iregex")
_NEGATABLE = ("(", "!", "-not")
_EXTENSION = re.compile(r"(\*\*/)?\*\.\w+")
"""A pattern of git that says how the names of files end."""


@frozen
class Names:
    """Names of files that are given to a command at run time."""

    folders: tuple[str, ...] = ()
    """The folders that hold the files, with all that is below them."""

    dashes: bool = True
    """True if a name can begin with a dash."""

    exact: bool = False
    """True if each name arrives as it is: it ends with NUL, or find itself adds it."""

    hidden: bool = True
    """True if names with a leading dot are among them."""

    linked: bool = True
    """True if links are among them."""

    chosen: tuple[str, ...] = ()
    """Patterns of the names; empty if any file can be among them."""

    picked: tuple[str, ...] = ()
    """Further patterns by which names were picked, of paths or lines."""

    column: bool = False
    """True if another column stands in front of each name."""

    tracked: bool = False
    """True if only files in git's index are among them."""


def names_of_either(first: Names | None, second: Names | None) -> Names | None:
    """Return the names of both, None if they differ in more than their folders."""
    if first is None or second is None or replace(first, folders=second.folders) != second:
        return None
    return replace(first, folders=(*first.folders, *second.folders))


def printed_names(
    program: Program,
    words: Sequence[Word],
    reading: Reading,
    piped: Names | None,
    dirs: Dirs,
    place: Workspace,
) -> Names | None:
    """Return the names that a command which is proven to read prints, None if it can print
    something else; *words* are its arguments, *piped* are the names in its input."""
    command: Command = program
    arguments = parse(program, words)
    if program.syntax == "git":
        call = git_arguments.parse(words)
        command, arguments = call.command, call.arguments
    elif program.syntax == "fd":
        reading = Reading(proven=True, paths=tuple(arguments.operands[1:]))
    text = as_written(words)
    listing = next(
        (each for each in command.listings if _fits(each, command, arguments, text)), None
    )
    if listing is None:
        return None
    ends = bool(arguments.given(*listing.nul.split()))
    if listing.filters:
        return None if piped is None else _filtered(piped, listing, arguments, exact=ends)
    roots = reading.paths
    if program.syntax == "find":
        roots = tuple(find_roots(words)) or (Word(".", "."),)
    folders = _folders(roots, dirs, place)
    if folders is None:
        return None
    found = Names(
        folders,
        dashes=not (listing.prefixed and roots and not any(word.may_be_option for word in roots)),
        exact=ends,
        hidden=reading.hidden,
        chosen=reading.chosen,
        linked=program.names != "rg" or reading.linked,
        tracked=listing.tracked,
        column=listing.column == "added",
    )
    if program.syntax == "git":
        return replace(
            found, folders=(*dirs, place.project), chosen=_chosen_by_git(command, words, arguments)
        )
    return _chosen_by_find(found, program, words) if program.syntax == "find" else found


def _filtered(piped: Names, listing: Listing, arguments: Arguments, *, exact: bool) -> Names:
    """Return what a filter lets through."""
    inverted = arguments.given("-v", "--invert-match")
    picked = [
        _readable(word.text)
        for word in (*arguments.operands[:1], *(each.values[-1] for each in arguments.given("-e")))
        if not (inverted or listing.arguments)
    ]
    return replace(
        piped,
        exact=piped.exact and exact,
        picked=(*piped.picked, *picked),
        column=piped.column and listing.column != "dropped",
    )


def _readable(expression: str) -> str:
    """Return a regular expression as the pattern of names that it looks like."""
    return expression.replace("\\", "").replace(".*", "*").strip("^$")


def _fits(listing: Listing, command: Command, arguments: Arguments, text: str) -> bool:
    """Return whether the command prints what *listing* says with these arguments."""
    if listing.arguments:
        return text in listing.arguments
    needs, empty = listing.needs.split(), listing.empty.split()
    allowed = {*needs, *listing.keeps.split()}
    names = [each.name if each.name in allowed else _short(each) for each in arguments.options]
    if not allowed.issuperset(names) or (needs and not any(name in needs for name in names)):
        return False
    emptied = [each for each in arguments.options if each.name in empty]
    if empty and not emptied:
        return False
    if any(not each.values or each.values[-1].text not in ("", "format:") for each in emptied):
        return False
    operands = len(arguments.operands)
    if listing.filters and command.operands == "pattern":
        operands -= not any(each.option and each.option.gives_pattern for each in arguments.options)
    return not operands if listing.filters or listing.bare else True


def _short(given: Given) -> str:
    """Return the option that *given* is short for: ``-n`` for ``-20``."""
    return "-n" if re.fullmatch(r"-\d+", given.name) else given.name


def _folders(roots: Sequence[Word], dirs: Dirs, place: Workspace) -> tuple[str, ...] | None:
    """Return the folders that names come from, None if they are not known."""
    if not roots:
        return tuple(dirs) or None
    found: list[str] = []
    for word in roots:
        paths = paths_of(word, dirs, place)
        if not paths:
            return None
        found += paths
    return tuple(found)


def _chosen_by_git(
    command: Command, words: Sequence[Word], arguments: Arguments
) -> tuple[str, ...]:
    """Return the patterns of the names that git prints, none if they are not only endings."""
    texts = [word.text for word in words]
    if "--" in texts:
        texts = texts[texts.index("--") + 1 :]
    elif command.names == "ls-files":
        texts = [word.text for word in arguments.operands]
    else:
        return ()
    return tuple(texts) if all(map(_EXTENSION.fullmatch, texts)) else ()


def _chosen_by_find(found: Names, program: Program, words: Sequence[Word]) -> Names:
    """Return *found* with what the tests of find say of the names."""
    picked = [
        _readable(each.values[-1].text)
        for before, each in itertools.pairwise([None, *_steps(program, words)])
        if each is not None and each.name in _PATH_TESTS and each.values
        if before is None or before.name not in ("!", "-not")
    ]
    found = replace(found, picked=tuple(picked))
    chosen: list[str] = []
    only_files = True
    prints = bool(parse(program, words).given("-print", "-print0", "-exec"))
    for branch in _branches(program, words):
        if prints and branch and branch[-1].name == "-prune":
            continue  # it prints nothing
        tests = [
            each
            for before, each in zip((None, *branch), branch, strict=False)
            if before is None or before.name not in ("!", "-not")
        ]
        patterns = [
            each.values[-1]
            for each in tests
            if each.name in ("-name", "-iname") and each.values and each.values[-1].literal
        ]
        only_files &= any(
            each.name == "-type" and each.values and each.values[-1].text == "f" for each in tests
        )
        if not patterns:
            return replace(found, linked=not only_files)
        chosen.append(patterns[0].text)
    return replace(found, chosen=tuple(chosen), linked=not only_files)


def _branches(program: Program, words: Sequence[Word]) -> Iterator[list[Given]]:
    """Yield the tests between ``-o`` or commas; one without tests if a group is negated."""
    branch: list[Given] = []
    steps = list(_steps(program, words))
    for at, each in enumerate(steps):
        if each.name in ("!", "-not") and at + 1 < len(steps) and steps[at + 1].name in _NEGATABLE:
            yield []
        if each.name in ("-o", "-or", ","):
            yield branch
            branch = []
        elif each.name not in ("-print", "-print0", "-exec", "(", ")", "-a", "-and"):
            branch.append(each)
    yield branch


def _steps(program: Program, words: Sequence[Word]) -> Iterator[Given]:
    """Yield the options of find in their order, with the operators that have no dash."""
    starts = {each.end - 1 - len(each.values): each for each in parse(program, words).options}
    at = 0
    while at < len(words):
        each = starts.get(at)
        if each is not None:
            yield each
        elif words[at].text in ("!", "(", ")", ","):
            yield Given(words[at].text, None, (), words[at], at + 1)
        at = max(at + 1, each.end if each is not None else 0)
