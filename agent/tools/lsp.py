"""The ``lsp`` tool: queries to the language servers."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field

from agent.lsp.client import parse_hover, parse_locations, parse_symbols
from agent.lsp.connection import Location, RequestRefused, ServerGone
from agent.lsp.file_checks import diagnostic_line
from agent.lsp.service import REQUEST_TIMEOUT, LspService
from agent.records.blocks import TextBlock, ToolLabel
from agent.records.errors import InvalidArguments, ToolError
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.files.paths import (
    ToolPath,
    missing_file_error,
    read_needs,
    resolve_path,
    show_path,
)
from agent.tools.files.text_file import load_text

Operation = Literal[
    "definition",
    "references",
    "implementations",
    "hover",
    "symbols",
    "workspace_symbols",
    "diagnostics",
]

METHODS: Mapping[Operation, str] = {
    "definition": "textDocument/definition",
    "references": "textDocument/references",
    "implementations": "textDocument/implementation",
    "hover": "textDocument/hover",
    "symbols": "textDocument/documentSymbol",
    "workspace_symbols": "workspace/symbol",
}

MAX_PLACES = 200
"""The maximum number of places in one result."""

DIAGNOSTICS_WAIT = 5.0
"""Seconds to wait for the diagnostics of a file."""


class LspArgs(ToolArgs):
    """Arguments of ``lsp``."""

    operation: Operation = Field(description="The operation")
    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "filePath", "path"),
        description="The file with the code",
    )
    line: int | None = Field(default=None, ge=1, description="The line of the symbol, from 1")
    symbol: str | None = Field(
        default=None, description="The name as it is written on that line", min_length=1
    )
    query: str | None = Field(
        default=None, description="For workspace_symbols: a part of the name to find"
    )


@frozen
class LspPlan:
    """*params* are the parameters of the request, empty for diagnostics."""

    target: ToolPath
    operation: Operation
    params: JsonObject


class LspTool(BaseTool):
    """Asks language servers."""

    spec = ToolSpec(name="lsp", verb="Ask", aliases=("language_server",), concurrent=True)
    facts = ToolFacts(action="allow")
    args = LspArgs

    def __init__(self, servers: LspService) -> None:
        self._servers = servers

    async def prepare(self, args: LspArgs, ctx: ToolContext) -> Plan[LspPlan]:
        target = resolve_path(args.file_path, ctx)
        needs = (
            *read_needs(target),
            PermissionNeed("lsp", "*", always="*", default_action="allow"),
        )
        what = args.symbol or args.query or target.shown
        label = ToolLabel("Ask", f"{args.operation.replace('_', ' ')} of {what}")
        return Plan(
            label=label,
            payload=LspPlan(target, args.operation, await asyncio.to_thread(_params, args, target)),
            needs=needs,
            heading="Let the language server look at this file?",
        )

    async def execute(
        self, plan: Plan[LspPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        payload = plan.payload
        target = payload.target
        if not await asyncio.to_thread(Path(target.real).is_file):
            raise missing_file_error(target, ctx.project, granted=True)
        if not self._servers.serves(target.real):
            raise ToolError(
                f"There is no language server for files like {target.shown}. "
                "Use grep and read instead."
            )
        if payload.operation == "diagnostics":
            return await self._diagnostics(target)
        answer = await self._answer(payload)
        if payload.operation == "hover":
            text = parse_hover(answer) or "The language server knows nothing about it."
            return Result(text, blocks=(TextBlock(text),))
        found = (
            parse_symbols(answer, target.real)
            if payload.operation in {"symbols", "workspace_symbols"}
            else parse_locations(answer)
        )
        lines = await asyncio.to_thread(_lines, found[:MAX_PLACES], ctx)
        if len(found) > MAX_PLACES:
            lines.append(f"… and {len(found) - MAX_PLACES} more. Ask about something narrower.")
        text = "\n".join(lines) or "Nothing was found."
        fact = f"{len(found):,} found" if found else "nothing found"
        return Result(text, blocks=(TextBlock(text),), facts=(fact,))

    async def _answer(self, plan: LspPlan) -> Json:
        try:
            return await self._servers.request(
                plan.target.real, METHODS[plan.operation], plan.params
            )
        except RequestRefused as error:
            raise ToolError(f"The language server refused: {error}.") from error
        except ServerGone as error:
            raise ToolError(f"The language server cannot answer: {error}.") from error
        except TimeoutError:
            raise ToolError(
                f"The language server did not answer within {REQUEST_TIMEOUT:.0f} s. It may still "
                "be reading the project; use grep meanwhile."
            ) from None

    async def _diagnostics(self, target: ToolPath) -> Result:
        found = await self._servers.diagnostics((target.real,), DIAGNOSTICS_WAIT)
        said = found.get(target.real)
        if said is None:
            raise ToolError(
                f"The language server reported nothing about {target.shown} within "
                f"{DIAGNOSTICS_WAIT:.0f} s. It may still be reading the project."
            )
        shown = [diagnostic_line(one) for one in said if one.severity in {"error", "warning"}]
        text = "\n".join(shown[:MAX_PLACES]) or "No errors and no warnings."
        if len(shown) > MAX_PLACES:
            text += f"\n… and {len(shown) - MAX_PLACES:,} more."
        return Result(text, blocks=(TextBlock(text),), facts=(f"{len(shown)} found",))


def _params(args: LspArgs, target: ToolPath) -> JsonObject:
    """Return the parameters of the request. Raises ``InvalidArguments`` and ``ToolError``."""
    uri = Path(target.real).as_uri()
    match args.operation:
        case "workspace_symbols":
            if not args.query:
                raise InvalidArguments("workspace_symbols needs query: a part of the name to find.")
            return {"query": args.query}
        case "symbols":
            return {"textDocument": {"uri": uri}}
        case "diagnostics":
            return {}
        case _:
            if args.line is None or not args.symbol:
                raise InvalidArguments(
                    f"{args.operation} needs line (from 1) and symbol, the name on that line."
                )
            place = _position(target, args.line, args.symbol)
            params: JsonObject = {"textDocument": {"uri": uri}, "position": place}
            if args.operation == "references":
                params["context"] = {"includeDeclaration": True}
            return params


def _position(target: ToolPath, line: int, symbol: str) -> JsonObject:
    """Return where *symbol* begins on a line, in the protocol's units (UTF-16)."""
    loaded = load_text(target)
    lines = [] if loaded is None else loaded.file.text.splitlines()
    text = lines[line - 1] if line <= len(lines) else ""
    column = text.find(symbol)
    if column < 0:
        near = [n for n, other in enumerate(lines, 1) if symbol in other]
        quoted = not target.outside and not target.is_secret
        hint = f" It is on line {', '.join(map(str, near[:5]))}." if near and quoted else ""
        raise ToolError(f"{symbol!r} is not on line {line} of {target.shown}.{hint}")
    units = len(text[:column].encode("utf-16-le")) // 2
    return {"line": line - 1, "character": units}


def _lines(found: Sequence[Location], ctx: ToolContext) -> list[str]:
    """Return places with their code, one per line."""
    texts: dict[str, list[str]] = {}
    shown: list[str] = []
    for place in found:
        if place.path not in texts:
            texts[place.path] = _read(place.path, ctx)
        lines = texts[place.path]
        code = lines[place.line - 1].strip()[:200] if place.line <= len(lines) else ""
        what = place.name or code
        where = f"{show_path(place.path, ctx)}:{place.line}:{place.column}"
        shown.append(f"{where}  {what}" if what else where)
    return shown


def _read(path: str, ctx: ToolContext) -> list[str]:
    """Return the lines of a file of the project, and none of others: they need a permission."""
    if not Path(path).is_relative_to(ctx.project) or resolve_path(path, ctx).is_secret:
        return []
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
