"""The ``tool_search`` tool: find tools that are not in the request."""

import re
from collections.abc import Callable, Sequence

from pydantic import Field

from agent.provider.client import ToolSchema
from agent.records.blocks import ListingBlock, ToolLabel
from agent.records.requests import PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs

MAX_FOUND = 8
MAX_DESCRIPTION = 300
"""Characters of a description; the tool itself brings all of it."""

_WORD = re.compile(r"[a-z0-9]+")


class ToolSearchArgs(ToolArgs):
    """Arguments of ``tool_search``."""

    query: str = Field(min_length=1, max_length=400, description="What the tool should do")


class ToolSearchTool(BaseTool):
    """Searches the tools that *others* returns."""

    spec = ToolSpec(
        name="tool_search",
        verb="Find tools",
        finds_tools=True,
        variables={"most": str(MAX_FOUND)},
        concurrent=True,
    )
    facts = ToolFacts()
    args = ToolSearchArgs

    def __init__(self, others: Callable[[], Sequence[ToolSchema]]) -> None:
        self._others = others

    async def prepare(self, args: ToolSearchArgs, ctx: ToolContext) -> Plan[str]:
        return Plan(label=ToolLabel("Find tools", f'"{args.query}"'), payload=args.query)

    async def execute(
        self, plan: Plan[str], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        others = self._others()
        found = rank_tools(others, plan.payload)[:MAX_FOUND]
        if not found:
            servers = ", ".join(sorted({schema.name.split("_", 1)[0] for schema in others}))
            return Result(
                f"None of {len(others)} tools matches. Try other words, or a server: {servers}.",
                blocks=(ListingBlock((), 0),),
                facts=("nothing",),
            )
        lines = [f"{schema.name}: {_shorten(schema.description)}" for schema in found]
        return Result(
            "\n".join((*lines, "", "These can be called from your next step on.")),
            blocks=(ListingBlock(tuple(schema.name for schema in found), len(found)),),
            facts=(f"{len(found)} {'tool' if len(found) == 1 else 'tools'}",),
        )


def rank_tools(schemas: Sequence[ToolSchema], query: str) -> list[ToolSchema]:
    """Return the tools of *schemas* that match *query*, the best first. Words in a name count more
    than in a description, whole words more than beginnings."""
    words = set(_WORD.findall(query.lower()))
    scored: list[tuple[float, str, ToolSchema]] = []
    for schema in schemas:
        named = _WORD.findall(schema.name.lower())
        described = _WORD.findall(f"{schema.description} {' '.join(_arguments(schema))}".lower())
        score = sum(3 * _word_score(word, named) + _word_score(word, described) for word in words)
        if score:
            scored.append((-score, schema.name, schema))
    return [schema for _, _, schema in sorted(scored, key=lambda one: one[:2])]


def _word_score(word: str, words: Sequence[str]) -> float:
    if word in words:
        return 1.0
    near = any(
        len(min(word, other, key=len)) > 2 and (other.startswith(word) or word.startswith(other))
        for other in words
    )
    return 0.5 if near else 0.0


def _arguments(schema: ToolSchema) -> list[str]:
    properties = schema.parameters.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def _shorten(description: str) -> str:
    text = " ".join(description.split())
    return text if len(text) <= MAX_DESCRIPTION else text[:MAX_DESCRIPTION] + "…"
