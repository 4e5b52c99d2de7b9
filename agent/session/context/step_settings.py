"""The settings of one step of a turn."""

from dataclasses import dataclass

from agent.provider.client import ModelInfo, ToolSchema
from agent.session.guards import Guard


@dataclass(frozen=True, slots=True)
class StepSettings:
    """The agent and model that the newest user message names, and the settings that follow."""

    agent: str
    model: ModelInfo
    effort: str | None
    system: tuple[str, ...]
    tools: tuple[ToolSchema, ...]
    guards: tuple[Guard, ...] = ()
    temperature: float | None = None
    target_tokens: int | None = None
    auto_compact: bool = True
