"""What read, write and edit share: loading text with its stamp, and staleness.

Where the user's editor holds changes of a file that were not saved, its text counts and not the
one on disk: that is what the user sees (spec 11, F3).
"""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path, PurePath

from agent.files import (
    Editor,
    EditorRefused,
    FileContent,
    FileStamp,
    TextFile,
    decode,
    is_binary,
    load,
    replace_file,
    run_to_end,
)
from agent.files.disk import digest_of
from agent.records.errors import ToolError
from agent.tools.core.base import ToolContext
from agent.tools.core.clean_text import encodable
from agent.tools.files.paths import ToolPath, os_error_message, refuse_system, within

MAX_EDITED = 256 * 1024 * 1024
"""Bytes of a file up to which it is changed in memory."""

MAX_EDITOR_TEXT = 8 * 1024 * 1024
"""Bytes of a file up to which the editor is asked for it: its text comes in one message."""


@dataclass(frozen=True, slots=True)
class LoadedText:
    """A text file as it is now. Where its text is the editor's, that on disk is older; the stamp is
    of the text as it would be stored."""

    file: TextFile
    stamp: FileStamp


def load_text(target: ToolPath, ctx: ToolContext | None = None) -> LoadedText | None:
    """The text at *target* for a change of it, None if nothing is there; with *ctx* as it stands
    in the user's editor. Raises ``ToolError``. Blocks."""
    snapshot = load_bytes(target)
    if snapshot is None:
        return None
    held = None if ctx is None else unsaved_text(target, snapshot, ctx)
    if held is not None and ctx is not None:
        if writing_editor(target, ctx) is None:
            raise ToolError(
                f"{target.shown} has changes in the user's editor that are not saved, and the "
                "editor takes no changes from here. Nothing was written. Ask the user to save it."
            )
        return held
    if is_binary(snapshot.data[:8_192]):
        raise ToolError(
            f"{target.shown} is a binary file ({len(snapshot.data):,} bytes), so it is not "
            "changed as text."
        )
    return LoadedText(decode(snapshot.data), snapshot.stamp)


def load_bytes(target: ToolPath) -> FileContent | None:
    """The bytes at *target*, None if nothing is there. Raises ``ToolError``. Blocks."""
    refuse_system(target)
    try:
        return load(target.real, MAX_EDITED)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_error_message(error, target.shown, "read") from None


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


def check_link_target(target: ToolPath) -> None:
    """Raises ``ToolError`` if a link was changed since the path was resolved."""
    if os.path.realpath(target.path) != target.real:
        raise ToolError(
            f"{target.shown} leads elsewhere than when it was checked. Nothing was written."
        )


def editor_of(target: ToolPath, ctx: ToolContext) -> Editor | None:
    """The editor that is asked for *target*: it knows the files of the session's folder."""
    editor = ctx.files.editor
    return editor if editor is not None and within(target.real, ctx.directory) else None


def writing_editor(target: ToolPath, ctx: ToolContext) -> Editor | None:
    """The editor that writes *target*, None where it is written on disk."""
    editor = editor_of(target, ctx)
    return editor if editor is not None and editor.writes else None


def unsaved_text(target: ToolPath, snapshot: FileContent, ctx: ToolContext) -> LoadedText | None:
    """The text of *target* where the user's editor holds another one than the disk, else None.

    Asked only for files in UTF-8: what an editor gives for others cannot be told from a text that
    it decoded wrongly. Line endings are the file's, as editors have their own inside. Blocks.
    """
    editor = editor_of(target, ctx)
    if editor is None or len(snapshot.data) > MAX_EDITOR_TEXT or is_binary(snapshot.data[:8_192]):
        return None
    file = decode(snapshot.data)
    if not is_utf8(file):
        return None
    held = editor.text(ctx.root_id, target.real)
    if held is None or normalize_text(held) == normalize_text(file.text):
        return None
    text = file.with_newlines(normalize_text(encodable(held)))
    data = file.encode(text)
    stamp = FileStamp(len(data), snapshot.stamp.mtime_ns, digest_of(data))
    return LoadedText(TextFile(text, file.encoding, file.newline), stamp)


def is_utf8(file: TextFile) -> bool:
    """Whether a file is plain UTF-8, with or without a BOM."""
    return file.encoding.name == "utf-8" and file.encoding.errors == "strict"


def normalize_text(text: str) -> str:
    """*text* without what an editor may leave out: the kind of its line endings, a BOM."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


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


async def write_back(
    target: ToolPath, data: bytes, ctx: ToolContext, *, create: bool
) -> str | None:
    """Replace the file, and note that the session knows it. The caller holds its lock.

    Gives the text that is there where the editor has made another one of it, by formatting what
    it saves; else None. Raises ``ToolError``.
    """
    try:
        editor = writing_editor(target, ctx)
        if editor is not None and is_utf8(decode(data)):
            stamp, text = await _save_in_editor(editor, target, data, ctx, create=create)
        else:
            stamp, text = await run_to_end(_replace, target, data, create=create), None
    except FileExistsError:
        raise ToolError(
            f"{target.shown} was made by someone else meanwhile. Read it first. "
            "Nothing was written."
        ) from None
    except OSError as error:
        raise os_error_message(error, target.shown, "written") from None
    ctx.files.record(ctx.session_id, target.real, stamp)
    return text


async def save_unsaved(target: ToolPath, held: LoadedText, ctx: ToolContext) -> None:
    """Save for the user what they have not saved of *target*, before it is changed: it is theirs,
    so an undo of the change leaves it."""
    await write_back(target, held.file.encode(held.file.text), ctx, create=False)
    if ctx.on_saved is not None:
        await ctx.on_saved(target.real)


async def _save_in_editor(
    editor: Editor, target: ToolPath, data: bytes, ctx: ToolContext, *, create: bool
) -> tuple[FileStamp, str | None]:
    before = await asyncio.to_thread(_prepare_target, target, create=create)
    try:
        await editor.save(ctx.root_id, target.real, decode(data).text)
    except EditorRefused as refused:
        raise ToolError(
            f"The user's editor did not write {target.shown}: {refused} "
            "Don't write it in another way; say what is left to do."
        ) from None
    return await run_to_end(_check_saved, target, data, before)


def _prepare_target(target: ToolPath, *, create: bool) -> bytes | None:
    """The bytes on disk. For a new file its folders are made, which not every editor does."""
    check_link_target(target)
    if not create:
        found = load_bytes(target)
        return None if found is None else found.data
    if os.path.lexists(target.real):
        raise FileExistsError(target.real)
    Path(target.real).parent.mkdir(parents=True, exist_ok=True)
    return None


def _check_saved(
    target: ToolPath, data: bytes, before: bytes | None
) -> tuple[FileStamp, str | None]:
    """The stamp of what is on disk once the editor has written, and its text if that is another.

    What the editor has not saved, or not with every byte, is put there.
    """
    now = load_bytes(target)
    if now is not None and now.data == data:
        return now.stamp, None
    if now is None or now.data == before or _same_text(now, data):
        return replace_file(target.real, data, create=now is None), None
    return now.stamp, decode(now.data).text


def _same_text(now: FileContent, data: bytes) -> bool:
    return normalize_text(decode(now.data).text) == normalize_text(decode(data).text)


def _replace(target: ToolPath, data: bytes, *, create: bool) -> FileStamp:
    check_link_target(target)
    return replace_file(target.real, data, create=create)
