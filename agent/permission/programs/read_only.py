"""The proof that a command changes nothing, and the files that it reads.

It is proven for programs that are recorded to read, with options that are recorded to have no
effect. An option that is not recorded, or a word that is known at run time only, proves nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.permission.programs import git
from agent.permission.programs.record import Operands, Option, Program, Syntax
from agent.permission.syntax.words import Word, is_one_word


@dataclass(frozen=True, slots=True)
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


def find_reads(base: str, program: Program, words: Sequence[Word]) -> Reading | None:
    """Return what the program reads with the arguments *words*; None for one that is not recorded
    to read."""
    if len(words) == 1 and words[0].text in program.version.split():
        return Reading(proven=True)
    reader = _READERS.get(program.syntax)
    if reader is not None:
        return reader(base, program, words)
    return _by_options(program, words) if program.effect == "read" else None


def _by_options(program: Program, words: Sequence[Word]) -> Reading:
    scan = _Scan(program, words)
    operands = scan.operands
    if program.operands == "pattern" and not scan.pattern:
        operands = operands[is_one_word(operands[0]) :] if operands else []
    proven = scan.proven and not (program.operands == "one" and len(operands) > 1)
    proven = proven and not (program.operands == "none" and operands)
    if program.operands in ("text", "none"):
        return Reading(proven=proven, paths=tuple(scan.files))
    recursive = program.recursive or "recursive" in scan.reach
    hidden = "hidden" in scan.reach or not program.named(reach="hidden")
    below = tuple(operands) if recursive else ()
    return Reading(proven, (*operands, *scan.files), below, hidden, recursive)


_NUMBERED: tuple[Operands, ...] = ("read", "folders", "pattern")
"""Operands of programs that take a number as an option: ``head -20``."""


class _Scan:
    """The options and operands of one command."""

    def __init__(self, program: Program, words: Sequence[Word]) -> None:
        self.program = program
        self.proven = True
        self.pattern = False
        self.reach: set[str] = set()
        self.operands: list[Word] = []
        self.files: list[Word] = []
        at = 0
        while at < len(words):
            text = words[at].text
            if text == "--":
                self.operands += words[at + 1 :]
                break
            if not text.startswith("-") or text == "-":
                self.proven = self.proven and (words[at].known or not words[at].may_be_option)
                if text != "-":
                    self.operands.append(words[at])
                at += 1
                continue
            self.proven = self.proven and words[at].literal
            step = self._long(words, at) if text.startswith("--") else self._short(words, at)
            # A word that splits can hold a path too.
            self.files += [word for word in words[at : at + step] if not is_one_word(word)]
            at += step

    def _long(self, words: Sequence[Word], at: int) -> int:
        """Take the long option at *at*; return the number of words that it picks up."""
        name, joined, _ = words[at].text.partition("=")
        option = self._option(name)
        if option is None:
            return 1
        if option.value == "path":
            self.files += [_tail(words[at], len(name) + 1)] if joined else words[at + 1 : at + 2]
        return 2 if option.takes_value and not joined else 1

    def _short(self, words: Sequence[Word], at: int) -> int:
        """Take the cluster of short options at *at*; return the number of words that it takes."""
        text = words[at].text
        if re.fullmatch(r"-\d+", text) and self.program.operands in _NUMBERED:
            return 1
        for index, letter in enumerate(text[1:], 1):
            last = index == len(text) - 1
            option = self._option(f"-{letter}")
            if option is None or not option.takes_value:
                continue
            if option.value == "path":
                self.files += words[at + 1 : at + 2] if last else [_tail(words[at], index + 1)]
            return 2 if last else 1
        return 1

    def _option(self, name: str) -> Option | None:
        """Note the option *name*; None if it is not recorded to have no effect."""
        option = self.program.option.get(name)
        if option is None or option.effect != "none":
            self.proven = False
            return None
        self.reach.add(option.reach)
        self.pattern = self.pattern or option.gives_pattern
        return option


def _tail(word: Word, start: int) -> Word:
    """Return the value that is joined to an option."""
    return Word(word.raw[start:], word.source, word.parts)


def _state(_base: str, _program: Program, _words: Sequence[Word]) -> Reading:
    """Builtins that are checked by what they set or where they go."""
    return Reading(proven=True)


def _echo(_base: str, _program: Program, _words: Sequence[Word]) -> Reading:
    return Reading(proven=True)


def _test(_base: str, program: Program, words: Sequence[Word]) -> Reading | None:
    """printf and test: both can evaluate the name of a variable after ``-v``."""
    evaluating = any(word.text.startswith(("-v", "-R")) for word in words)
    return Reading(proven=not evaluating) if program.effect == "read" else None


def _command(_base: str, _program: Program, words: Sequence[Word]) -> Reading:
    asks = bool(words) and words[0].text in ("-v", "-V")
    return Reading(proven=asks and all(word.known for word in words))


def _date(_base: str, _program: Program, words: Sequence[Word]) -> Reading:
    plain = re.compile(r"\+.*|-u|-R|-I\w*|--utc|--iso-8601(=.*)?", re.DOTALL)
    return Reading(proven=all(plain.fullmatch(word.text) and word.known for word in words))


def _ps(_base: str, _program: Program, words: Sequence[Word]) -> Reading:
    """Only forms that do not show the environment of processes."""
    texts = [word.text for word in words]
    return Reading(proven=texts in ([], ["aux"], ["-ef"], ["-e"], ["-A"], ["ax"]))


def _tee(_base: str, _program: Program, words: Sequence[Word]) -> Reading | None:
    """Only into ``/dev/null`` and its own streams; anything else is written."""
    streams = re.compile(r"/dev/(null|stdout|stderr)")
    plain = all(word.literal and streams.fullmatch(word.text) for word in words)
    return Reading(proven=True) if plain else None


_GIVES_PATTERN = re.compile(r"-\w*[ef]")
_PATTERN_FILE = re.compile(r"-\w*f(?=.)")
_LINES_OF = re.compile(r"-L(?=.*:)", re.DOTALL)
"""Options with a file in the same word: ``-fFILE`` of grep, ``-L1,9:FILE`` of the history."""
_REVISION = re.compile(r".*:(\([^)]*\))?", re.DOTALL)
"""The part in front of the path in ``HEAD:FILE`` and ``:(top)FILE``."""


def _git(_base: str, program: Program, words: Sequence[Word]) -> Reading:
    call = git.parse(words)
    command = program.subcommand.get(call.subcommand)
    paths: list[Word] = []
    if command is not None and command.operands in ("read", "pattern", "change", "copy"):
        paths = [word for word in call.rest if not word.text.startswith("-")]
        grep = command.operands == "pattern"
        if grep and not any(_GIVES_PATTERN.match(w.text) for w in call.rest):
            paths = paths[1:]
        joined = _PATTERN_FILE if grep else _LINES_OF
        for word in call.rest:
            option = joined.match(word.text)
            if option is not None:
                paths.append(_tail(word, option.end()))
        if call.subcommand == "clone":  # the others take ``x://../.env`` for a path, which it is
            paths = [word for word in paths if "://" not in word.text]
        paths = [Word(_REVISION.sub("", word.raw), word.source, word.parts) for word in paths]
        paths = [word for word in paths if word.known]
    return Reading(git.reads_only(call), tuple(paths))


def _find(_base: str, program: Program, words: Sequence[Word]) -> Reading:
    at = 0
    while at < len(words) and words[at].text in ("-H", "-P"):
        at += 1
    first = at
    while at < len(words) and not words[at].text.startswith(("-", "(", "!")):
        at += 1
    paths = list(words[first:at])
    proven = all(word.known for word in words)
    while at < len(words):
        text = words[at].text
        option = program.option.get(text)
        if re.fullmatch(r"-newer[aBcm][aBcm]", text) and option is None:
            option = program.option["-newer"]
        if option is None or option.effect != "none":
            proven = False
            at += 1
            continue
        if option.value == "path":
            paths += words[at + 1 : at + 2]
        at += 2 if option.takes_value else 1
    return Reading(proven, tuple(paths))


_JOINED_SCRIPT = re.compile(r"--(e|fi)\w*=|-[a-zA-Z]*[ef].")
"""sed's ``--expression=…``, ``--file=…``, ``-eSCRIPT`` and ``-fFILE``, shortened too."""


def _script(base: str, program: Program, words: Sequence[Word]) -> Reading | None:
    """sed and awk: the script itself is checked with the side effects; files follow it."""
    if program.effect != "read":
        return None
    operands: list[Word] = []
    scripts = 0
    skip = False
    for word in words:
        if skip:
            skip = False
        elif base != "sed" and word.text in program.valued:
            skip = True
        elif word.text in ("-e", "--expression"):
            skip = True
            scripts += 1
        elif base == "sed" and _JOINED_SCRIPT.match(word.text):
            scripts += 1
        elif word.text.startswith("-") and word.text != "-":
            continue
        elif not scripts:
            scripts += 1
            if base != "sed" and re.search(r"ENVIRON|PROCINFO|ARGV", word.text):
                return Reading(proven=False)
        else:
            operands.append(word)
    return Reading(all(word.known for word in words), tuple(operands))


def _jq(_base: str, program: Program, words: Sequence[Word]) -> Reading:
    operands = [word for word in words if not word.text.startswith("-")]
    flags = [word.text for word in words if word.text.startswith("-")]
    safe = program.named(effect="none", value="none")
    letters = "".join(option[1] for option in safe if len(option) == 2)
    plain = all(flag in safe or re.fullmatch(f"-[{letters}]+", flag) for flag in flags)
    script = operands[0].text if operands else ""
    quiet = re.search(r"\benv\b|\$ENV|input|import|include|\$__", script) is None
    proven = plain and quiet and all(word.known for word in words)
    return Reading(proven, tuple(operands[1:]))


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
    "tee": _tee,
    "test": _test,
}
