"""What read, write and edit share: loading text with its stamp, staleness, writing back."""

import os
from dataclasses import dataclass
from pathlib import PurePath

from agent.errors import ToolError
from agent.files import (
    FileStamp,
    Snapshot,
    TextFile,
    decode,
    is_binary,
    load,
    replace_file,
    uninterrupted,
)
from agent.tools.base import ToolContext
from agent.tools.paths import ToolPath, explain, refuse_system

MAX_EDITED = 256 * 1024 * 1024
"""Bytes of a file up to which it is changed in memory."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A text file as it is on disk now."""

    file: TextFile
    stamp: FileStamp


def load_text(target: ToolPath) -> Loaded | None:
    """The text at *target*, None if nothing is there. Raises ``ToolError``. Blocks."""
    snapshot = load_bytes(target)
    if snapshot is None:
        return None
    if is_binary(snapshot.data[:8_192]):
        raise ToolError(
            f"{target.shown} is a binary file ({len(snapshot.data):,} bytes), so it is not "
            "changed as text."
        )
    return Loaded(decode(snapshot.data), snapshot.stamp)


def load_bytes(target: ToolPath) -> Snapshot | None:
    """The bytes at *target*, None if nothing is there. Raises ``ToolError``. Blocks."""
    refuse_system(target)
    try:
        return load(target.real, MAX_EDITED)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, target.shown, "read") from None


def encode_text(file: TextFile | None, text: str, shown: str) -> bytes:
    """*text* as the file is written (UTF-8 for a new one). Raises ``ToolError``."""
    try:
        return text.encode() if file is None else file.encode(text)
    except UnicodeEncodeError as error:
        char, line = error.object[error.start], text.count("\n", 0, error.start) + 1
        name = "UTF-8" if file is None else file.encoding.name
        raise ToolError(
            f"{shown} is stored as {name}, which cannot hold the character U+{ord(char):04X} "
            f"(line {line}). Nothing was written. Use other characters, or convert the file first."
        ) from None


def check_surrogates(text: str, field: str) -> None:
    """Half of a surrogate pair is no character and would poison the file: refuse it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise ToolError(
            f"{field} holds half of a surrogate pair (line {line}), which is no character. "
            "Write the whole character."
        ) from None


def check_unchanged(target: ToolPath, stamp: FileStamp, ctx: ToolContext) -> bool:
    """Whether the session has read the file; raises if it changed since then (STALE-WRITE)."""
    seen = ctx.files.seen(ctx.session_id, target.real)
    if seen is None:
        return False
    if not seen.same_file(stamp):
        raise ToolError(
            f"{target.shown} has changed since you read it. Read it again, then repeat the "
            "change on what is there now. Nothing was written."
        )
    return True


async def write_back(target: ToolPath, data: bytes, ctx: ToolContext, *, create: bool) -> None:
    """Replace the file, and note that the session knows it. The caller holds its lock."""
    try:
        stamp = await uninterrupted(_replace, target, data, create=create)
    except FileExistsError:
        raise ToolError(
            f"{target.shown} was made by someone else meanwhile. Read it first. "
            "Nothing was written."
        ) from None
    except OSError as error:
        raise explain(error, target.shown, "written") from None
    ctx.files.record(ctx.session_id, target.real, stamp)


def check_leads_there(target: ToolPath) -> None:
    """Raises ``ToolError`` if a link was changed since the path was resolved."""
    if os.path.realpath(target.path) != target.real:
        raise ToolError(
            f"{target.shown} leads elsewhere than when it was checked. Nothing was written."
        )


def _replace(target: ToolPath, data: bytes, *, create: bool) -> FileStamp:
    check_leads_there(target)
    return replace_file(target.real, data, create=create)


def language_of(path: str) -> str:
    """A lexer's name by the file's ending, empty if unknown."""
    return _LANGUAGES.get(PurePath(path).suffix[1:].lower(), "")


_LANGUAGES = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "jsx": "jsx",
    "ts": "typescript", "tsx": "tsx", "go": "go", "rs": "rust", "c": "c", "h": "c", "cc": "cpp",
    "cpp": "cpp", "hpp": "cpp", "java": "java", "kt": "kotlin", "rb": "ruby", "php": "php",
    "sh": "bash", "bash": "bash", "zsh": "bash", "html": "html", "css": "css", "scss": "scss",
    "json": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "md": "markdown",
    "sql": "sql", "xml": "xml", "swift": "swift", "lua": "lua", "ini": "ini", "cs": "csharp",
}  # fmt: skip
