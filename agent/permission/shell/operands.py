"""The paths among a command's arguments."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agent.permission.programs import git_arguments
from agent.permission.programs.arguments import parse
from agent.permission.programs.builtin_effects import cd_target
from agent.permission.programs.read_only import Reading
from agent.permission.programs.record import WRITTEN, Program, Syntax
from agent.permission.protected import chooses_secrets, is_guarded, is_secret
from agent.permission.read_rules import Reach
from agent.permission.shell.findings import SECRETS_BELOW, Findings
from agent.permission.shell.paths import Dirs, is_stream, paths_of
from agent.permission.shell.simple_command import SimpleCommand
from agent.permission.syntax.words import Word, has_tilde, plain

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

    Return the reason if a path is not known in advance, else "".
    """
    if base in ("cd", "pushd"):
        return _add_folder(found, words, dirs)
    _add_paths_in_scripts(found, program, words, dirs)
    candidates = _candidates(words)
    writes = reading is None or uncovered
    if program.syntax == "git":
        call = git_arguments.parse(words)
        writes = call.command.effect == "write" and not (reading is not None and reading.proven)
        add_outside_paths(found, call.globals, dirs)
    if writes:
        _add_guarded(found, candidates, dirs)
    if reading is not None:
        return _add_reads(found, program, words, reading, dirs)
    _add_outside(found, candidates, dirs)
    return _add_changes(found, program, words, candidates, dirs)


def _add_reads(
    found: Findings, program: Program, words: Sequence[Word], reading: Reading, dirs: Dirs
) -> str:
    """Add what the program is known to read."""
    if not reading.proven:
        add_outside_paths(found, [word for word in words if word.text[:1] == "-"], dirs)
    for word in reading.listed:
        if reason := add_listed(found, word, dirs):
            return reason
    for word in _distinct(reading.paths):
        if not found.add_read(word, dirs, folder=program.operands == "folders"):
            return f"the path {word.source} is not known in advance"
    return ""


def _add_changes(
    found: Findings,
    program: Program,
    words: Sequence[Word],
    candidates: Sequence[Word],
    dirs: Dirs,
) -> str:
    """Add what the program can show or change."""
    arguments = parse(program, words)
    operands = arguments.operands
    if program.operands not in ("write", "mode"):
        copied = program.operands == "copy" and not arguments.given("-t", "--target-directory")
        shown = operands[:-1] if copied else words
        if program.interpreter:
            shown = [word for word in shown if not _CODE.search(word.text)]
        _add_secrets(found, candidates if shown is words else _candidates(shown), dirs)
    if program.operands in WRITTEN:
        if program.operands == "mode":
            operands = operands[1:]
        given = [value for each in arguments.options for value in each.values]
        for word in _distinct([*operands, *given, *arguments.split]):
            target = Word(word.raw.split("=", 1)[-1], word.source, word.parts)
            if not found.add_change(target if program.operands == "assigned" else word, dirs):
                return f"the path {word.source} is not known in advance"
    return ""


def add_listed(found: Findings, word: Word, dirs: Dirs) -> str:
    """Add the folders outside the project in which bash or a command looks for the files' names
    that *word* stands for. Return the reason if they are not known."""
    paths, place = paths_of(word, dirs, found.workspace), found.workspace
    for path in paths or ():
        if not (is_stream(path) or place.is_readable(path) or place.is_inside(path)):
            found.add_external(path, folder=False)
    if paths is not None or not word.globs:
        return ""
    # Names without a folder are in the folder of the command, however many they are.
    here = word.values is not None and not any("/" in value for value in word.values)
    return "" if here else f"the files that {word.source} matches are not known in advance"


def add_all_paths(found: Findings, words: Sequence[Word], dirs: Dirs) -> None:
    """Add the paths among the arguments *words* of a program that is not in the catalog: it can
    write or show each of them."""
    candidates = _candidates(words)
    _add_guarded(found, candidates, dirs)
    _add_outside(found, candidates, dirs)
    _add_secrets(found, candidates, dirs)


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
    return "" if known else f"the folder {target.source} is not known in advance"


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


def reach_of(
    found: Findings, reading: Reading, command: str, dirs: Dirs, *, stored: bool
) -> Reach | None:
    """Return what a reading *command* can show besides the files that it names. With *stored*, it
    shows contents that git has stored. None if it is for files with secrets, or if its folders are
    too large to look for them."""
    folders = [
        path for word in reading.below for path in paths_of(word, dirs, found.workspace) or ()
    ]
    if reading.below == () and reading.recursive:
        folders = list(dirs)
    folders = [folder for folder in folders if Path(folder).is_dir()]
    if any(map(chooses_secrets, reading.chosen)):
        return None
    secrets: list[str] = []
    for folder in folders:
        below = found.workspace.secrets_below(
            folder, hidden=reading.hidden, linked=reading.linked, chosen=reading.chosen
        )
        if below is None:
            return None
        secrets += below
    return Reach(
        command,
        folders=tuple(dict.fromkeys(folders)),
        linked=reading.linked,
        secrets=tuple(dict.fromkeys(secrets)),
        repositories=tuple(sorted(dirs)) if stored else (),
    )


def add_reach(
    found: Findings, known: Program, call: SimpleCommand, reading: Reading, start: int
) -> str:
    """Add what a command that only reads can show besides the files that it names; its patterns
    matched those from index *start* on. Return the reason if files with secrets are among them."""
    git_call = git_arguments.parse(call.words[1:]) if known.syntax == "git" else None
    stored = git_call is not None and git_arguments.shows_contents(git_call)
    reach = reach_of(found, reading, call.text, call.dirs, stored=stored)
    if reach is None:
        return "may read files with secrets"
    added = call.added.folders if call.added is not None else ()
    files = tuple(found.matched[start:])
    if files or added or reach.folders or reach.repositories:
        found.reaches.append(replace(reach, folders=(*reach.folders, *added), files=files))
    if not reach.secrets:
        return ""
    # Git without a question runs in a way of its own, which was not prepared for this.
    return SECRETS_BELOW if git_call is None else "reads a repository with files that hold secrets"
