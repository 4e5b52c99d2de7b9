"""The changes of a patch: planned completely before any permission is requested, then made all or
not at all, on disk or through the user's editor."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent.files import (
    FileStamp,
    FileStep,
    FileStepFailed,
    PutFile,
    RemoveFile,
    change_all,
    run_to_end,
)
from agent.records.blocks import DiffBlock
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.reminders import restore_reminders
from agent.tools.core.tool import ToolContext
from agent.tools.edit_match import ChunkEdit, EditRefused, apply_chunk
from agent.tools.files.diffs import FileDiff, apply_hunks, make_diff
from agent.tools.files.patch_text import AddFile, Chunk, DeleteFile, Section, UpdateFile
from agent.tools.files.paths import ToolPath, missing_file_error, os_error_message, resolve_path
from agent.tools.files.text_file import (
    LoadedText,
    check_text,
    check_unchanged,
    encode_text,
    load_text,
    write_back,
    writing_editor,
)


@frozen
class FileChange:
    """The change of one file of a patch."""

    source: ToolPath
    target: ToolPath
    """The new path of a moved file, else the same as *source*."""

    before: LoadedText | None
    """None if the file does not exist yet."""

    after: str | None
    """None if the file is deleted."""

    diff: FileDiff
    replaced: LoadedText | None = None
    """The file that a move replaces."""

    mode: int | None = None
    """The permission bits of a moved file."""

    first_hunk: int = 0
    """The number of its first hunk, counted over all files of the patch."""

    notes: tuple[str, ...] = ()

    @property
    def moves(self) -> bool:
        return self.source.real != self.target.real

    @property
    def old(self) -> str:
        return "" if self.before is None else self.before.file.text

    @property
    def summary(self) -> str:
        """Return a letter for added, modified, deleted or renamed, and the path."""
        if self.before is None:
            return f"A {self.target.shown}"
        if self.after is None:
            return f"D {self.source.shown}"
        if self.moves:
            return f"R {self.source.shown} → {self.target.shown}"
        return f"M {self.target.shown}"

    @property
    def paths(self) -> tuple[ToolPath, ...]:
        return (self.source, self.target) if self.moves else (self.source,)

    def expected_files(self) -> Iterable[tuple[ToolPath, LoadedText | None]]:
        """Yield the files that must be at its paths when it is written."""
        yield self.source, self.before
        if self.moves:
            yield self.target, self.replaced

    def steps(self) -> tuple[FileStep, ...]:
        """Return the steps on disk."""
        if self.after is None:
            return (RemoveFile(self.source.path),)
        file = None if self.before is None else self.before.file
        data = encode_text(file, self.after, self.target.shown)
        if not self.moves:
            return (PutFile(self.target.real, data, create=self.before is None),)
        put = PutFile(self.target.real, data, create=self.replaced is None, mode=self.mode)
        return put, RemoveFile(self.source.path)

    def with_hunks(self, accepted: frozenset[int]) -> "FileChange | None":
        """Return the change with only the *accepted* hunks (numbered over the patch), None without
        any."""
        own = frozenset(n for n in range(len(self.diff.spans)) if n + self.first_hunk in accepted)
        if len(own) == len(self.diff.spans):
            return self
        if not own or self.after is None:
            return None
        text = apply_hunks(self.old, self.after, self.diff, own)
        return replace(self, after=text, diff=_diff(self.source, self.target, self.before, text))


def plan_patch(sections: tuple[Section, ...], ctx: ToolContext) -> tuple[FileChange, ...]:
    """Return the changes of all *sections*. Raises ``ToolError`` if one is not possible. Blocks."""
    sections = _merge_sections(sections, ctx)
    _check_duplicates(sections, ctx)
    changes: list[FileChange] = []
    hunks = 0
    for section in sections:
        change = replace(_plan(section, ctx), first_hunk=hunks)
        hunks += len(change.diff.spans)
        changes.append(change)
    return tuple(changes)


def numbered_blocks(changes: Iterable[FileChange]) -> tuple[DiffBlock, ...]:
    """Return the diffs, with hunks numbered over all files."""
    return tuple(
        replace(
            change.diff.block,
            hunks=tuple(
                replace(hunk, index=hunk.index + change.first_hunk)
                for hunk in change.diff.block.hunks
            ),
        )
        for change in changes
    )


def _check_duplicates(sections: tuple[Section, ...], ctx: ToolContext) -> None:
    seen: set[str] = set()
    for section in sections:
        names = {section.path}
        if isinstance(section, UpdateFile) and section.move_to is not None:
            names.add(section.move_to)
        paths = {path.real: path for path in (resolve_path(name, ctx) for name in names)}
        for real, path in paths.items():
            if real in seen:
                raise ToolError(
                    f"The patch names {path.shown} twice in ways that cannot be joined. "
                    "Nothing was changed. Send one section for each file."
                )
        seen.update(paths)


def _merge_sections(sections: tuple[Section, ...], ctx: ToolContext) -> tuple[Section, ...]:
    """Join the updates of one file in several sections."""
    joined: dict[str, Section] = {}
    for number, section in enumerate(sections):
        key = resolve_path(section.path, ctx).real
        before = joined.get(key)
        if (
            isinstance(before, UpdateFile)
            and isinstance(section, UpdateFile)
            and before.move_to is None
        ):
            joined[key] = replace(section, chunks=before.chunks + section.chunks)
        else:
            joined[key if before is None else f"{key}\0{number}"] = section
    return tuple(joined.values())


def _plan(section: Section, ctx: ToolContext) -> FileChange:
    source = resolve_path(section.path, ctx)
    loaded = load_text(source, ctx)
    known = loaded is not None and check_unchanged(source, loaded.stamp, ctx)
    if isinstance(section, AddFile):
        return _add(section, source, loaded, known=known)
    if loaded is None:
        raise missing_file_error(source)
    if isinstance(section, DeleteFile):
        _check_no_link(source)
        return FileChange(source, source, loaded, None, _diff(source, source, loaded, None))
    text, notes = _apply_chunks(loaded.file.text, section.chunks, source)
    target = source if section.move_to is None else resolve_path(section.move_to, ctx)
    if target.real != source.real:
        return _move(source, target, loaded, text, notes, ctx)
    if text == loaded.file.text:
        raise ToolError(f"{source.shown}: the patch changes nothing. Nothing was changed.")
    encode_text(loaded.file, text, target.shown)
    return FileChange(
        source, target, loaded, text, _diff(source, target, loaded, text), notes=notes
    )


def _move(
    source: ToolPath,
    target: ToolPath,
    loaded: LoadedText,
    text: str,
    notes: tuple[str, ...],
    ctx: ToolContext,
) -> FileChange:
    _check_no_link(source)
    replaced = load_text(target, ctx)
    if replaced is not None:
        _check_read(target, replaced, known=check_unchanged(target, replaced.stamp, ctx))
    encode_text(loaded.file, text, target.shown)
    try:
        mode = Path(source.real).stat().st_mode
    except OSError as error:
        raise os_error_message(error, source.shown, "moved") from None
    diff = _diff(source, target, loaded, text)
    return FileChange(source, target, loaded, text, diff, replaced, mode, notes=notes)


def _add(
    section: AddFile, source: ToolPath, loaded: LoadedText | None, *, known: bool
) -> FileChange:
    check_text(section.text, "the patch")
    text = section.text
    if loaded is not None:
        _check_read(source, loaded, known=known)
        text = loaded.file.with_newlines(text)
        if text == loaded.file.text:
            raise ToolError(f"{source.shown} already holds exactly this text. Nothing was changed.")
        encode_text(loaded.file, text, source.shown)
    return FileChange(source, source, loaded, text, _diff(source, source, loaded, text))


def _check_read(target: ToolPath, loaded: LoadedText, *, known: bool) -> None:
    if not known and loaded.stamp.size > 0:
        raise ToolError(
            f"{target.shown} exists and you have not read it in this session. Read it first, or "
            "use '*** Update File:' for a part of it. Nothing was changed."
        )


def _check_no_link(source: ToolPath) -> None:
    if Path(source.path).is_symlink():
        raise ToolError(
            f"{source.shown} is a link, which a patch neither deletes nor moves. Nothing was "
            "changed. Do that with a command."
        )


def _apply_chunks(
    text: str, chunks: tuple[Chunk, ...], source: ToolPath
) -> tuple[str, tuple[str, ...]]:
    notes: list[str] = []
    below = 0
    for chunk in chunks:
        if chunk.old == chunk.new:
            continue
        for line in chunk.new:
            check_text(line, "the patch")
        old, new, anchors = (
            tuple(restore_reminders(line, text) for line in lines)
            for lines in (chunk.old, chunk.new, chunk.anchors)
        )
        edit = ChunkEdit(old, new, anchors, chunk.at_end)
        try:
            applied = apply_chunk(text, edit, below)
        except EditRefused as refused:
            raise _refusal_error(refused, chunk, source) from None
        text, below = applied.edit.text, applied.next_line
        notes += [f"{source.shown}: {note}" for note in applied.edit.notes]
    return text, tuple(dict.fromkeys(notes))


def _refusal_error(refused: EditRefused, chunk: Chunk, source: ToolPath) -> ToolError:
    reason = refused.reason.replace("old_string", "the old text").replace(
        "new_string", "the new text"
    )
    # Reading is not allowed yet, so a refusal must not quote secret or outside files.
    quoted = not source.outside and not source.is_secret
    hint = f"\n{refused.hint}" if refused.hint and quoted else ""
    return ToolError(
        f"{source.shown}, the chunk at line {chunk.number} of the patch: "
        f"{reason[:1].upper()}{reason[1:]} Nothing was changed in any file.{hint}"
    )


def _diff(
    source: ToolPath, target: ToolPath, before: LoadedText | None, after: str | None
) -> FileDiff:
    old = "" if before is None else before.file.text
    if before is None:
        return make_diff(target.shown, old, after or "", "create")
    if after is None:
        return make_diff(source.shown, old, "", "delete")
    if source.real == target.real:
        return make_diff(target.shown, old, after)
    diff = make_diff(target.shown, old, after, "move")
    return replace(diff, block=replace(diff.block, moved_from=source.shown))


async def write_patch(changes: tuple[FileChange, ...], ctx: ToolContext) -> tuple[FileChange, ...]:
    """Make *changes* and return them as written: an editor can format what it saves. The caller
    holds the locks. Raises ``ToolError``, with all files restored.

    The editor gets its files one by one; then moves, deletions and all other files are changed
    on disk in one step.
    """
    done: list[FileChange] = []
    rest = [change for change in changes if not _is_for_editor(change, ctx)]
    steps = [step for change in rest for step in change.steps()]
    try:
        for change in changes:
            if _is_for_editor(change, ctx):
                saved = await _save_in_editor(change, ctx)
                done.append(saved)
    except asyncio.CancelledError:
        await asyncio.shield(_roll_back(done, ctx))
        raise
    except ToolError as error:
        raise await _roll_back_for(error, done, ctx) from None
    try:
        stamps = await run_to_end(_change_on_disk, steps, _shown_names(rest))
    except ToolError as error:
        raise await _roll_back_for(error, done, ctx) from None
    for real, stamp in stamps.items():
        ctx.files.record(ctx.session_id, real, stamp)
    made = iter(done)
    return tuple(next(made) if _is_for_editor(c, ctx) else c for c in changes)


def _is_for_editor(change: FileChange, ctx: ToolContext) -> bool:
    """Return whether the editor writes it. Files are deleted and moved on disk."""
    return (
        change.after is not None
        and not change.moves
        and writing_editor(change.target, ctx) is not None
    )


async def _save_in_editor(change: FileChange, ctx: ToolContext) -> FileChange:
    file = None if change.before is None else change.before.file
    data = encode_text(file, change.after or "", change.target.shown)
    text = await write_back(change.target, data, ctx, create=change.before is None)
    return change if text is None else replace(change, after=text)


async def _roll_back_for(
    error: ToolError, done: Sequence[FileChange], ctx: ToolContext
) -> ToolError:
    """Undo what the editor has written; return *error*, with the files that are not restored."""
    left = await asyncio.shield(_roll_back(done, ctx))
    if not left:
        return error
    return ToolError(
        f"{error.message} The earlier changes could not be undone in {', '.join(left)}: look "
        "at what is there now."
    )


async def _roll_back(done: Sequence[FileChange], ctx: ToolContext) -> list[str]:
    """Undo what the editor has written, and return the names of files for which that failed."""
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


def _shown_names(changes: Sequence[FileChange]) -> dict[str, str]:
    """Return the display names of the paths of *changes*."""
    return {
        name: path.shown for c in changes for path in c.paths for name in (path.real, path.path)
    }


def _change_on_disk(steps: Sequence[FileStep], names: Mapping[str, str]) -> dict[str, FileStamp]:
    """Take all *steps*. Raises ``ToolError``, with all files restored."""
    try:
        return change_all(steps)
    except FileStepFailed as failed:
        reason = os_error_message(failed.cause, names[failed.path], "changed").message
        if not failed.not_restored:
            raise ToolError(f"{reason} No file of the patch was changed.") from None
        left = ", ".join(names[path] for path in failed.not_restored)
        raise ToolError(
            f"{reason} The earlier changes were undone, but not in {left}: look at what "
            "is there now."
        ) from None
