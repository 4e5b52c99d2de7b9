"""What ``edit`` and ``multiedit`` share: one file, replacements in order, all or nothing."""

import asyncio
from dataclasses import dataclass

from pydantic import AliasChoices, Field

from agent.records.errors import ToolError
from agent.records.requests import PermissionReply
from agent.tools.core.base import Result, ToolArgs, ToolContext
from agent.tools.edit_match import Edit, EditRefused, apply_edit
from agent.tools.files.change import (
    AppliedChange,
    Change,
    ChangedSinceShown,
    apply_change,
    check_text,
    plan_change,
)
from agent.tools.files.paths import ToolPath, missing_file_error, resolve_path
from agent.tools.files.text_file import LoadedText, check_unchanged, load_text


class FileArg(ToolArgs):
    """The file that is meant."""

    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "filePath", "path"),
        description="The file to change",
    )


class ReplacementArg(ToolArgs):
    """One replacement as the model writes it."""

    old_string: str = Field(
        validation_alias=AliasChoices("old_string", "oldString", "old_str"),
        description="The text to replace, exactly as it is in the file",
    )
    new_string: str = Field(
        validation_alias=AliasChoices("new_string", "newString", "new_str"),
        description="The text to put in its place",
    )
    replace_all: bool = Field(
        default=False,
        validation_alias=AliasChoices("replace_all", "replaceAll"),
        description="Replace every occurrence of old_string (default false)",
    )


@dataclass(frozen=True, slots=True)
class EditPlan:
    """The replacements as asked for, and the change that they come to.

    *places* counts what was replaced, *notes* say what was bent.
    """

    edits: tuple[ReplacementArg, ...]
    change: Change
    count: int = 1
    notes: tuple[str, ...] = ()


async def prepare_edits(path: str, edits: tuple[ReplacementArg, ...], ctx: ToolContext) -> EditPlan:
    """What *asked* would do to the file at *path*. Raises ``ToolError``."""
    target = resolve_path(path, ctx)
    for replacing in edits:
        check_text(replacing.old_string, "old_string")
        check_text(replacing.new_string, "new_string")
    return await asyncio.to_thread(_plan, target, edits, ctx)


async def execute_edits(plan: EditPlan, reply: PermissionReply | None, ctx: ToolContext) -> Result:
    """Make the change and say what was done."""
    done = await _write(plan, reply, ctx)
    while done is None:
        # Nobody was shown anything: a sibling's edit came first, so match anew (T7).
        plan = await asyncio.to_thread(_plan, plan.change.target, plan.edits, ctx)
        done = await _write(plan, None, ctx)
    shown = plan.change.target.shown
    if plan.change.creates:
        return done.to_result(f"Created {shown}.", "Edit")
    places = "" if plan.count == 1 else f" in {plan.count:,} places"
    notes = "".join(f"\nNote: {note}." for note in plan.notes)
    return done.to_result(f"Edited {shown}{places}.{notes}", "Edit", excerpt=True)


async def _write(
    plan: EditPlan, reply: PermissionReply | None, ctx: ToolContext
) -> AppliedChange | None:
    """Make the change; None if the file is another one by now and nobody saw this change."""
    try:
        return await apply_change(plan.change, reply, ctx)
    except ChangedSinceShown:
        if reply is not None:
            raise  # the user saw another diff (M10)
        return None


def _plan(target: ToolPath, asked: tuple[ReplacementArg, ...], ctx: ToolContext) -> EditPlan:
    loaded = load_text(target, ctx)
    if loaded is not None:
        check_unchanged(target, loaded.stamp, ctx)
    begun = _initial_text(target, loaded, asked[0])
    places = 0 if begun is None else 1
    text = (begun or "") if loaded is None or begun is not None else loaded.file.text
    notes: list[str] = []
    for number, replacing in enumerate(asked[places:], places + 1):
        which = f"edit {number} of {len(asked)}" if len(asked) > 1 else ""
        edit = _apply(text, replacing, target, which)
        text = edit.text
        places += edit.count
        notes += [f"{which}: {note}" if which else note for note in edit.notes]
    if loaded is not None and text == loaded.file.text:
        raise ToolError("The edits take each other back, so there is nothing to change.")
    return EditPlan(asked, plan_change(target, loaded, text), places, tuple(notes))


def _initial_text(target: ToolPath, loaded: LoadedText | None, first: ReplacementArg) -> str | None:
    """The text that *first* begins a missing or empty file with, None if it edits one."""
    if loaded is not None:
        return None if first.old_string or loaded.file.text else first.new_string
    if first.old_string:
        raise missing_file_error(target)
    if not first.new_string:
        raise ToolError("old_string and new_string are both empty: there is nothing to write.")
    return first.new_string


def _apply(text: str, replacing: ReplacementArg, target: ToolPath, which: str) -> Edit:
    try:
        return apply_edit(
            text, replacing.old_string, replacing.new_string, replace_all=replacing.replace_all
        )
    except EditRefused as refused:
        # Nothing has been allowed yet: a refusal must not quote what may not be read.
        quoted = not target.outside and not target.is_secret
        hint = f"\n{refused.hint}" if refused.hint and quoted else ""
        where = f"{target.shown}, {which}" if which else target.shown
        none = " None of the edits was made." if which else ""
        raise ToolError(f"{where}: {refused.reason}{none}{hint}") from None
