"""The sub-agents that the ``task`` tool offers."""

from collections.abc import Callable
from dataclasses import replace

from agent.records.frozen import frozen
from agent.tools.core.tool import ToolSpec

AllowedSubagents = Callable[[str, tuple[str, ...]], frozenset[str]]
"""Returns the sub-agents that an agent below its callers (nearest first) can start."""


@frozen
class SubagentInfo:
    """A sub-agent. The description of the tool lists those that are *offered*; a command of the
    user can run others too."""

    name: str
    description: str
    offered: bool = True


def task_spec(spec: ToolSpec, agents: tuple[SubagentInfo, ...]) -> ToolSpec:
    """Return *spec* for a tool that offers *agents*."""
    offered = [agent for agent in agents if agent.offered]
    return replace(
        spec,
        variables={"agents": "\n".join(f"- `{each.name}`: {each.description}" for each in offered)},
        choices={"subagent_type": tuple(each.name for each in offered)},
    )
