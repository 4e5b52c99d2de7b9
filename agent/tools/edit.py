"""The ``edit`` tool: one piece of a file's text replaced by another (spec 3, 3.3)."""

import asyncio
from dataclasses import dataclass

from pydantic import AliasChoices, Field

from agent.errors import ToolError
from agent.questions import PermissionReply
from agent.tools.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.change import Change, ChangedMeanwhile, apply_change, check_text, plan_change
from agent.tools.edit_match import EditRefused, apply_edit
from agent.tools.filetext import check_unchanged, load_text
from agent.tools.paths import ToolPath, missing, resolve_path


class EditArgs(ToolArgs):
    """Arguments of ``edit``."""

    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "filePath", "path"),
        description="The file to change",
    )
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
    """The arguments as given, and the change that they come to."""

    args: EditArgs
    change: Change
    places: int
    notes: tuple[str, ...]


class EditTool:
    """Edits a part of a file."""

    spec = ToolSpec(
        name="edit", verb="Edit", aliases=("edit_file", "str_replace", "replace", "search_replace")
    )
    args = EditArgs

    def concurrency_safe(self, args: EditArgs) -> bool:
        _ = args
        return False

    async def prepare(self, args: EditArgs, ctx: ToolContext) -> Plan[EditPlan]:
        target = resolve_path(args.file_path, ctx)
        check_text(args.old_string, "old_string")
        check_text(args.new_string, "new_string")
        payload = await asyncio.to_thread(_plan, args, target, ctx)
        return payload.change.to_plan("Edit", payload)

    async def execute(
        self, plan: Plan[EditPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        payload = plan.payload
        try:
            done = await apply_change(payload.change, reply, ctx)
        except ChangedMeanwhile:
            if reply is not None:
                raise  # the user saw another diff (M10)
            # Nobody was shown anything: a sibling's edit came first, so match anew (T7).
            payload = await asyncio.to_thread(_plan, payload.args, payload.change.target, ctx)
            done = await apply_change(payload.change, None, ctx)
        shown = payload.change.target.shown
        if payload.change.creates:
            return done.to_result(f"Created {shown}.", "Edit")
        places = "" if payload.places == 1 else f" in {payload.places:,} places"
        notes = "".join(f"\nNote: {note}." for note in payload.notes)
        return done.to_result(f"Edited {shown}{places}.{notes}", "Edit", excerpt=True)


def _plan(args: EditArgs, target: ToolPath, ctx: ToolContext) -> EditPlan:
    loaded = load_text(target)
    if loaded is None:
        if args.old_string:
            raise missing(target)
        if not args.new_string:
            raise ToolError("old_string and new_string are both empty: there is nothing to write.")
        return EditPlan(args, plan_change(target, None, args.new_string), 1, ())
    check_unchanged(target, loaded.stamp, ctx)
    file = loaded.file
    if not args.old_string and not file.text:
        return EditPlan(args, plan_change(target, loaded, args.new_string), 1, ())
    try:
        edit = apply_edit(file.text, args.old_string, args.new_string, replace_all=args.replace_all)
    except EditRefused as refused:
        # Nothing has been allowed yet: a refusal must not quote what may not be read.
        quoted = not target.outside and not target.is_secret
        hint = f"\n{refused.hint}" if refused.hint and quoted else ""
        raise ToolError(f"{target.shown}: {refused.reason}{hint}") from None
    return EditPlan(args, plan_change(target, loaded, edit.text), edit.places, edit.notes)
