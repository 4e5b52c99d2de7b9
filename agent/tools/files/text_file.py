"""Load, check and write text files, on disk or through the user's editor.

If the user's editor has unsaved changes of a file, its text counts and not the one on disk: it is
what the user sees. An editor that accepts changes gets them, so that its view of the file and its
undo follow. Afterwards the file on disk is checked: it must have the new text with the encoding,
BOM and line endings of the file, whatever the editor makes of them.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import TypeVar

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
from agent.records.frozen import frozen
from agent.records.json import encodable
from agent.records.requests import PermissionNeed
from agent.tools.core.tool import ToolContext
from agent.tools.files.paths import ToolPath, os_error_message, read_needs, refuse_system, within

MAX_EDITED = 256 * 1024 * 1024
"""Bytes of the largest file that is changed."""

MAX_EDITOR_TEXT = 8 * 1024 * 1024
"""Bytes of the largest file whose text is requested from the editor, in one message."""


@frozen
class LoadedText:
    """A text file in its current state. If the text is the editor's, the one on disk is older; the
    stamp is that of the text as it would be stored."""

    file: TextFile
    stamp: FileStamp


def load_text(target: ToolPath, ctx: ToolContext | None = None) -> LoadedText | None:
    """Return the text at *target* for a change, None if there is no file; with *ctx* the text in
    the user's editor. Raises ``ToolError``. Blocks."""
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
    """Return the bytes at *target*, None if there is no file. Raises ``ToolError``. Blocks."""
    refuse_system(target)
    try:
        return load(target.real, MAX_EDITED)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_error_message(error, target.shown, "read") from None


def encode_text(file: TextFile | None, text: str, shown: str) -> bytes:
    """Return *text* in the file's encoding (UTF-8 for a new one). Raises ``ToolError``."""
    try:
        return text.encode() if file is None else file.encode(text)
    except UnicodeEncodeError as error:
        char, line = error.object[error.start], text.count("\n", 0, error.start) + 1
        name = "UTF-8" if file is None else file.encoding.name
        raise ToolError(
            f"{shown} is stored as {name}, which cannot hold the character U+{ord(char):04X} "
            f"(line {line}). Nothing was written. Use other characters, or convert the file first."
        ) from None


def check_text(text: str, field: str) -> None:
    """Raise ``ToolError`` for half of a surrogate pair: no file can store it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise ToolError(
            f"{field} contains half of a surrogate pair (line {line}), which is not a character. "
            "Write the whole character."
        ) from None


def check_unchanged(target: ToolPath, stamp: FileStamp, ctx: ToolContext) -> bool:
    """Return whether the session has read the file. Raises ``ToolError`` if it changed since."""
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
    """Raise ``ToolError`` if a link has changed since the path was resolved."""
    if os.path.realpath(target.path) != target.real:
        raise ToolError(
            f"{target.shown} no longer leads to the place that was checked. Nothing was written."
        )


def editor_of(target: ToolPath, ctx: ToolContext) -> Editor | None:
    """Return the editor if it knows *target*: a file in the session's folder."""
    editor = ctx.files.editor
    return editor if editor is not None and within(target.real, ctx.directory) else None


def writing_editor(target: ToolPath, ctx: ToolContext) -> Editor | None:
    """Return the editor that writes *target*, None if it is written on disk."""
    editor = editor_of(target, ctx)
    return editor if editor is not None and editor.writes else None


def unsaved_text(target: ToolPath, snapshot: FileContent, ctx: ToolContext) -> LoadedText | None:
    """Return the unsaved text of *target* in the user's editor, None if it is as on disk.

    Only for files in UTF-8: another text might be one that the editor decoded wrongly. Line
    endings are those of the file, because editors use their own internally. Blocks.
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
    """Return whether a file is UTF-8, with or without a BOM."""
    return file.encoding.name == "utf-8" and file.encoding.errors == "strict"


def normalize_text(text: str) -> str:
    """Return *text* without differences that an editor can make: line endings and a BOM."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def language_of(path: str) -> str:
    """Return the name of the lexer for the file's extension, "" if unknown."""
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
    """Replace the file, and record that the session knows it. The caller holds its lock.

    Return the new text if the editor has changed it by formatting while saving, else None.
    Raises ``ToolError``.
    """
    try:
        editor = writing_editor(target, ctx)
        if editor is not None and is_utf8(decode(data)):
            stamp, text = await _save_in_editor(editor, target, data, ctx, create=create)
        else:
            stamp, text = await run_to_end(_replace, target, data, create=create), None
    except FileExistsError:
        raise ToolError(
            f"{target.shown} was created by another program in the meantime. Read it first. "
            "Nothing was written."
        ) from None
    except OSError as error:
        raise os_error_message(error, target.shown, "written") from None
    ctx.files.record(ctx.session_id, target.real, stamp)
    return text


async def save_unsaved(target: ToolPath, held: LoadedText, ctx: ToolContext) -> None:
    """Save the user's unsaved changes of *target* before it is changed, so that an undo of the
    change keeps them."""
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
    """Return the bytes on disk. For a new file, create its folders, which not every editor does."""
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
    """Return the stamp of the file after the editor has saved, and its text if it is another one.

    If the editor has not saved it, or not with the right bytes, it is written here.
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


# Plans of changes to files outside the project that the model has not read.

PlanT = TypeVar("PlanT")


async def plan_unread(
    plan: Callable[[], PlanT], targets: Sequence[ToolPath], ctx: ToolContext
) -> PlanT:
    """Return what *plan* returns, in a thread.

    The reason why it is not possible says something about the files: whether they exist, what is in
    them. Of files outside the project the model learns that only once it may read them.
    """
    for target in targets:
        refuse_system(target)
    try:
        return await asyncio.to_thread(plan)
    except ToolError:
        needs = unread_needs(targets, ctx)
        if needs:
            await ctx.ask(needs, "Read this file?")
        raise


def unread_needs(targets: Sequence[ToolPath], ctx: ToolContext) -> tuple[PermissionNeed, ...]:
    """Return the permissions for reading those *targets* outside the project that the session has
    not read."""
    needs = (
        need
        for path in targets
        if path.outside and ctx.files.seen(ctx.session_id, path.real) is None
        for need in read_needs(path)
    )
    return tuple(dict.fromkeys(needs))
