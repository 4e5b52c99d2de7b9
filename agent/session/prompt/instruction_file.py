"""The text of one instruction file with its imports.

A line can name another file as ``@path``; that file's text follows below. Imports are bounded in
depth and number, come once, and never leave the allowed folder.
"""

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent.files import decode, is_binary, load
from agent.permission.protected import is_secret
from agent.tools.core.clean_text import encodable
from agent.tools.files.paths import printable

MAX_CHARACTERS = 40_000
"""Characters of one file (some 10,000 tokens); the rest is left out with a note."""

MAX_BYTES = 4 * 1024 * 1024
"""Bytes above which a file is not opened."""

MAX_DEPTH = 5
"""Depth of imports inside imports."""

MAX_IMPORTS = 30
"""Files that one instruction file can import."""

CUT = "[{shown:,} of {whole:,} characters are shown. Read {name} where you need the rest.]"

# As in mail addresses and package names, an @ inside a word or code is none of ours.
_IMPORT = re.compile(r"(?<![\w`@./])@(~?[^\s,`@]+)")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ImportBounds:
    """The allowed places of instruction files and their imports."""

    inside: Path | None = None
    """The folder that files really lie in; None for anywhere."""
    base: Path | None = None
    """The project, to which displayed paths are relative."""
    home: Path | None = None
    """The meaning of ``~``; None where it cannot be used."""

    def display_name(self, path: Path) -> str:
        """Return *path* as users and the model read it."""
        if self.base is not None and path.is_relative_to(self.base):
            return printable(path.relative_to(self.base).as_posix())
        if self.home is not None and path.is_relative_to(self.home):
            return printable(f"~/{path.relative_to(self.home).as_posix()}")
        return printable(str(path))


@dataclass(slots=True)
class ReadState:
    """State over several files. *seen* are real paths, each of which is read once; *notes* are
    sentences for the user."""

    seen: set[str] = field(default_factory=set[str])
    notes: list[str] = field(default_factory=list[str])


def read_instructions(path: Path, bounds: ImportBounds, reading: ReadState) -> str | None:
    """Return the text of the file at *path* and of its imports; None if it cannot be read or was
    read before."""
    parts = list(_read_with_imports(path, bounds, reading, MAX_DEPTH, [MAX_IMPORTS]))
    if not parts:
        return None
    (_, first), *imported = parts
    sections = [f"## Imported from {name}\n\n{text}" for name, text in imported if text]
    return "\n\n".join([first, *sections]).strip() or None


def _read_with_imports(
    path: Path, bounds: ImportBounds, reading: ReadState, depth: int, left: list[int]
) -> Iterator[tuple[str, str]]:
    """Yield name and text of a file, then of its imports, in order."""
    name = bounds.display_name(path)
    real = _allowed_path(path, name, bounds, reading)
    text = _read_text(real, name, reading) if real is not None else None
    if text is None:
        return
    yield name, text
    for word in imported_paths(text):
        target = _import_target(word, path.parent, bounds)
        if target is None or str(target.resolve()) in reading.seen:
            continue
        if depth == 0 or left[0] == 0:
            limit = "deep" if depth == 0 else "many"
            reading.notes.append(f"{name}: @{printable(word)} is left out: too {limit} imports.")
            continue
        left[0] -= 1
        yield from _read_with_imports(target, bounds, reading, depth - 1, left)


def imported_paths(text: str) -> list[str]:
    """Return the paths that *text* imports, in order, each once; none from code."""
    plain = _CODE.sub(" ", _without_fences(text))
    words = (match[1].rstrip(".,;:!?)]}'\"") for match in _IMPORT.finditer(plain))
    return list(dict.fromkeys(word for word in words if word))


def _without_fences(text: str) -> str:
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            continue
        if mark:
            fence = mark[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def _import_target(word: str, folder: Path, bounds: ImportBounds) -> Path | None:
    """Return the file that an import names; None for a word that only looks like one."""
    if word.startswith("~"):
        if bounds.home is None or not word.startswith("~/"):
            return None
        path = bounds.home / word[2:]
    else:
        path = folder / word
    try:
        return Path(os.path.normpath(path)) if path.is_file() else None
    except (OSError, ValueError):
        return None  # too long for a path, or a NUL in it


def _allowed_path(path: Path, name: str, bounds: ImportBounds, reading: ReadState) -> Path | None:
    """Return the real path of a file that can be read and was not read yet."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        return None  # a circle of links
    if bounds.inside is not None and not real.is_relative_to(bounds.inside):
        reading.notes.append(f"{name} leads out of the project and is left out.")
        return None
    if is_secret(str(real)) or is_secret(str(path)):
        reading.notes.append(f"{name} may hold secrets and is left out.")
        return None
    if str(real) in reading.seen:
        return None
    reading.seen.add(str(real))
    return real


def _read_text(real: Path, name: str, reading: ReadState) -> str | None:
    try:
        data = load(str(real), MAX_BYTES).data
    except OSError as error:
        reason = "it is too large" if error.errno == errno.EFBIG else (error.strerror or "").lower()
        reading.notes.append(f"{name} cannot be read and is left out: {reason}.")
        return None
    if is_binary(data):
        reading.notes.append(f"{name} is no text and is left out.")
        return None
    text = encodable(decode(data).text).replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(text) <= MAX_CHARACTERS:
        return text
    reading.notes.append(
        f"{name} has {len(text):,} characters; only the first {MAX_CHARACTERS:,} reach the model."
    )
    shown = text[:MAX_CHARACTERS].rsplit("\n", 1)[0]
    return f"{shown}\n{CUT.format(shown=len(shown), whole=len(text), name=name)}"
