"""The ``edit`` tool: replace one or several parts of a file's text."""

from typing import Any

from pydantic import AliasChoices, Field, field_validator, model_validator

from agent.records.requests import PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.files.replacements import (
    EditPlan,
    ReplacementArg,
    execute_edits,
    prepare_edits,
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


class EditTool(BaseTool):
    """Edits one or several parts of a file."""

    spec = ToolSpec(
        name="edit", verb="Edit", aliases=("edit_file", "str_replace", "replace", "search_replace")
    )
    facts = ToolFacts(action="ask", kind="edit", claude_name="Edit", in_claude_settings=True)
    args = EditArgs

    async def prepare(self, args: EditArgs, ctx: ToolContext) -> Plan[EditPlan]:
        payload = await prepare_edits(args.file_path, args.replacements(), ctx)
        return payload.change.to_plan("Edit", payload)

    async def execute(
        self, plan: Plan[EditPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        return await execute_edits(plan.payload, reply, ctx)
