"""The proof that a command changes nothing, and the files that it reads.

It is proven for programs that are recorded to read, with options that are recorded to have no
effect. An option that is not recorded, or a word that is known only at run time, proves nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.permission.programs import git_arguments
from agent.permission.programs.arguments import Arguments, only_reads, parse, proves, with_dash
from agent.permission.programs.record import Command, Program, Syntax
from agent.permission.programs.scripts import jq_reason
from agent.permission.syntax.words import Word, is_one_word, starts_with_pattern
from agent.records.frozen import frozen


@frozen
class Reading:
    """The files that a command reads."""

    proven: bool
    """True if it is proven to change nothing. If not, the paths are the best guess."""

    paths: tuple[Word, ...] = ()
    """The operands that are read."""

    below: tuple[Word, ...] = ()
    """The operands that are read with all that is in them."""

    hidden: bool = True
    """True if files with a leading dot are read too."""

    recursive: bool = False
    """True if folders are read with all that is in them: without *below*, the folder that the
    command runs in."""

    linked: bool = False
    """True if it reads what the links in folders lead to."""

    chosen: tuple[str, ...] = ()
    """Patterns for the names of the files that are read in folders; empty if all are."""

    listed: tuple[Word, ...] = ()
    """Words whose files are looked up by name only."""

    unless: str = ""
    """Names of files, separated by spaces, that make it run other programs if one of them is in
    its folder or above."""


def find_reads(base: str, program: Program, words: Sequence[Word]) -> Reading | None:
    """Return what the program reads with the arguments *words*; None for one that is not recorded
    to read."""
    if len(words) == 1 and words[0].text in program.version.split():
        return Reading(proven=True, unless=program.version_unless)
    reader = _READERS.get(program.syntax)
    if reader is not None:
        return reader(base, program, words)
    return _of_command(program, program, words)


def _of_command(program: Program, command: Command, words: Sequence[Word]) -> Reading | None:
    """Return what the command or its subcommand reads."""
    if command.subcommands:
        before = parse(command, words, leading=True)
        name = before.operands[0] if before.operands else None
        inner = command.subcommand.get(name.text) if name is not None and name.literal else None
        if inner is not None:
            reading = _of_command(program, inner, before.operands[1:])
            return reading if reading is None or proves(command, before) else None
    if command.effect != "read" and not command.reads_with:
        return None
    arguments = parse(command, words)
    reading = _by_options(program, command, arguments)
    return reading if command.effect == "read" or reading.proven else None


def _by_options(program: Program, command: Command, arguments: Arguments) -> Reading:
    """Return what the command reads with these arguments."""
    operands = arguments.operands
    reach = {each.option.reach for each in arguments.options if each.option is not None}
    if command.operands == "pattern" and not _has_pattern(arguments):
        operands = operands[is_one_word(operands[0]) :] if operands else []
    proven = only_reads(command, arguments)
    if program.response_files:
        names = [name for word in operands for name in word.values or ("@",)]
        proven = proven and not any(
            name.startswith("@") or starts_with_pattern(name) for name in names
        )
    # A word that splits can hold a path too.
    files = (*_values(arguments, "path"), *arguments.split)
    if command.operands in ("text", "none"):
        globs = tuple(word for word in operands if word.globs)
        return Reading(proven=proven, paths=files, listed=globs)
    if command.operands != "folders" and "-" in {word.text for word in operands}:
        operands = [word for word in operands if word.text != "-"]
    patterns = _values(arguments, reach="chosen") if "chosen" in reach else []
    chosen = tuple([word.text for word in patterns if word.text[:1] != "!"])
    recursive = program.recursive or bool(reach & {"recursive", "linked"})
    return Reading(
        proven,
        (*operands, *files),
        below=tuple(operands) if recursive else (),
        hidden="hidden" in reach or bool(chosen) or not command.named(reach="hidden"),
        recursive=recursive,
        linked=program.follows_links or "linked" in reach,
        chosen=chosen,
    )


def _has_pattern(arguments: Arguments) -> bool:
    return any(each.option is not None and each.option.gives_pattern for each in arguments.options)


def _values(arguments: Arguments, value: str = "", *, reach: str = "") -> list[Word]:
    """Return the values of the options with these facts."""
    return [
        each.values[-1]
        for each in arguments.options
        if each.option is not None
        and each.values
        and each.option.effect in ("none", "read", "execute")
        and (each.option.value == value or (reach and each.option.reach == reach))
    ]


def _state(_base: str, _program: Program, _words: Sequence[Word]) -> Reading:
    """Builtins that are checked by what they set or where they go."""
    return Reading(proven=True)


def _echo(_base: str, _program: Program, words: Sequence[Word]) -> Reading:
    return Reading(proven=True, listed=tuple(word for word in words if word.globs))


_TESTS_NO_FILE = frozenset({"-n", "-z", "-t", "-o", "-v", "-R", "=", "==", "!=", "<", ">"})


def _test(base: str, program: Program, words: Sequence[Word]) -> Reading | None:
    """printf and test: both can evaluate the name of a variable after ``-v``."""
    if program.effect != "read":
        return None
    evaluating = any(word.text.startswith(("-v", "-R")) for word in words)
    tested = [word for word in words if word.globs]
    if base == "test":
        before = ["", *(word.text for word in words)]
        tested += [
            word
            for operator, word in zip(before, words, strict=False)
            if operator not in _TESTS_NO_FILE and not word.text.startswith("-")
        ]
    return Reading(proven=not evaluating, listed=tuple(tested))


def _command(_base: str, _program: Program, words: Sequence[Word]) -> Reading:
    asks = bool(words) and words[0].text in ("-v", "-V")
    globs = tuple(word for word in words if word.globs)
    return Reading(proven=asks and all(word.known for word in words), listed=globs)


def _date(_base: str, program: Program, words: Sequence[Word]) -> Reading:
    """An operand that is no format sets the clock."""
    reading = _by_options(program, program, arguments := parse(program, words))
    formats = all(word.text.startswith("+") for word in arguments.operands)
    return replace(reading, proven=reading.proven and formats)


def _ps(_base: str, program: Program, words: Sequence[Word]) -> Reading:
    """Only forms that do not show the environment of processes, as ``e`` without a dash does."""
    arguments = parse(program, words)
    letters = re.compile(r"[aufxljwmhrvTLH]+|\d+")
    plain = all(word.literal and letters.fullmatch(word.text) for word in arguments.operands)
    return Reading(proven=plain and proves(program, arguments))


def _tee(_base: str, _program: Program, words: Sequence[Word]) -> Reading | None:
    """Only into ``/dev/null`` and its own streams; anything else is written."""
    streams = re.compile(r"/dev/(null|stdout|stderr)")
    plain = all(word.literal and streams.fullmatch(word.text) for word in words)
    return Reading(proven=True) if plain else None


_REVISION = re.compile(r".*:(\([^)]*\))?", re.DOTALL)
"""The part in front of the path in ``HEAD:FILE`` and ``:(top)FILE``."""
_WILDCARDS = re.compile(r"[*?[]")


def _git(_base: str, _program: Program, words: Sequence[Word]) -> Reading:
    call = git_arguments.parse(words)
    arguments = call.arguments
    operands: list[Word] = []
    if call.command.operands in ("read", "pattern", "change", "copy"):
        operands = arguments.operands
        if call.command.operands == "pattern" and not _has_pattern(arguments):
            operands = operands[1:]
        if call.subcommand == "clone":  # the others take ``x://../.env`` for a path, which it is
            operands = [word for word in operands if "://" not in word.text]
    paths = [*operands, *_values(arguments, "path")]
    paths = [Word(_REVISION.sub("", word.raw), word.source, word.parts) for word in paths]
    patterns = tuple(word.text for word in paths if _WILDCARDS.search(word.text))
    recursive = any(each.option and each.option.reach == "recursive" for each in arguments.options)
    return Reading(
        git_arguments.reads_only(call),
        tuple(word for word in paths if word.known),
        below=tuple(operands) if recursive else (),
        recursive=recursive,
        chosen=patterns,
    )


def _find(_base: str, program: Program, words: Sequence[Word]) -> Reading:
    arguments = parse(program, words)
    roots = find_roots(words)
    operators = program.option
    # What ``-exec`` runs is analyzed as a command of its own, in this folder.
    proven = all(word.known for word in words) and all(
        each.option is not None and (each.option.effect == "none" or each.name == "-exec")
        for each in arguments.options
    )
    proven = proven and all(
        word in roots or word.text in operators or not word.text for word in arguments.operands
    )
    return Reading(proven, (*roots, *_values(arguments, "path")))


def find_roots(words: Sequence[Word]) -> list[Word]:
    """Return the folders in which find begins: the words in front of its expression."""
    at = 0
    while at < len(words) and (
        words[at].text in ("-H", "-P", "--") or not words[at].text.startswith(("-", "(", "!"))
    ):
        at += 1
    return [word for word in words[:at] if word.text not in ("-H", "-P", "--")]


def _archive(_base: str, program: Program, words: Sequence[Word]) -> Reading | None:
    """tar, whose first letters need no dash; an archive ``host:file`` is reached by a shell."""
    arguments = parse(program, with_dash(words))
    if not arguments.given("-t", "--list"):
        return None
    archives = _values(arguments, "path")
    local = all(word.known and ":" not in word.text for word in archives)
    return Reading(proves(program, arguments) and local, tuple(archives))


def _script(_base: str, program: Program, words: Sequence[Word]) -> Reading | None:
    """sed and awk: the script itself is checked with the side effects; files follow it."""
    if program.effect != "read":
        return None
    reading = _by_options(program, program, parse(program, words))
    return replace(reading, proven=reading.proven and all(word.known for word in words))


def _jq(_base: str, program: Program, words: Sequence[Word]) -> Reading:
    arguments = parse(program, words)
    reading = _by_options(program, program, arguments)
    script = arguments.operands[0] if arguments.operands else None
    quiet = script is None or (script.literal and not jq_reason(script.text))
    return replace(reading, proven=reading.proven and quiet and all(word.known for word in words))


_READERS: dict[Syntax, Callable[[str, Program, Sequence[Word]], Reading | None]] = {
    "awk": _script,
    "command": _command,
    "date": _date,
    "echo": _echo,
    "find": _find,
    "git": _git,
    "jq": _jq,
    "ps": _ps,
    "sed": _script,
    "state": _state,
    "tar": _archive,
    "tee": _tee,
    "test": _test,
}
