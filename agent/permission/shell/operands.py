"""The paths among a command's arguments."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.permission.programs import git
from agent.permission.programs.builtins import cd_target
from agent.permission.programs.read_only import Reading
from agent.permission.programs.record import WRITTEN, Program, Syntax
from agent.permission.protected import is_guarded, is_secret
from agent.permission.shell.findings import Findings
from agent.permission.shell.paths import Dirs, paths_of, secrets_below
from agent.permission.syntax.words import Word, has_tilde, is_one_word, plain

_ADDRESS = re.compile(r"(?!file:)[A-Za-z][\w+.-]*://(?!(.*/)?\.\.(/|$))")
"""``x://../.env`` is a path as well, through a folder of that name."""
_NAME_BEFORE_VALUE = re.compile(r"--?[\w.-]+=|[A-Za-z_][\w.-]*=|@")
_SINGLE_PATH = re.compile(r"[\w./][\w./+%-]*", re.ASCII)
"""A word that is one path, if it is a path."""
_COMPOSED = re.compile(r"^-|[=:,@]")
_FLAG_LETTERS = 6
"""Letters in front of a joined value, after each of which a path can start: ``-at.git/hooks``."""
_PATH_TOKENS = re.compile(r"[^\s\"'`(),;:=<>|&\[\]{}]+")
_STRINGS = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`([^`]*)`", re.DOTALL)

_SCRIPTED: tuple[Syntax, ...] = ("awk", "database", "editor", "sed")
"""Programs that take code as an argument, in addition to the interpreters."""
_CODE = re.compile(r"[\s;(){}]")
"""Characters of code that are rare in names of files."""
_SED_FILE = re.compile(r"[rRwW]\s*([^\s;}]+)")


def add_paths(
    found: Findings,
    base: str,
    program: Program,
    words: Sequence[Word],
    reading: Reading | None,
    dirs: Dirs,
    *,
    uncovered: bool,
) -> str:
    """Add the paths that the program reads or changes; *words* are its arguments. *uncovered*: they
    can write or run something, whatever the program is for.

    Return the reason if a path is known at run time only, else "".
    """
    if base in ("cd", "pushd"):
        return _add_folder(found, words, dirs)
    _add_paths_in_scripts(found, program, words, dirs)
    candidates = _candidates(words)
    writes = reading is None or uncovered
    if program.syntax == "git":
        commands = [program.subcommand.get(word.text) for word in words]
        writes = any(command is not None and command.effect == "write" for command in commands)
    if writes:
        _add_guarded(found, candidates, dirs)
    if reading is not None:
        if program.syntax == "git":
            add_outside_paths(found, git.parse(words).globals, dirs)
        if not reading.proven:
            add_outside_paths(found, [word for word in words if word.text.startswith("-")], dirs)
        for word in _distinct(reading.paths):
            if not found.add_read(word, dirs, folder=program.operands == "folders"):
                return f"the path {word.source} is known at run time only"
        return ""
    _add_outside(found, candidates, dirs)
    operands = [word for word in words if not (word.text.startswith("-") and is_one_word(word))]
    if program.operands not in ("write", "mode"):
        shown = _readable_words(program, words, operands)
        _add_secrets(found, candidates if shown is words else _candidates(shown), dirs)
    if program.operands in WRITTEN:
        if program.operands == "mode":
            operands = operands[1:]
        for word in _distinct(operands):
            target = Word(word.raw.split("=", 1)[-1], word.source, word.parts)
            if not found.add_change(target if program.operands == "assigned" else word, dirs):
                return f"the path {word.source} is known at run time only"
    return ""


def add_all_paths(found: Findings, words: Sequence[Word], dirs: Dirs) -> None:
    """Add the paths among the arguments *words* of a program that is not in the catalog: it can
    write or show each of them."""
    candidates = _candidates(words)
    _add_guarded(found, candidates, dirs)
    _add_outside(found, candidates, dirs)
    _add_secrets(found, candidates, dirs)


def _readable_words(
    program: Program, words: Sequence[Word], operands: Sequence[Word]
) -> Sequence[Word]:
    """Return the words whose files the program can show; *words* itself if it can show each."""
    shown = operands[:-1] if program.operands == "copy" else words
    if program.interpreter:
        return [word for word in shown if not _CODE.search(word.text)]
    return shown


def _add_paths_in_scripts(
    found: Findings, program: Program, words: Sequence[Word], dirs: Dirs
) -> None:
    """Add the files named in code among the arguments."""
    if program.syntax in _SCRIPTED or program.interpreter:
        for word in words:
            add_paths_in_code(found, word.text, dirs, sed=program.syntax == "sed")


def _distinct(words: Sequence[Word]) -> list[Word]:
    """Return *words* without repetitions."""
    return list({(word.raw, word.parts): word for word in words}.values())


def _add_folder(found: Findings, words: Sequence[Word], dirs: Dirs) -> str:
    target = cd_target(words)
    if target is None:
        found.add_external(found.workspace.home, folder=True)
        return ""
    if target.text == "-":
        return ""
    known = found.add_read(target, dirs, folder=True)
    return "" if known else f"the folder {target.source} is known at run time only"


def path_candidates(value: str) -> Iterator[str]:
    """Yield the texts in *value* that can be a path: the whole, a value joined to an option or a
    name, the parts of a list."""
    yield value
    if not _COMPOSED.search(value):
        return
    if value.startswith("-") and not value.startswith("--"):
        for at in range(2, min(len(value), 2 + _FLAG_LETTERS)):
            yield value[at:]
    rest = value
    while lead := _NAME_BEFORE_VALUE.match(rest):
        rest = rest[lead.end() :]
        yield rest
    parts = re.split("[:,]", value)
    if len(parts) > 1 and "://" not in value and re.search(r"[/=\ue006]|^\.", parts[0]):
        for part in parts:
            lead = _NAME_BEFORE_VALUE.match(part)
            yield part[lead.end() :] if lead else part


def _candidates(words: Sequence[Word]) -> list[Word]:
    """Return each text in *words* that can be a path, once."""
    if len(words) == 1 and _SINGLE_PATH.fullmatch(words[0].raw):
        return [words[0]]
    found: dict[str, Word] = {}
    for word in words:
        for value in word.values or ():
            for path in path_candidates(value):
                if path and path not in found:
                    same = path == word.raw and not word.parts
                    found[path] = word if same else Word(path, word.source)
    return list(found.values())


def add_outside_paths(found: Findings, words: Sequence[Word], dirs: Dirs) -> None:
    """Add the words that look like paths outside the project."""
    _add_outside(found, _candidates(words), dirs)


def _add_outside(found: Findings, candidates: Sequence[Word], dirs: Dirs) -> None:
    for word in candidates:
        text = plain(word.raw)
        outside = text.startswith(("/", "../")) or text == ".." or "/../" in text
        if (outside or has_tilde(word.raw)) and text.strip("/"):
            found.add_change(word, dirs)


def _add_guarded(found: Findings, candidates: Sequence[Word], dirs: Dirs) -> None:
    """Add each guarded file among *candidates*, which the program can write.

    Each word is checked once in the same folders: a line often repeats words.
    """
    for word in candidates:
        if "://" in word.raw:
            continue
        if word.plain:
            if (word.raw, dirs) in found.checked:
                continue
            found.checked.add((word.raw, dirs))
        paths = paths_of(word, dirs, found.workspace)
        if paths is None:
            paths = [plain(word.raw)] if is_guarded(plain(word.raw)) else []
        for path in paths:
            if found.workspace.is_guarded(path):
                found.add_edit(path)


def _add_secrets(found: Findings, candidates: Sequence[Word], dirs: Dirs) -> None:
    """Add each file with secrets among *candidates*, which the program can show."""
    for word in candidates:
        text = plain(word.raw)
        # The value after ``--file=`` is a candidate of its own, and an address is no file.
        if is_secret(text) and not (_NAME_BEFORE_VALUE.match(text) or _ADDRESS.match(text)):
            found.add_read(word, dirs)


def add_paths_in_code(found: Findings, text: str, dirs: Dirs, *, sed: bool = False) -> None:
    """Add each guarded or secret file that program *text* names in a string; in a script of *sed*
    also after a command that reads or writes."""
    tokens: dict[str, None] = dict.fromkeys(_SED_FILE.findall(text) if sed else ())
    for quoted in _STRINGS.finditer(text):
        string = next(part for part in quoted.groups() if part is not None)
        tokens |= dict.fromkeys((string, *_PATH_TOKENS.findall(string)))
    for token in tokens:
        if not re.search(r"[./]", token) or "\n" in token:
            continue  # a bare word is a key more often than a file
        word = Word(token, token)
        if is_guarded(token):
            for path in paths_of(word, dirs, found.workspace) or ():
                if found.workspace.is_guarded(path):
                    found.add_edit(path)
        if is_secret(token):
            found.add_read(word, dirs)


def reads_secrets(found: Findings, reading: Reading, dirs: Dirs) -> bool:
    """Return whether a recursive read can show a file with secrets."""
    folders = [
        path for word in reading.below for path in paths_of(word, dirs, found.workspace) or ()
    ]
    if reading.below == () and reading.recursive:
        folders = list(dirs)
    return any(
        Path(folder).is_dir() and secrets_below(folder, hidden=reading.hidden) for folder in folders
    )
