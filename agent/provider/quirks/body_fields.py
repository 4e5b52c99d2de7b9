"""Quirks of single fields in the body of a request."""

from agent.provider.client import ModelRequest
from agent.provider.quirks.target import Target
from agent.provider.transport.wire_json import get_object, get_objects
from agent.records.json import Json, JsonObject

MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"
INCLUDE = "include"
ENCRYPTED_REASONING = "reasoning.encrypted_content"
REASONING_CONTENT = "reasoning_content"


def rename_max_tokens(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """OpenAI's reasoning models refuse ``max_tokens``: "Unsupported parameter: 'max_tokens' is not
    supported with this model. Use 'max_completion_tokens' instead"."""
    _ = request, target
    if MAX_TOKENS not in body:
        return body
    return {
        MAX_COMPLETION_TOKENS if name == MAX_TOKENS else name: value for name, value in body.items()
    }


def swap_refused_output_cap(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """A server refused the output cap under one name: send it under the other."""
    _ = request
    names = {MAX_TOKENS: MAX_COMPLETION_TOKENS, MAX_COMPLETION_TOKENS: MAX_TOKENS}
    refused = {old: new for old, new in names.items() if old in target.refused}
    if len(refused) > 1:
        return {name: value for name, value in body.items() if name not in refused}
    return {refused.get(name, name): value for name, value in body.items()}


def drop_stream_options(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Mistral refuses ``stream_options``: "Extra inputs are not permitted".

    It always sends usage.
    """
    _ = request, target
    return {name: value for name, value in body.items() if name != "stream_options"}


def request_usage(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """OpenRouter omits cached and reasoning tokens from the usage without ``usage.include``."""
    _ = request, target
    return {**body, "usage": {"include": True}}


def always_send_reasoning_content(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Moonshot and DeepSeek refuse calls without reasoning: "thinking is enabled but
    reasoning_content is missing in assistant tool call message". Calls of another model have none.
    """
    _ = request, target
    messages: list[Json] = [
        {**message, REASONING_CONTENT: message.get(REASONING_CONTENT, "")}
        if message.get("tool_calls")
        else message
        for message in get_objects(body, "messages")
    ]
    return {**body, "messages": messages}


def keep_thinking(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Z.AI drops the reasoning of former turns from the prompt by default, which loses the
    reasoning and invalidates its cache."""
    _ = target
    thinking = get_object(body, "thinking")
    if not request.model.reasoning or thinking.get("type") == "disabled":
        return body
    return {**body, "thinking": {"type": "enabled", "clear_thinking": False}}


def request_encrypted_reasoning(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """OpenAI refuses reasoning that goes back unencrypted: "Item with id 'rs_…' not found. Items
    are not persisted when store is set to false". Request it encrypted."""
    _ = request, target
    return {**body, INCLUDE: [ENCRYPTED_REASONING]}


def drop_refused_parts(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Servers that call themselves compatible refuse parameters that they do not know: drop the
    fields that the server has refused before."""
    _ = request
    return {name: value for name, value in body.items() if name not in target.refused}
