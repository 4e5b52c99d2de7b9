"""The settings of one step of a turn."""

from dataclasses import dataclass

from agent.provider.client import ModelInfo, ToolSchema


@dataclass(frozen=True, slots=True)
class StepSettings:
    """The agent and model that the newest user message names, and the settings that follow."""

    agent: str
    model: ModelInfo
    effort: str | None
    system: tuple[str, ...]
    tools: tuple[ToolSchema, ...]
    max_steps: int | None = None
    temperature: float | None = None
    target_tokens: int | None = None
    auto_compact: bool = True
