"""Writing a file that is known: on disk, or through the user's editor (spec 11, F3).

An editor that takes changes gets them, so that its view of the file and its own undo follow.
What it has done is then looked at: what must be on disk is the text with its own encoding, BOM
and line endings, whatever the editor makes of them.
"""

import asyncio
import os
from pathlib import Path

from agent.files import (
    Editor,
    EditorRefused,
    FileStamp,
    Snapshot,
    decode,
    replace_file,
    uninterrupted,
)
from agent.records.errors import ToolError
from agent.tools.core.base import ToolContext
from agent.tools.files.filetext import (
    Loaded,
    check_leads_there,
    in_utf8,
    load_bytes,
    plain,
    writer,
)
from agent.tools.files.paths import ToolPath, explain


async def write_back(
    target: ToolPath, data: bytes, ctx: ToolContext, *, create: bool
) -> str | None:
    """Replace the file, and note that the session knows it. The caller holds its lock.

    Gives the text that is there where the editor has made another one of it, by formatting what
    it saves; else None. Raises ``ToolError``.
    """
    try:
        editor = writer(target, ctx)
        if editor is not None and in_utf8(decode(data)):
            stamp, text = await _through(editor, target, data, ctx, create=create)
        else:
            stamp, text = await uninterrupted(_replace, target, data, create=create), None
    except FileExistsError:
        raise ToolError(
            f"{target.shown} was made by someone else meanwhile. Read it first. "
            "Nothing was written."
        ) from None
    except OSError as error:
        raise explain(error, target.shown, "written") from None
    ctx.files.record(ctx.session_id, target.real, stamp)
    return text


async def keep_unsaved(target: ToolPath, held: Loaded, ctx: ToolContext) -> None:
    """Save for the user what they have not saved of *target*, before it is changed: it is theirs,
    so an undo of the change leaves it."""
    await write_back(target, held.file.encode(held.file.text), ctx, create=False)
    if ctx.saved is not None:
        await ctx.saved(target.real)


async def _through(
    editor: Editor, target: ToolPath, data: bytes, ctx: ToolContext, *, create: bool
) -> tuple[FileStamp, str | None]:
    before = await asyncio.to_thread(_ready, target, create=create)
    try:
        await editor.save(ctx.root_id, target.real, decode(data).text)
    except EditorRefused as refused:
        raise ToolError(
            f"The user's editor did not write {target.shown}: {refused} "
            "Don't write it in another way; say what is left to do."
        ) from None
    return await uninterrupted(_settled, target, data, before)


def _ready(target: ToolPath, *, create: bool) -> bytes | None:
    """The bytes on disk. For a new file its folders are made, which not every editor does."""
    check_leads_there(target)
    if not create:
        found = load_bytes(target)
        return None if found is None else found.data
    if os.path.lexists(target.real):
        raise FileExistsError(target.real)
    Path(target.real).parent.mkdir(parents=True, exist_ok=True)
    return None


def _settled(target: ToolPath, data: bytes, before: bytes | None) -> tuple[FileStamp, str | None]:
    """The stamp of what is on disk once the editor has written, and its text if that is another.

    What the editor has not saved, or not with every byte, is put there.
    """
    now = load_bytes(target)
    if now is not None and now.data == data:
        return now.stamp, None
    if now is None or now.data == before or _same_text(now, data):
        return replace_file(target.real, data, create=now is None), None
    return now.stamp, decode(now.data).text


def _same_text(now: Snapshot, data: bytes) -> bool:
    return plain(decode(now.data).text) == plain(decode(data).text)


def _replace(target: ToolPath, data: bytes, *, create: bool) -> FileStamp:
    check_leads_there(target)
    return replace_file(target.real, data, create=create)
