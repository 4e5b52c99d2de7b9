"""A server's tool as one of the registry's: it goes through the same pipeline as any other."""

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
from agent.records.requests import Need, PermissionReply
from agent.tools.core.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.core.clean_text import without_invisible

MAX_DESCRIPTION = 4_000
"""Characters of a description that the model is given."""

MAX_LABEL = 60
"""Characters of the arguments on a call's row."""

CHANGED = "its definition has changed since it was approved"


class McpArgs(ToolArgs):
    """Whatever the model sent; ``McpTool.prepare`` checks it against the server's own schema."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    @property
    def given(self) -> JsonObject:
        return dict(self.__pydantic_extra__ or {})


class ToolCaller(Protocol):
    """How a tool reaches its server."""

    async def call(self, tool: str, arguments: JsonObject, ctx: ToolContext) -> ServerResponse:
        """Raises ``ToolError`` for a server that is not there, breaks off or does not answer."""
        ...


@dataclass(frozen=True, slots=True)
class McpPayload:
    arguments: JsonObject


class McpTool:
    """The tool *holds* of the server *server*, which the model knows as *name*.

    *told* is its definition as the server tells it now. Where that is another one, the model
    goes on with *holds*, and a call asks: *approve* is called once it was allowed.
    """

    args = McpArgs

    def __init__(
        self,
        *,
        name: str,
        server: str,
        holds: ToolDefinition,
        told: ToolDefinition,
        caller: ToolCaller,
        approve: Callable[[ToolDefinition], None],
    ) -> None:
        self.spec = ToolSpec(
            name=name, verb=server, changes_indirectly=True, on_demand=True, server=server
        )
        self.description = describe(server, holds)
        self.parameters = for_models(holds.schema)
        self.definition = told
        self.changed = holds.mark != told.mark
        self._server = server
        self._holds = holds
        self._caller = caller
        self._approve = approve

    def concurrency_safe(self, args: McpArgs) -> bool:
        _ = args
        return self.definition.read_only

    async def prepare(self, args: McpArgs, ctx: ToolContext) -> Plan[McpPayload]:
        _ = ctx
        schema = self.definition.schema if not self.changed else {}
        given = coerced(args.given, schema)
        check_arguments(given, schema)
        name = self.spec.name
        shown = json.dumps(given, ensure_ascii=False)
        need = Need(
            name,
            shown,
            always=None if self.changed else "*",
            shown=name,
            reason=CHANGED if self.changed else f"a tool of the MCP server {self._server}",
            strict="guarded" if self.changed else "",
        )
        blocks: list[Block] = [TextBlock(arguments_text(given))] if given else []
        if self.changed:
            blocks.append(TextBlock(definition_diff(self._holds, self.definition)))
        tool = self.definition.title or self.definition.name
        heading = f"Call {tool} of {self._server}, which has changed?"
        return Plan(
            label=ToolLabel(self._server, self.definition.name, _brief(given)),
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
    """What the model is told of a tool."""
    text = without_invisible(definition.description or definition.title or definition.name).strip()
    if len(text) > MAX_DESCRIPTION:
        text = text[:MAX_DESCRIPTION] + "…"
    return f"{text}\n\n(A tool of the MCP server {without_invisible(server)}.)"


def arguments_text(given: JsonObject) -> str:
    """All arguments, one below the other, for the dialog and the transcript."""
    return "\n".join(f"{name}: {_value(value)}" for name, value in given.items())


def _value(value: Json) -> str:
    if isinstance(value, str):
        return value if "\n" not in value else "\n" + value
    return json.dumps(value, ensure_ascii=False, indent=1 if isinstance(value, dict) else None)


def _brief(given: JsonObject) -> str:
    """The first arguments on one line."""
    words = [f"{n}={' '.join(_value(v).split())}" for n, v in given.items()]
    text = " ".join(words)
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"


def definition_diff(old: ToolDefinition, new: ToolDefinition) -> str:
    """How the definition changed, line by line."""
    lines = [
        line for line in difflib.ndiff(_lines(old), _lines(new)) if line.startswith(("+ ", "- "))
    ]
    return "Its definition has changed:\n" + "\n".join(lines)


def _lines(definition: ToolDefinition) -> list[str]:
    schema = json.dumps(definition.schema, indent=1, sort_keys=True, ensure_ascii=False)
    described = without_invisible(definition.description).splitlines()
    return [definition.title, *described, *without_invisible(schema).splitlines()]
