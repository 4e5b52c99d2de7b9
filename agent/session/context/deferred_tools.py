"""Tools that are offered only after the model has searched for them.

The schemas of connected servers can take more of a model's window than the work does. Where all of
them together take more than a tenth of it, the model gets a search tool instead, and then the tools
that it found or has called. The history itself records those, so they are the same after a restart
and in a fork.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache

from agent.provider.client import ModelInfo, ToolSchema
from agent.records.blocks import ListingBlock
from agent.records.messages import CompactionPart, Completed, MessageWithParts, ToolPart
from agent.session.context.budget import schema_tokens
from agent.tools.registry import Registry

MAX_SHARE = 0.1
"""Part of the window that such tools can take together."""

DEFAULT_WINDOW = 128_000
"""Tokens of the window where it is not known."""


def offered_tools(
    registry: Registry,
    names: Collection[str],
    model: ModelInfo,
    history: Sequence[MessageWithParts],
) -> frozenset[str]:
    """Return those of *names* that go into the next request to *model*."""
    finders = {tool.spec.name for tool in registry if tool.spec.finds_tools}
    late = set(registry.on_demand).intersection(names)
    window = model.context_limit or model.input_limit or DEFAULT_WINDOW
    if (
        not finders.intersection(names)
        or not late
        or _schemas_size(registry, late) <= window * MAX_SHARE
    ):
        return frozenset(names) - finders
    return frozenset(names) - (late - _known_tools(history, finders))


def found_deferred_tools(
    registry: Registry, history: Sequence[MessageWithParts]
) -> tuple[str, ...]:
    """Return the deferred tools that were found or called in *history*, for a compaction to record.
    Tools of a server that is disconnected at the moment are included."""
    finders = {tool.spec.name for tool in registry if tool.spec.finds_tools}
    always = {tool.spec.name for tool in registry if not tool.spec.on_demand}
    return tuple(sorted(_known_tools(history, finders) - always)) if finders else ()


def _schemas_size(registry: Registry, names: Collection[str]) -> int:
    return sum(_schema_size(_SchemaKey(schema)) for schema in registry.schemas(names))


class _SchemaKey:
    """A schema as a key by identity: the registry keeps each for as long as it is valid."""

    def __init__(self, schema: ToolSchema) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SchemaKey) and other.schema is self.schema

    def __hash__(self) -> int:
        return id(self.schema)


@lru_cache(maxsize=4_096)
def _schema_size(key: _SchemaKey) -> int:
    return schema_tokens((key.schema,))


def _known_tools(history: Sequence[MessageWithParts], finders: Collection[str]) -> set[str]:
    """Return the tools that were found or called in *history*."""
    known: set[str] = set()
    for item in history:
        for part in item.parts:
            if isinstance(part, CompactionPart):
                known.update(part.tools)
            if not isinstance(part, ToolPart):
                continue
            known.add(part.tool)
            if part.tool in finders and isinstance(part.state, Completed):
                for block in part.state.blocks:
                    if isinstance(block, ListingBlock):
                        known.update(block.items)
    return known
