"""The changes of a patch made: all of them or none, on disk or through the user's editor."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent.files import FileStamp, Step, StepFailed, change_all, uninterrupted
from agent.records.errors import ToolError
from agent.tools.core.base import ToolContext
from agent.tools.files.filetext import encode_text, writer
from agent.tools.files.patch_plan import FileChange
from agent.tools.files.paths import explain
from agent.tools.files.writer import write_back


async def write_patch(changes: tuple[FileChange, ...], ctx: ToolContext) -> tuple[FileChange, ...]:
    """Make *changes*; gives them as they came out, where an editor formats what it saves. The
    caller holds the locks. Raises ``ToolError`` with everything as it was.

    An editor gets its files one after the other; moves, deletions and what it does not write
    are one step on disk after that.
    """
    done: list[FileChange] = []
    rest = [change for change in changes if not _for_editor(change, ctx)]
    steps = [step for change in rest for step in change.steps()]
    try:
        for change in changes:
            if _for_editor(change, ctx):
                saved = await _saved(change, ctx)
                done.append(saved)
    except asyncio.CancelledError:
        await asyncio.shield(_take_back(done, ctx))
        raise
    except ToolError as error:
        raise await _none_of_it(error, done, ctx) from None
    try:
        stamps = await uninterrupted(_on_disk, steps, _names(rest))
    except ToolError as error:
        raise await _none_of_it(error, done, ctx) from None
    for real, stamp in stamps.items():
        ctx.files.record(ctx.session_id, real, stamp)
    made = iter(done)
    return tuple(next(made) if _for_editor(c, ctx) else c for c in changes)


def _for_editor(change: FileChange, ctx: ToolContext) -> bool:
    """Whether the editor writes it. A file that goes or moves does so on disk."""
    return change.after is not None and not change.moves and writer(change.target, ctx) is not None


async def _saved(change: FileChange, ctx: ToolContext) -> FileChange:
    file = None if change.before is None else change.before.file
    data = encode_text(file, change.after or "", change.target.shown)
    text = await write_back(change.target, data, ctx, create=change.before is None)
    return change if text is None else replace(change, after=text)


async def _none_of_it(error: ToolError, done: Sequence[FileChange], ctx: ToolContext) -> ToolError:
    """Take back what the editor has written; the *error* with what is left of it."""
    left = await asyncio.shield(_take_back(done, ctx))
    if not left:
        return error
    return ToolError(
        f"{error.message} The changes made before were not taken back in {', '.join(left)}: look "
        "at what is there now."
    )


async def _take_back(done: Sequence[FileChange], ctx: ToolContext) -> list[str]:
    """Undo what the editor has written; the names of files for which that failed."""
    left: list[str] = []
    for change in reversed(done):
        try:
            if change.before is None:
                await asyncio.to_thread(Path(change.target.real).unlink, missing_ok=True)
            else:
                old = encode_text(change.before.file, change.old, change.target.shown)
                await write_back(change.target, old, ctx, create=False)
        except (ToolError, OSError):
            left.append(change.target.shown)
    return left


def _names(changes: Sequence[FileChange]) -> dict[str, str]:
    """How the paths of *changes* are shown."""
    return {
        name: path.shown for c in changes for path in c.paths for name in (path.real, path.path)
    }


def _on_disk(steps: Sequence[Step], names: Mapping[str, str]) -> dict[str, FileStamp]:
    """Take all *steps*. Raises ``ToolError`` with everything as it was."""
    try:
        return change_all(steps)
    except StepFailed as failed:
        told = explain(failed.cause, names[failed.path], "changed").message
        if not failed.left:
            raise ToolError(f"{told} No file of the patch was changed.") from None
        left = ", ".join(names[path] for path in failed.left)
        raise ToolError(
            f"{told} The changes made before were taken back, but not in {left}: look at what "
            "is there now."
        ) from None
