"""A prepared request as the arguments of litellm's completion."""

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
)
from agent.provider.litellm.route import Route
from agent.provider.protocols.openai_chat_messages import messages_of
from agent.provider.protocols.openai_chat_request import encode
from agent.provider.quirks.reasoning_replay import SIGNATURE
from agent.provider.quirks.table import finished, prepared
from agent.provider.transport.wire_json import objects_in
from agent.records.json import Json, JsonObject

NO_LIMIT = 86_400
"""Seconds; the silence of a provider is measured where all are (spec 1, L12a), not in litellm."""

OWN_PATHS = {"anthropic": "/v1", "ollama_chat": "/v1", "ollama": "/v1"}
"""The end of base URLs that litellm adds by itself."""


def arguments_of(request: ModelRequest, route: Route) -> JsonObject:
    """The arguments for *request*."""
    asked = prepared(request)
    body = finished({**encode(asked), "messages": _messages(asked)}, asked)
    name = request.model.wire_id or request.model.id
    for ours in ("stream", "stream_options"):
        body.pop(ours, None)
    arguments: JsonObject = {
        **body,
        "model": f"{route.prefix}/{name}",
        "timeout": NO_LIMIT,
        "stream_timeout": NO_LIMIT,
    }
    if headers := {**route.headers, **request.headers}:
        arguments["extra_headers"] = dict(headers)
    if route.key:
        arguments["api_key"] = route.key
    if route.ca:
        arguments["ssl_verify"] = route.ca
    if base := route.base_url.rstrip("/"):
        arguments["api_base"] = base.removesuffix(OWN_PATHS.get(route.prefix, "\0"))
    return arguments


def _messages(request: ModelRequest) -> list[Json]:
    """Those of chat completions, with what litellm puts back into the native form: thinking
    blocks, and Gemini's signatures of texts and calls."""
    messages = messages_of(request)
    replies = (t for t in request.turns if isinstance(t, AssistantTurn))
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "assistant":
            _add_proofs(message, next(replies))
    return messages


def _add_proofs(message: JsonObject, turn: AssistantTurn) -> None:
    blocks: list[Json] = []
    signatures: list[Json] = []
    calls = [content for content in turn.content if isinstance(content, ToolCallContent)]
    for content in turn.content:
        opaque = content.opaque or {}
        if isinstance(content, ReasoningContent):
            if signature := opaque.get("signature"):
                block: JsonObject = {"type": "thinking", "thinking": content.text}
                blocks.append({**block, "signature": signature})
            elif sealed := opaque.get("redacted"):
                blocks.append({"type": "redacted_thinking", "data": sealed})
        elif isinstance(content, TextContent) and (signature := opaque.get(SIGNATURE)):
            signatures.append(signature)
    if blocks:
        message["thinking_blocks"] = blocks
    if signatures:
        message["provider_specific_fields"] = {"thought_signatures": signatures}
    sent = objects_in(message, "tool_calls")
    for place, call in enumerate(calls):
        if signature := (call.opaque or {}).get(SIGNATURE):
            # A copy: the next request of the session is made of the same entries.
            signed: JsonObject = {"thought_signature": signature}
            sent[place] = {**sent[place], "provider_specific_fields": signed}
    if sent:
        message["tool_calls"] = list[Json](sent)
