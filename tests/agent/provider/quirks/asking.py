"""Small requests to any provider, and what is sent for them."""

from typing import Any

from agent.provider.catalog.providers import KNOWN_PROVIDERS
from agent.provider.client import (
    Api,
    AssistantTurn,
    ModelInfo,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from tests.agent.provider.collecting import request, sent

USER = UserTurn((TextContent("hi"),))
CALL = ToolCallContent("c1", "read", {"p": "a"})
RESULT = ToolTurn((ToolResultContent("c1", "read", "text"),))
TOOL = ToolSchema("read", "Read a file.", {"type": "object", "properties": {"p": {}}})
APIS: tuple[Api, ...] = (
    "openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock", "cohere",
    "ollama",
)  # fmt: skip


def model(full_name: str, api: Api | None = None, **more: Any) -> ModelInfo:
    """The model *full_name*, asked in its provider's usual protocol or in *api*."""
    provider, _, name = full_name.partition("/")
    known = KNOWN_PROVIDERS[provider].api if provider in KNOWN_PROVIDERS else "openai-chat"
    return ModelInfo(provider=provider, id=name, name=name, api=api or known, **more)


def body(of: ModelInfo | str, *turns: Turn, without: str = "", **more: Any) -> Any:
    """What is sent to *of*; *without* is what its server refused before."""
    asked = request(of if isinstance(of, ModelInfo) else model(of), *turns, **more)
    return sent(asked, *([without] if without else []))


def chat(of: ModelInfo | str, *turns: Turn, **more: Any) -> Any:
    """The messages behind the system prompt, in chat completions."""
    found = model(of, "openai-chat") if isinstance(of, str) else of
    return body(found, *turns, **more)["messages"][1:]


def said(*content: TextContent | ReasoningContent | ToolCallContent, by: str = "") -> AssistantTurn:
    return AssistantTurn(content, by)


def text(words: str) -> TextContent:
    return TextContent(words)
