"""The ``apply_patch`` tool: a patch over several files, all of it or nothing.

Models of the GPT family are trained on it, so they get it instead of edit and write.
"""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from pydantic import AliasChoices, Field

from agent.records.blocks import ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.files.change import (
    ChangedSinceShown,
    check_still_as_shown,
    excerpt_of,
    run_formatters,
)
from agent.tools.files.diffs import make_diff
from agent.tools.files.patch_changes import FileChange, numbered_blocks, plan_patch, write_patch
from agent.tools.files.patch_text import Section, UpdateFile, parse_patch
from agent.tools.files.paths import ToolPath, edit_needs, resolve_path
from agent.tools.files.text_file import LoadedText, check_link_target, plan_unread, save_unsaved

MAX_EXCERPT = 60
"""Lines of the changed places in one result."""


class ApplyPatchArgs(ToolArgs):
    """Arguments of ``apply_patch``."""

    patch: str = Field(
        validation_alias=AliasChoices("patch", "patch_text", "patchText", "input"),
        description="The whole patch, from '*** Begin Patch' to '*** End Patch'",
    )


@frozen
class PatchPlan:
    """The parsed patch and its changes."""

    sections: tuple[Section, ...]
    changes: tuple[FileChange, ...]


class ApplyPatchTool(BaseTool):
    """Changes several files."""

    spec = ToolSpec(
        name="apply_patch",
        verb="Patch",
        aliases=("applypatch", "patch"),
        models=r"gpt-(?!oss|[1-4])|codex",
        replaces=("edit", "write"),
    )
    facts = ToolFacts(permission="edit", kind="edit", claude_name="Edit")
    args = ApplyPatchArgs

    async def prepare(self, args: ApplyPatchArgs, ctx: ToolContext) -> Plan[PatchPlan]:
        sections = parse_patch(args.patch)
        moved = (each.move_to for each in sections if isinstance(each, UpdateFile))
        names = [*(each.path for each in sections), *filter(None, moved)]
        targets = [resolve_path(name, ctx) for name in names]
        changes = await plan_unread(partial(plan_patch, sections, ctx), targets, ctx)
        return Plan(
            label=_label(changes),
            payload=PatchPlan(sections, changes),
            needs=_needs(changes),
            blocks=numbered_blocks(changes),
            heading="Make these changes?" if len(changes) > 1 else "Make this change?",
            writes=tuple(path.real for change in changes for path in change.paths),
        )

    async def execute(
        self, plan: Plan[PatchPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        payload = plan.payload
        changes, note = _accepted(payload.changes, reply)
        paths = {path.real for change in payload.changes for path in change.paths}
        async with AsyncExitStack() as locks:
            for real in sorted(paths):  # the same order everywhere, so that no two patches deadlock
                await locks.enter_async_context(ctx.files.lock(real))
            try:
                await _check_as_shown(changes, ctx)
            except ChangedSinceShown:
                if reply is not None:
                    raise  # the user saw other diffs
                # No user saw this change: an edit of the same step came first, so match again.
                changes = await asyncio.to_thread(plan_patch, payload.sections, ctx)
            changes = await write_patch(changes, ctx)
            changes = tuple([await _run_formatters(change, ctx) for change in changes])
        return _result(changes, note)


async def _run_formatters(change: FileChange, ctx: ToolContext) -> FileChange:
    """Run the formatters on the file, and return the resulting change."""
    if change.after is None:
        return change
    text, problem = await run_formatters(change.target, change.after, ctx)
    if problem:
        change = replace(change, notes=(*change.notes, problem.removesuffix(".")))
    if text is change.after:
        return change
    kind = "create" if change.before is None else "modify"
    diff = await asyncio.to_thread(make_diff, change.target.shown, change.old, text, kind)
    return replace(change, after=text, diff=diff)


async def _check_as_shown(changes: tuple[FileChange, ...], ctx: ToolContext) -> None:
    """Raise ``ChangedSinceShown`` for files that are not as they were shown. Otherwise save the
    user's unsaved changes of them."""
    held: list[tuple[ToolPath, LoadedText]] = []
    for path, expected in (pair for change in changes for pair in change.expected_files()):
        stamp = None if expected is None else expected.stamp
        found = await asyncio.to_thread(check_still_as_shown, path, stamp, ctx, "patch")
        held += [] if found is None else [(path, found)]
        check_link_target(path)
    for path, found in held:
        await save_unsaved(path, found, ctx)


def _accepted(
    changes: tuple[FileChange, ...], reply: PermissionReply | None
) -> tuple[tuple[FileChange, ...], str]:
    """Return the changes to make and the note on hunks. Raises ``ToolError`` if no hunk was
    accepted."""
    if reply is None or reply.hunks is None:
        return changes, ""
    hunks = reply.hunks
    kept = tuple(part for change in changes if (part := change.with_hunks(hunks)) is not None)
    if not kept:
        raise ToolError("The user refused every hunk of this patch, so no file was changed.")
    if kept == changes:
        return changes, ""
    refused = [
        f"hunk {n + 1} of {change.source.shown}"
        for change in changes
        for n in range(len(change.diff.spans))
        if n + change.first_hunk not in hunks
    ]
    return kept, (
        f"The user accepted only a part of this patch. Refused and not applied: "
        f"{', '.join(refused)}. Do not repeat the refused hunks unless the user asks for them."
    )


def _result(changes: tuple[FileChange, ...], note: str) -> Result:
    count = f"{len(changes)} {'file' if len(changes) == 1 else 'files'}"
    lines = [f"Patched {count}:", *(change.summary for change in changes)]
    lines += [f"Note: {note}." for change in changes for note in change.notes]
    lines += [note] if note else []
    room = MAX_EXCERPT
    for change in changes:
        if change.before is None or change.after is None or not change.diff.spans:
            continue
        excerpt = excerpt_of(change.diff)
        room -= excerpt.count("\n") + 1
        if room < 0:
            lines.append("…")
            break
        lines += [f"{change.target.shown}:", excerpt]
    touched = tuple(dict.fromkeys(path.real for change in changes for path in change.paths))
    return Result(
        "\n".join(lines), label=_label(changes), blocks=numbered_blocks(changes), touched=touched
    )


def _label(changes: tuple[FileChange, ...]) -> ToolLabel:
    what = changes[0].target.shown if len(changes) == 1 else f"{len(changes)} files"
    added = sum(change.diff.block.added for change in changes)
    removed = sum(change.diff.block.removed for change in changes)
    return ToolLabel("Patch", what, f"+{added} −{removed}")


def _needs(changes: tuple[FileChange, ...]) -> tuple[PermissionNeed, ...]:
    """Return the permissions for all touched paths, each once."""
    needs = (need for change in changes for path in change.paths for need in edit_needs(path))
    return tuple(dict.fromkeys(needs))
