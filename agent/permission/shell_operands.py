"""The paths among a command's arguments (spec 3, B4)."""

import re
from collections.abc import Sequence
from pathlib import Path

from agent.permission import git_commands
from agent.permission.findings import Findings
from agent.permission.readonly import Reading
from agent.permission.shell_builtins import WRITERS, cd_target
from agent.permission.shell_paths import Dirs, paths_of, secrets_below
from agent.permission.shell_words import Word, has_tilde, plain

_FOLDERS = frozenset({"ls", "find", "du", "tree"})
_LEAD = re.compile(r"--?[\w-]+=|-[A-Za-z](?=[/.\ue006])|[A-Za-z_]\w*=")


def report(
    found: Findings, base: str, words: Sequence[Word], reading: Reading | None, dirs: Dirs
) -> str:
    """Report the paths that *base* touches; *words* are its arguments.

    Returns why the command is not understood when a path is known at run time only.
    """
    if base in ("cd", "pushd"):
        return _folder(found, words, dirs)
    if reading is not None:
        if base == "git":
            by_look(found, git_commands.parse(words).globals, dirs)
        if not reading.proven:
            by_look(found, [word for word in words if word.text.startswith("-")], dirs)
        for word in reading.paths:
            if not found.read(word, dirs, folder=base in _FOLDERS):
                return f"the path {word.source} is known at run time only"
        return ""
    by_look(found, words, dirs)
    if base in WRITERS:
        operands = [word for word in words if not word.text.startswith("-")]
        if base in ("chmod", "chown", "chgrp"):
            operands = operands[1:]
        for word in operands:
            target = Word(word.raw.split("=", 1)[-1], word.source, word.parts)
            if not found.touch(target if base == "dd" else word, dirs):
                return f"the path {word.source} is known at run time only"
    return ""


def _folder(found: Findings, words: Sequence[Word], dirs: Dirs) -> str:
    target = cd_target(words)
    if target is None:
        found.external(found.place.home, folder=True)
        return ""
    if target.text == "-":
        return ""
    known = found.read(target, dirs, folder=True)
    return "" if known else f"the folder {target.source} is known at run time only"


def by_look(found: Findings, words: Sequence[Word], dirs: Dirs) -> None:
    """Report the words that look like paths which may lie outside the project."""
    for word in words:
        for value in word.values or ():
            path = value[found_lead.end() :] if (found_lead := _LEAD.match(value)) else value
            text = plain(path)
            outside = text.startswith(("/", "../")) or text == ".." or "/../" in text
            if (outside or has_tilde(path)) and text.strip("/"):
                found.touch(Word(path, word.source), dirs)


def meets_secrets(found: Findings, reading: Reading, dirs: Dirs) -> bool:
    """Whether a recursive read may show a file with secrets."""
    folders = [path for word in reading.below for path in paths_of(word, dirs, found.place) or ()]
    if reading.below == () and reading.recursive:
        folders = list(dirs)
    return any(
        Path(folder).is_dir() and secrets_below(folder, hidden=reading.hidden) for folder in folders
    )
