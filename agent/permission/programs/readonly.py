"""Which uses of which programs are proven to change nothing (spec 4, M4a).

For each program the flags that are known to only read are listed; any other flag, or a word
known at run time only, means "not proven". What is not listed here is never proven.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.permission.programs.git import parse, reads_only
from agent.permission.programs.readonly_table import (
    FIND_FILE,
    FIND_PLAIN,
    FIND_VALUE,
    SPECS,
    VERSIONED,
    Spec,
)
from agent.permission.syntax.lexicon import names
from agent.permission.syntax.words import Word, one_word


@dataclass(frozen=True, slots=True)
class Reading:
    """*paths* are the operands that are read, *below* those read with all they hold.

    *proven* is false when a flag or word is not known to be harmless; the paths are then
    still the best knowledge of what the operands are. *recursive* without *below* means the
    folder the command runs in; *hidden* that files with a leading dot are read too.
    """

    proven: bool
    paths: tuple[Word, ...] = ()
    below: tuple[Word, ...] = ()
    hidden: bool = True
    recursive: bool = False


def read(base: str, words: Sequence[Word]) -> Reading | None:
    """What *base* reads with the arguments *words*; None for a program not listed here."""
    texts = [word.text for word in words]
    version = texts in (["--version"], ["-V"]) and base in VERSIONED
    if version or [base, *texts] in _VERSION_CALLS:
        return Reading(proven=True)
    special = _SPECIAL.get(base)
    if special is not None:
        return special(base, words)
    spec = SPECS.get(base)
    return None if spec is None else _by_spec(base, spec, words)


def _state(_base: str, _words: Sequence[Word]) -> Reading:
    """Builtins that are judged by what they set or where they go."""
    return Reading(proven=True)


def _text_only(base: str, words: Sequence[Word]) -> Reading:
    """echo, printf and test: printf and test can evaluate a variable's name with ``-v``."""
    evaluating = base != "echo" and any(word.text.startswith(("-v", "-R")) for word in words)
    return Reading(proven=not evaluating)


def _command(_base: str, words: Sequence[Word]) -> Reading:
    asks = bool(words) and words[0].text in ("-v", "-V")
    return Reading(proven=asks and all(word.known for word in words))


def _date(_base: str, words: Sequence[Word]) -> Reading:
    plain = re.compile(r"\+.*|-u|-R|-I\w*|--utc|--iso-8601(=.*)?", re.DOTALL)
    return Reading(proven=all(plain.fullmatch(word.text) and word.known for word in words))


def _ps(_base: str, words: Sequence[Word]) -> Reading:
    """Only spellings that do not show the environment of processes."""
    texts = [word.text for word in words]
    return Reading(proven=texts in ([], ["aux"], ["-ef"], ["-e"], ["-A"], ["ax"]))


def _tee(_base: str, words: Sequence[Word]) -> Reading | None:
    """Into ``/dev/null`` and its own streams only; anything else is written."""
    streams = re.compile(r"/dev/(null|stdout|stderr)")
    plain = all(word.literal and streams.fullmatch(word.text) for word in words)
    return Reading(proven=True) if plain else None


def _by_spec(base: str, spec: Spec, words: Sequence[Word]) -> Reading:
    scan = _Scan(spec, words)
    operands = scan.operands
    if spec.operands == "pattern" and not scan.pattern and "--files" not in scan.seen:
        operands = operands[one_word(operands[0]) :] if operands else []
    recursive = spec.recursive == "*" or any(flag in scan.seen for flag in spec.recursive)
    recursive = recursive or "--recursive" in scan.seen
    proven = scan.proven and not (spec.operands == "one" and len(operands) > 1)
    proven = proven and not (spec.operands == "none" and operands)
    if spec.operands in ("text", "none"):
        return Reading(proven=proven, paths=tuple(scan.files))
    reaches = base != "rg" or bool(
        {"--hidden", "--unrestricted", "--no-ignore", "u", "."} & scan.seen
    )
    if base == "rg" and "L" in scan.seen:
        proven = False
    paths = (*operands, *scan.files)
    deep = recursive and base != "ls"
    return Reading(proven, paths, tuple(operands) if deep else (), reaches, deep)


class _Scan:
    """Flags and operands of one call. *seen* holds short letters and long names."""

    def __init__(self, spec: Spec, words: Sequence[Word]) -> None:
        self.spec = spec
        self.proven = True
        self.pattern = False
        self.seen: set[str] = set()
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
            step = self.long(words, at) if text.startswith("--") else self.short(words, at)
            # What splits into other words may be a path too.
            self.files += [word for word in words[at : at + step] if not one_word(word)]
            at += step

    def long(self, words: Sequence[Word], at: int) -> int:
        flag, joined, _ = words[at].text.partition("=")
        if flag in self.spec.long_files:
            self.pattern = self.pattern or flag == "--file"
            self.files += [_tail(words[at], len(flag) + 1)] if joined else words[at + 1 : at + 2]
        self.proven = self.proven and flag in self.spec.long
        self.pattern = self.pattern or flag == "--regexp"
        self.seen.add(flag)
        return 2 if flag in self.spec.taking and not joined else 1

    def short(self, words: Sequence[Word], at: int) -> int:
        text = words[at].text
        if re.fullmatch(r"-\d+", text) and self.spec.operands in ("paths", "pattern"):
            return 1
        for index, letter in enumerate(text[1:], 1):
            last = index == len(text) - 1
            self.seen.add(letter)
            if letter == "e" and self.spec.operands == "pattern":
                self.pattern = True
                return 2 if last else 1
            if letter in self.spec.files:
                self.pattern = True
                self.files += words[at + 1 : at + 2] if last else [_tail(words[at], index + 1)]
                return 2 if last else 1
            if letter in self.spec.value:
                return 2 if last else 1
            if letter not in self.spec.short:
                self.proven = False
        return 1


def _tail(word: Word, start: int) -> Word:
    """The value that is joined to a flag."""
    return Word(word.raw[start:], word.source, word.parts)


_CONTENTS = names(
    "diff log show blame annotate ls-files status grep cat-file whatchanged diff-tree diff-index "
    "diff-files add rm mv checkout restore clone apply"
)
"""Subcommands of git that show or take what is in the files that they are given."""
_GIVES_PATTERN = re.compile(r"-\w*[ef]")
_PATTERN_FILE = re.compile(r"-\w*f(?=.)")
_LINES_OF = re.compile(r"-L(?=.*:)", re.DOTALL)
"""Flags with a file in the same word: ``-fFILE`` of grep, ``-L1,9:FILE`` of what shows history."""
_REVISION = re.compile(r".*:(\([^)]*\))?", re.DOTALL)
"""What stands before the path in ``HEAD:FILE`` and ``:(top)FILE``."""


def _git(_base: str, words: Sequence[Word]) -> Reading:
    call = parse(words)
    paths: list[Word] = []
    if call.subcommand in _CONTENTS:
        paths = [word for word in call.rest if not word.text.startswith("-")]
        if call.subcommand == "grep" and not any(_GIVES_PATTERN.match(w.text) for w in call.rest):
            paths = paths[1:]
        behind = _PATTERN_FILE if call.subcommand == "grep" else _LINES_OF
        for word in call.rest:
            flag = behind.match(word.text)
            if flag is not None:
                paths.append(_tail(word, flag.end()))
        if call.subcommand == "clone":  # the others take ``x://../.env`` for a path, which it is
            paths = [word for word in paths if "://" not in word.text]
        paths = [Word(_REVISION.sub("", word.raw), word.source, word.parts) for word in paths]
        paths = [word for word in paths if word.known]
    return Reading(reads_only(call), tuple(paths))


def _find(_base: str, words: Sequence[Word]) -> Reading:
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
        looks = text in FIND_FILE or re.fullmatch(r"-newer[aBcm][aBcm]", text) is not None
        proven = proven and (looks or text in FIND_PLAIN or text in FIND_VALUE)
        if looks:
            paths += words[at + 1 : at + 2]
        at += 2 if looks or text in FIND_VALUE else 1
    return Reading(proven, tuple(paths))


_JOINED_SCRIPT = re.compile(r"--(e|fi)\w*=|-[a-zA-Z]*[ef].")
"""sed's ``--expression=…``, ``--file=…``, ``-eSCRIPT`` and ``-fFILE``, shortened too."""


def _script(base: str, words: Sequence[Word]) -> Reading:
    """sed and awk: the caller has judged the script; what follows it are files."""
    operands: list[Word] = []
    scripts = 0
    skip = False
    for word in words:
        if skip:
            skip = False
        elif base != "sed" and word.text in ("-F", "-v"):
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


def _jq(_base: str, words: Sequence[Word]) -> Reading:
    operands = [word for word in words if not word.text.startswith("-")]
    flags = [word.text for word in words if word.text.startswith("-")]
    known = re.compile(r"-[rSMCceasjn]+|--(raw-output|compact-output|sort-keys|slurp|tab)")
    plain = all(map(known.fullmatch, flags))
    script = operands[0].text if operands else ""
    quiet = re.search(r"\benv\b|\$ENV|input|import|include|\$__", script) is None
    proven = plain and quiet and all(word.known for word in words)
    return Reading(proven, tuple(operands[1:]))


_SPECIAL: dict[str, Callable[[str, Sequence[Word]], Reading | None]] = {
    "git": _git, "find": _find, "sed": _script, "awk": _script, "gawk": _script, "mawk": _script,
    "jq": _jq, "cd": _state, "pushd": _state, "popd": _state, "read": _state, "set": _state,
    "echo": _text_only, "printf": _text_only, "test": _text_only, "command": _command,
    "date": _date, "ps": _ps, "tee": _tee,
}  # fmt: skip
_VERSION_CALLS = (
    ["go", "version"], ["java", "-version"], ["node", "-v"], ["npm", "-v"], ["ruby", "-v"],
    ["git", "version"],
)  # fmt: skip
LISTED = VERSIONED | {*SPECS, *_SPECIAL, *(first for first, *_ in _VERSION_CALLS)}
"""Programs that this module has a word on."""
