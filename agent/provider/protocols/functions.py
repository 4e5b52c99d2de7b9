"""Tools as chat completions describe them, which other protocols have taken over."""

from collections.abc import Sequence

from agent.provider.client import ToolSchema
from agent.records.json import Json


def functions(tools: Sequence[ToolSchema]) -> list[Json]:
    """The ``tools`` of a request. Some servers refuse parameters without ``properties``."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": {"type": "object", "properties": {}} | tool.parameters,
            },
        }
        for tool in tools
    ]
