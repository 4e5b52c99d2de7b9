"""Builders of small model requests, and the bodies that are sent for them."""

import json
from typing import Any

from agent.provider.catalog.catalog import Catalog, ProviderSettings
from agent.provider.catalog.providers import KNOWN_PROVIDERS
from agent.provider.client import (
    Api,
    AssistantTurn,
    ModelInfo,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.client_pool import wire_client_class
from agent.provider.transport.wire_json import encode_body

WIRE_APIS: tuple[Api, ...] = (
    "openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock", "cohere",
    "ollama",
)  # fmt: skip
USER = UserTurn((TextContent("hi"),))
CALL = ToolCallContent("c1", "read", {"p": "a"})
RESULT = ToolTurn((ToolResultContent("c1", "read", "text"),))
TOOL = ToolSchema("read", "Read a file", {"type": "object", "properties": {}})


def catalog(url: str, provider: str = "acme", **settings: Any) -> Catalog:
    """Return a catalog with one configured provider at *url*."""
    own = ProviderSettings(id=provider, base_url=url, **settings)
    return Catalog({provider: own}, None, {})


def model(full_name: str, api: Api | None = None, **facts: Any) -> ModelInfo:
    """Return the model *full_name*, in its provider's default protocol or in *api*."""
    provider, _, name = full_name.partition("/")
    default = KNOWN_PROVIDERS[provider].api if provider in KNOWN_PROVIDERS else "openai-chat"
    return ModelInfo(provider=provider, id=name, name=name, api=api or default, **facts)


def text(content: str) -> TextContent:
    return TextContent(content)


def assistant(
    *content: TextContent | ReasoningContent | ToolCallContent, by: str = ""
) -> AssistantTurn:
    """Return a turn of the model *by*, "" for the one of the request."""
    return AssistantTurn(content, by)


def request(to: ModelInfo, *turns: Turn, **fields: Any) -> ModelRequest:
    """Return a request to the model *to*, with a greeting as the only turn by default."""
    turns = turns or (UserTurn((TextContent("hello"),)),)
    return ModelRequest(**{"model": to, "system": ("Be brief.",), "turns": turns, **fields})


def sent_body(sent: ModelRequest, *refused: str) -> Any:
    """Return the body that goes out for *sent*, parsed as its server parses it.

    *refused* names the parts that the server has refused before.
    """
    client = wire_client_class(sent.model.api)
    return json.loads(encode_body(client.request_body(sent, frozenset(refused))))


def body(to: ModelInfo | str, *turns: Turn, refused: str = "", **fields: Any) -> Any:
    """Return the body that goes out for *turns* to the model *to*."""
    sent = request(to if isinstance(to, ModelInfo) else model(to), *turns, **fields)
    return sent_body(sent, *([refused] if refused else []))


def chat(to: ModelInfo | str, *turns: Turn, **fields: Any) -> Any:
    """Return the messages after the system prompt, in chat completions."""
    found = model(to, "openai-chat") if isinstance(to, str) else to
    return body(found, *turns, **fields)["messages"][1:]
