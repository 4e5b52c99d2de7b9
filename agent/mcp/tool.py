"""A server's tool in the registry: its calls go through the same pipeline as any other."""

import difflib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from pydantic import ConfigDict

from agent.mcp.records import ServerResponse, ToolDefinition
from agent.mcp.results import result_of
from agent.mcp.schemas import check_arguments, coerced, for_models
from agent.records.blocks import Block, TextBlock, ToolLabel
from agent.records.json import Json, JsonObject
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.core.clean_text import without_invisible

MAX_DESCRIPTION = 4_000
"""Characters of a description that the model is given."""

MAX_LABEL = 60
"""Characters of the arguments on a call's line."""

CHANGED = "its definition has changed since it was approved"


class McpArgs(ToolArgs):
    """The arguments as the model sent them; ``McpTool.prepare`` checks them against the server's
    schema."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    @property
    def values(self) -> JsonObject:
        return dict(self.__pydantic_extra__ or {})


class ToolCaller(Protocol):
    """Sends a tool call to a server."""

    async def call(self, tool: str, arguments: JsonObject, ctx: ToolContext) -> ServerResponse:
        """Call *tool*. Raises ``ToolError`` for a server that is not connected, breaks off or does
        not respond."""
        ...


@dataclass(frozen=True, slots=True)
class McpPayload:
    arguments: JsonObject


class McpTool:
    """A tool of *server*, which models know as *name*.

    *current* is the definition that the server gives now. Where it differs from the *approved* one,
    the model keeps seeing the approved one and each call asks the user; *approve* is called once a
    call was allowed.
    """

    args = McpArgs

    def __init__(
        self,
        *,
        name: str,
        server: str,
        approved: ToolDefinition,
        current: ToolDefinition,
        caller: ToolCaller,
        approve: Callable[[ToolDefinition], None],
    ) -> None:
        self.spec = ToolSpec(
            name=name, verb=server, changes_indirectly=True, on_demand=True, server=server
        )
        self.description = describe(server, approved)
        self.parameters = for_models(approved.schema)
        self.definition = current
        self.changed = approved.digest != current.digest
        self._server = server
        self._approved = approved
        self._caller = caller
        self._approve = approve

    def concurrency_safe(self, args: McpArgs) -> bool:
        _ = args
        return self.definition.read_only

    async def prepare(self, args: McpArgs, ctx: ToolContext) -> Plan[McpPayload]:
        _ = ctx
        schema = self.definition.schema if not self.changed else {}
        given = coerced(args.values, schema)
        check_arguments(given, schema)
        name = self.spec.name
        shown = json.dumps(given, ensure_ascii=False)
        need = PermissionNeed(
            name,
            shown,
            always=None if self.changed else "*",
            shown=name,
            reason=CHANGED if self.changed else f"a tool of the MCP server {self._server}",
            strict="guarded" if self.changed else "",
        )
        blocks: list[Block] = [TextBlock(arguments_text(given))] if given else []
        if self.changed:
            blocks.append(TextBlock(definition_diff(self._approved, self.definition)))
        tool = self.definition.title or self.definition.name
        heading = f"Call {tool} of {self._server}, which has changed?"
        return Plan(
            label=ToolLabel(self._server, self.definition.name, _one_line(given)),
            payload=McpPayload(given),
            needs=(need,),
            blocks=tuple(blocks),
            heading=heading if self.changed else f"Call {tool} of the MCP server {self._server}?",
        )

    async def execute(
        self, plan: Plan[McpPayload], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply
        if self.changed:
            self._approve(self.definition)
        answer = await self._caller.call(self.definition.name, plan.payload.arguments, ctx)
        result = result_of(answer, ctx)
        arguments = tuple(block for block in plan.blocks[:1] if plan.payload.arguments)
        return Result(
            result.output,
            blocks=(*arguments, *(result.blocks or ())),
            facts=result.facts,
            files=result.files,
        )


def describe(server: str, definition: ToolDefinition) -> str:
    """Return a tool's description for models."""
    text = without_invisible(definition.description or definition.title or definition.name).strip()
    if len(text) > MAX_DESCRIPTION:
        text = text[:MAX_DESCRIPTION] + "…"
    return f"{text}\n\n(A tool of the MCP server {without_invisible(server)}.)"


def arguments_text(given: JsonObject) -> str:
    """Return all arguments, one below the other, for the dialog and the transcript."""
    return "\n".join(f"{name}: {_value(value)}" for name, value in given.items())


def _value(value: Json) -> str:
    if isinstance(value, str):
        return value if "\n" not in value else "\n" + value
    return json.dumps(value, ensure_ascii=False, indent=1 if isinstance(value, dict) else None)


def _one_line(given: JsonObject) -> str:
    """Return the first arguments on one line."""
    texts = [f"{n}={' '.join(_value(v).split())}" for n, v in given.items()]
    text = " ".join(texts)
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"


def definition_diff(old: ToolDefinition, new: ToolDefinition) -> str:
    """Return the changes of a definition, line by line."""
    lines = [
        line for line in difflib.ndiff(_lines(old), _lines(new)) if line.startswith(("+ ", "- "))
    ]
    return "Its definition has changed:\n" + "\n".join(lines)


def _lines(definition: ToolDefinition) -> list[str]:
    schema = json.dumps(definition.schema, indent=1, sort_keys=True, ensure_ascii=False)
    description = without_invisible(definition.description).splitlines()
    return [definition.title, *description, *without_invisible(schema).splitlines()]
