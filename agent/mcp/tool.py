"""Servers' tools in the registry, and ``read_mcp_resource``: their calls go through the same
pipeline as any other.

All that a server sends is untrusted: invisible characters are removed, images are checked before
they enter the history, and the pipeline cuts and spills long text like any tool's output.
"""

import difflib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import ConfigDict, Field

from agent.mcp.records import (
    READ_RESOURCE,
    Blob,
    Content,
    ReadResource,
    Resource,
    ResourceLink,
    ServerResponse,
    Text,
    ToolCaller,
    ToolDefinition,
)
from agent.mcp.schemas import check_arguments, coerced, for_models
from agent.records.blocks import Block, ImageBlock, TextBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.messages import FilePart
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.schema import parameters
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.core.truncate import without_invisible
from agent.tools.files.attachments import attach, check_media, check_supported
from agent.tools.files.media import media_type

MAX_SHOWN = 20_000
"""Characters of a text that the transcript keeps; the model's own limit is the pipeline's."""

MAX_FILES = 8
"""Images and documents of one response that the model is given."""

_PER_BYTE = 4 / 3
"""Characters of base64 per byte."""


@dataclass(slots=True)
class _ResultParts:
    texts: list[str] = field(default_factory=list[str])
    blocks: list[Block] = field(default_factory=list[Block])
    files: list[FilePart] = field(default_factory=list[FilePart])


def result_of(answer: ServerResponse, ctx: ToolContext) -> Result:
    """Return the result of a call. Raises ``ToolError`` with the server's message if it failed."""
    made = _ResultParts()
    for piece in answer.content:
        _add_content(piece, made, ctx)
    text = "\n\n".join(made.texts)
    if answer.is_error:
        raise ToolError(text or "The server reported a failure without details.")
    shown = _excerpt(made.texts)
    blocks = (*((TextBlock(shown),) if shown else ()), *made.blocks)
    return Result(
        text or "(the server returned nothing)",
        blocks=blocks or (TextBlock("(nothing)"),),
        facts=_facts(text, len(made.files)),
        files=tuple(made.files),
    )


def text_of(pieces: Iterable[Content]) -> str:
    """Return the text of *pieces*, with a placeholder for what is not text."""
    texts: list[str] = []
    for piece in pieces:
        match piece:
            case Text():
                texts.append(without_invisible(piece.text))
            case Blob():
                texts.append(f"[{piece.mime or 'data'}, not text: {piece.uri or 'left out'}]")
            case ResourceLink():
                texts.append(_pointer(piece))
    return "\n\n".join(texts)


def _add_content(piece: Content, made: _ResultParts, ctx: ToolContext) -> None:
    match piece:
        case Text():
            text = without_invisible(piece.text)
            if piece.uri:
                text = f"[{without_invisible(piece.uri)}]\n{text}"
            if text.strip():
                made.texts.append(text)
        case Blob():
            _add_blob(piece, made, ctx)
        case ResourceLink():
            made.texts.append(_pointer(piece))


def _add_blob(piece: Blob, made: _ResultParts, ctx: ToolContext) -> None:
    name = without_invisible(piece.uri) or piece.mime or "data"
    size = round(len(piece.data) / _PER_BYTE)
    try:
        check_supported(name, _checked_type(piece, size, len(made.files)), size, ctx)
        given = attach(name, check_media(name, piece.decoded()), ctx)
    except ToolError as error:
        made.texts.append(f"[{name} is ignored: {str(error).rstrip('.')}.]")
    except ValueError:
        made.texts.append(f"[{name} is ignored: it is damaged.]")
    else:
        made.files += given.files
        made.blocks += [block for block in given.blocks or () if isinstance(block, ImageBlock)]


def _checked_type(piece: Blob, size: int, given: int) -> tuple[str, str]:
    """Return the media type of a blob by its first bytes. Raises ``ToolError`` for unusable
    data."""
    found = media_type(Blob(piece.mime, piece.data[:64]).decoded())
    if found is None:
        raise ToolError(f"{size:,} bytes of {piece.mime or 'data'}, which is not sent to models")
    if given >= MAX_FILES:
        raise ToolError(f"only {MAX_FILES} files can be sent at once")
    return found


def _pointer(piece: ResourceLink) -> str:
    texts = [without_invisible(part) for part in (piece.name, piece.uri, piece.description) if part]
    return "Resource: " + " · ".join(texts)


def _excerpt(texts: list[str]) -> str:
    text = "\n\n".join(texts).strip()
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[:MAX_SHOWN]}\n… {len(text) - MAX_SHOWN:,} more characters"


def _facts(text: str, files: int) -> tuple[str, ...]:
    lines = text.count("\n") + 1 if text else 0
    facts = [f"{lines:,} {'line' if lines == 1 else 'lines'}"] if lines else []
    if files:
        facts.append(f"{files} {'file' if files == 1 else 'files'}")
    return tuple(facts)


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


@frozen
class McpPayload:
    arguments: JsonObject


class McpTool(BaseTool):
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
            name=name,
            verb=server,
            changes_indirectly=True,
            concurrent=current.read_only,
            on_demand=True,
            server=server,
        )
        self.description = describe(server, approved)
        self.parameters = for_models(approved.schema)
        self.definition = current
        self.changed = approved.digest != current.digest
        self._server = server
        self._approved = approved
        self._caller = caller
        self._approve = approve

    async def prepare(self, args: McpArgs, ctx: ToolContext) -> Plan[McpPayload]:
        schema = self.definition.schema if not self.changed else {}
        given = coerced(args.values, schema)
        check_arguments(given, schema)
        need = mcp_need(self.spec.name, self._server, given, changed=self.changed)
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


def mcp_need(name: str, server: str, given: JsonObject, *, changed: bool) -> PermissionNeed:
    """Return the permission for a call of the tool *name* with the arguments *given*."""
    return PermissionNeed(
        name,
        json.dumps(given, ensure_ascii=False),
        always=None if changed else "*",
        shown=name,
        reason=CHANGED if changed else f"a tool of the MCP server {server}",
        strict="guarded" if changed else "",
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


MAX_LISTED = 40
"""Resources that the description names."""


class ResourceArgs(ToolArgs):
    """Arguments of ``read_mcp_resource``."""

    server: str = Field(min_length=1, description="The server's name")
    uri: str = Field(min_length=1, max_length=4_000, description="The resource's address")


class ResourceTool(BaseTool):
    """Reads one of *resources*, or another that a server accepts, through *read*."""

    spec = ToolSpec(name=READ_RESOURCE, verb="ReadResource", concurrent=True)
    args = ResourceArgs

    def __init__(self, resources: Sequence[tuple[str, Resource]], read: ReadResource) -> None:
        self._read = read
        self.description = describe_resources(resources)
        self.parameters: JsonObject = parameters(ResourceArgs)

    async def prepare(self, args: ResourceArgs, ctx: ToolContext) -> Plan[ResourceArgs]:
        name = f"mcp:{args.server}:{args.uri}"
        need = PermissionNeed(
            "read", name, always=f"mcp:{args.server}:*", reason="read from an MCP server"
        )
        return Plan(
            label=ToolLabel("ReadResource", args.uri, args.server),
            payload=args,
            needs=(need,),
            heading=f"Read this from the MCP server {args.server}?",
        )

    async def execute(
        self, plan: Plan[ResourceArgs], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        answer = await self._read(plan.payload.server, plan.payload.uri)
        if not answer.content:
            raise ToolError(f"{plan.payload.uri} is empty, or there is no such resource.")
        return result_of(answer, ctx)


def describe_resources(resources: Sequence[tuple[str, Resource]]) -> str:
    """Return the tool's description, which lists the resources."""
    lines = [
        f"- {server} {without_invisible(one.uri)}: {without_invisible(one.name)}"
        for server, one in resources[:MAX_LISTED]
    ]
    if len(resources) > MAX_LISTED:
        lines.append(f"- and {len(resources) - MAX_LISTED} more")
    return "\n".join(("Reads a resource of a connected MCP server. There are:", "", *lines))
