"""The change of one file, from plan to disk, for write and edit.

The plan contains the stamp of the file and the exact new text. That text, or the hunks of it
that the user accepted, is written only if the file is still the one that was shown.
"""

import asyncio
from typing import TypeVar

from agent.files import FileStamp, TextFile
from agent.records.blocks import ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import PermissionReply
from agent.tools.core.tool import Plan, Result, ToolContext
from agent.tools.files.diffs import FileDiff, Span, apply_hunks, change_note, make_diff
from agent.tools.files.later_changes import new_lines
from agent.tools.files.paths import ToolPath, edit_needs
from agent.tools.files.text_file import (
    LoadedText,
    check_link_target,
    encode_text,
    load_bytes,
    load_text,
    save_unsaved,
    unsaved_text,
    write_back,
)

PayloadT = TypeVar("PayloadT")

FORMATTED = "A formatter changed {path} after that; the file as it is now counts as read."

MAX_EXCERPT = 40
"""Lines of excerpts in one result."""


class ChangedSinceShown(ToolError):
    """The file has changed since the change was prepared. Nothing was written."""


@frozen
class Change:
    """A change to the text *new*. *file* and *stamp* are None if the file does not exist."""

    target: ToolPath
    file: TextFile | None
    stamp: FileStamp | None
    new: str
    diff: FileDiff

    @property
    def creates(self) -> bool:
        return self.file is None

    @property
    def old(self) -> str:
        return "" if self.file is None else self.file.text

    def to_plan(self, verb: str, payload: PayloadT) -> Plan[PayloadT]:
        return Plan(
            label=ToolLabel(verb, self.target.shown, change_note(self.diff.block)),
            payload=payload,
            needs=edit_needs(self.target),
            blocks=(self.diff.block,),
            heading="Create this file?" if self.creates else "Make this change?",
            writes=(self.target.real,),
        )


@frozen
class AppliedChange:
    """The whole *text* that the file has now, its *diff*, a *note* on hunks and formatters, and the
    text that was *written* before the formatters ran."""

    target: ToolPath
    text: str
    diff: FileDiff
    note: str
    written: str

    def to_result(self, message: str, verb: str, *, excerpt: bool = False) -> Result:
        shown = excerpt_of(self.diff) if excerpt else ""
        if not excerpt and self.written != self.text:
            shown = new_lines(self.written, self.text)
        parts = [message, self.note, shown]
        return Result(
            "\n".join(part for part in parts if part),
            label=ToolLabel(verb, self.target.shown, change_note(self.diff.block)),
            blocks=(self.diff.block,),
            touched=(self.target.real,),
        )


def excerpt_of(diff: FileDiff) -> str:
    """Return the changed places of the new text as numbered lines."""
    shown: list[str] = []
    for hunk in diff.block.hunks:
        lines = [f"{line.new}: {line.text}" for line in hunk.lines if line.new is not None]
        if len(shown) + len(lines) > MAX_EXCERPT:
            shown.append("…")
            break
        shown.extend(lines)
    return "\n".join(shown)


def plan_change(target: ToolPath, loaded: LoadedText | None, new: str) -> Change:
    """Return the change to *new*. Raises ``ToolError`` if the file's encoding cannot store it."""
    file = None if loaded is None else loaded.file
    encode_text(file, new, target.shown)
    old = "" if file is None else file.text
    diff = make_diff(target.shown, old, new, "create" if file is None else "modify")
    return Change(target, file, None if loaded is None else loaded.stamp, new, diff)


async def apply_change(
    change: Change, reply: PermissionReply | None, ctx: ToolContext
) -> AppliedChange:
    """Write the accepted hunks. Raises ``ChangedSinceShown`` if the file is not as it was shown."""
    target = change.target
    text, note = _accepted(change, reply)
    data = encode_text(change.file, text, target.shown)
    async with ctx.files.lock(target.real):
        held = await asyncio.to_thread(check_still_as_shown, target, change.stamp, ctx, "change")
        if held is not None:
            await save_unsaved(target, held, ctx)
        written = await write_back(target, data, ctx, create=change.creates) or text
        text, problem = await run_formatters(target, written, ctx)
    diff = change.diff
    if text is not change.new:
        kind = "create" if change.creates else "modify"
        diff = await asyncio.to_thread(make_diff, target.shown, change.old, text, kind)
    notes = "\n".join(word for word in (note, problem) if word)
    return AppliedChange(target, text, diff, notes, written)


async def run_formatters(target: ToolPath, text: str, ctx: ToolContext) -> tuple[str, str]:
    """Run the formatters of a file that was written as *text*; return its text and a note about a
    change and about what went wrong. The caller holds the file's lock."""
    if ctx.file_checks is None or not ctx.file_checks.has_formatters:
        return text, ""
    problem = await ctx.file_checks.format(target.real)
    loaded = await asyncio.to_thread(load_text, target)
    if loaded is None or loaded.file.text == text:
        return text, problem
    ctx.files.record(ctx.session_id, target.real, loaded.stamp)
    return loaded.file.text, " ".join(filter(None, (FORMATTED.format(path=target.shown), problem)))


def check_still_as_shown(
    target: ToolPath, shown: FileStamp | None, ctx: ToolContext, what: str
) -> LoadedText | None:
    """Raises ``ChangedMeanwhile`` if *target* is not what it was when *what* was prepared (None:
    not there). Gives its text where the user has not saved it. Blocks."""
    check_link_target(target)
    now = load_bytes(target)
    held = None if now is None else unsaved_text(target, now, ctx)
    stamp = held.stamp if held is not None else None if now is None else now.stamp
    same = shown is stamp if shown is None or stamp is None else shown.same_file(stamp)
    if not same:
        raise ChangedSinceShown(
            f"{target.shown} changed after this {what} was prepared, so nothing was "
            f"written. Read it again and repeat the {what} on what is there now."
        )
    return held


def _accepted(change: Change, reply: PermissionReply | None) -> tuple[str, str]:
    """Return the text to write and the note on hunks. Raises ``ToolError`` if no hunk was
    accepted."""
    if reply is None or reply.hunks is None:
        return change.new, ""
    spans = change.diff.spans
    accepted = [n for n in range(len(spans)) if n in reply.hunks]
    refused = [n for n in range(len(spans)) if n not in reply.hunks]
    if not refused:
        return change.new, ""
    if not accepted:
        raise ToolError(
            f"The user refused every hunk of this change, so {change.target.shown} was not changed."
        )
    text = apply_hunks(change.old, change.new, change.diff, frozenset(accepted))
    total = len(spans)
    applied = ", ".join(_describe_hunk(change, n) for n in accepted)
    left = ", ".join(_describe_hunk(change, n) for n in refused)
    return text, (
        f"The user accepted only a part of this change ({len(accepted)} of {total} hunks). "
        f"Applied: {applied}. Refused and not applied: {left}. "
        "Do not repeat the refused hunks unless the user asks for them."
    )


def _describe_hunk(change: Change, index: int) -> str:
    span: Span = change.diff.spans[index]
    first = change.old.count("\n", 0, span.old_start) + 1
    last = max(first, first + change.old.count("\n", span.old_start, span.old_end) - 1)
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    return f"hunk {index + 1} (old {lines})"
