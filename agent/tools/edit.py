"""The ``edit`` tool: replace one or several parts of a file's text, in order, all or nothing."""

import asyncio
from functools import partial
from typing import Any

from pydantic import AliasChoices, Field, field_validator, model_validator

from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.reminders import restore_reminders
from agent.records.requests import PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.edit_match import Edit, EditRefused, apply_edit
from agent.tools.files.change import (
    AppliedChange,
    Change,
    ChangedSinceShown,
    apply_change,
    plan_change,
)
from agent.tools.files.paths import ToolPath, missing_file_error, resolve_path
from agent.tools.files.text_file import (
    LoadedText,
    check_text,
    check_unchanged,
    load_text,
    plan_unread,
)


class ReplacementArg(ToolArgs):
    """The arguments of one replacement in a list, named and described like those of ``edit``."""

    old_string: str = Field(validation_alias=AliasChoices("old_string", "oldString", "old_str"))
    new_string: str = Field(validation_alias=AliasChoices("new_string", "newString", "new_str"))
    replace_all: bool = Field(
        default=False, validation_alias=AliasChoices("replace_all", "replaceAll")
    )


class EditArgs(ToolArgs):
    """Arguments of ``edit``: one replacement, or ``edits``."""

    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "filePath", "path"),
        description="The file to change",
    )
    old_string: str | None = Field(
        default=None,
        validation_alias=AliasChoices("old_string", "oldString", "old_str"),
        description="The text to replace, exactly as it is in the file",
    )
    new_string: str | None = Field(
        default=None,
        validation_alias=AliasChoices("new_string", "newString", "new_str"),
        description="The text to put in its place",
    )
    replace_all: bool = Field(
        default=False,
        validation_alias=AliasChoices("replace_all", "replaceAll"),
        description="Replace every occurrence",
    )
    edits: list[ReplacementArg] = Field(
        default=[],
        description="Several replacements, made in this order",
    )

    @field_validator("edits", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _check_given(self) -> "EditArgs":
        missing = [name for name in ("old_string", "new_string") if getattr(self, name) is None]
        if len(missing) == 1 or (missing and not self.edits):
            raise ValueError(f"{' and '.join(missing)} missing; or give several edits as a list")
        return self

    def replacements(self) -> tuple[ReplacementArg, ...]:
        """Return the replacements in their order: the single one comes before those in ``edits``,
        where some models repeat it or leave it empty."""
        edits = [
            edit.model_copy(update={"replace_all": edit.replace_all or self.replace_all})
            for edit in self.edits
        ]
        if self.old_string is None or self.new_string is None:
            return tuple(edits)
        single = ReplacementArg.model_construct(
            old_string=self.old_string, new_string=self.new_string, replace_all=self.replace_all
        )
        unused = edits and (single == edits[0] or not (self.old_string or self.new_string))
        return tuple(edits) if unused else (single, *edits)


@frozen
class EditPlan:
    """The requested replacements and the resulting change, with the count of replaced places and
    notes on tolerated differences."""

    edits: tuple[ReplacementArg, ...]
    change: Change
    count: int = 1
    notes: tuple[str, ...] = ()


class EditTool(BaseTool):
    """Edits one or several parts of a file."""

    spec = ToolSpec(
        name="edit", verb="Edit", aliases=("edit_file", "str_replace", "replace", "search_replace")
    )
    facts = ToolFacts(action="ask", kind="edit", claude_name="Edit", in_claude_settings=True)
    args = EditArgs

    async def prepare(self, args: EditArgs, ctx: ToolContext) -> Plan[EditPlan]:
        target, edits = resolve_path(args.file_path, ctx), args.replacements()
        for replacing in edits:
            check_text(replacing.old_string, "old_string")
            check_text(replacing.new_string, "new_string")
        payload = await plan_unread(partial(_plan, target, edits, ctx), (target,), ctx)
        return payload.change.to_plan("Edit", payload)

    async def execute(
        self, plan: Plan[EditPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        payload = plan.payload
        done = await _write(payload, reply, ctx)
        while done is None:
            # No user saw this change: an edit of the same step came first, so match again.
            payload = await asyncio.to_thread(_plan, payload.change.target, payload.edits, ctx)
            done = await _write(payload, None, ctx)
        shown = payload.change.target.shown
        if payload.change.creates:
            return done.to_result(f"Created {shown}.", "Edit")
        places = "" if payload.count == 1 else f" in {payload.count:,} places"
        notes = "".join(f"\nNote: {note}." for note in payload.notes)
        return done.to_result(f"Edited {shown}{places}.{notes}", "Edit", excerpt=True)


async def _write(
    plan: EditPlan, reply: PermissionReply | None, ctx: ToolContext
) -> AppliedChange | None:
    """Make the change. Return None if the file has changed and no user saw this change."""
    try:
        return await apply_change(plan.change, reply, ctx)
    except ChangedSinceShown:
        if reply is not None:
            raise  # the user saw another diff
        return None


def _plan(target: ToolPath, edits: tuple[ReplacementArg, ...], ctx: ToolContext) -> EditPlan:
    loaded = load_text(target, ctx)
    if loaded is not None:
        check_unchanged(target, loaded.stamp, ctx)
    begun = _initial_text(target, loaded, edits[0])
    places = 0 if begun is None else 1
    text = (begun or "") if loaded is None or begun is not None else loaded.file.text
    notes: list[str] = []
    for number, replacing in enumerate(edits[places:], places + 1):
        which = f"edit {number} of {len(edits)}" if len(edits) > 1 else ""
        edit = _apply(text, replacing, target, which)
        text = edit.text
        places += edit.count
        notes += [f"{which}: {note}" if which else note for note in edit.notes]
    if loaded is not None and text == loaded.file.text:
        raise ToolError("The edits cancel each other out, so there is nothing to change.")
    return EditPlan(edits, plan_change(target, loaded, text), places, tuple(notes))


def _initial_text(target: ToolPath, loaded: LoadedText | None, first: ReplacementArg) -> str | None:
    """Return the text with which *first* starts a missing or empty file, None if it edits one."""
    if loaded is not None:
        return None if first.old_string or loaded.file.text else first.new_string
    if first.old_string:
        raise missing_file_error(target)
    if not first.new_string:
        raise ToolError("old_string and new_string are both empty: there is nothing to write.")
    return first.new_string


def _apply(text: str, replacing: ReplacementArg, target: ToolPath, which: str) -> Edit:
    old = restore_reminders(replacing.old_string, text)
    new = restore_reminders(replacing.new_string, text)
    try:
        return apply_edit(text, old, new, replace_all=replacing.replace_all)
    except EditRefused as refused:
        # Reading is not allowed yet, so a refusal must not quote secret or outside files.
        quoted = not target.outside and not target.is_secret
        hint = f"\n{refused.hint}" if refused.hint and quoted else ""
        where = f"{target.shown}, {which}" if which else target.shown
        none = " None of the edits was made." if which else ""
        raise ToolError(f"{where}: {refused.reason}{none}{hint}") from None
