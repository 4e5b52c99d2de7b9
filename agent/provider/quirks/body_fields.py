"""Quirks of chat completions' bodies, and what a server refused before."""

from agent.provider.client import ModelRequest
from agent.provider.quirks.target import Target
from agent.provider.transport.wire_json import object_in, objects_in
from agent.records.json import Json, JsonObject

OLD_CAP, NEW_CAP = "max_tokens", "max_completion_tokens"
INCLUDE = "include"
SEALED = "reasoning.encrypted_content"
REASONING_CONTENT = "reasoning_content"


def cap_by_its_new_name(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """OpenAI's reasoning models: "Unsupported parameter: 'max_tokens' is not supported with this
    model. Use 'max_completion_tokens' instead"."""
    _ = request, target
    if OLD_CAP not in body:
        return body
    return {NEW_CAP if name == OLD_CAP else name: value for name, value in body.items()}


def cap_by_its_other_name(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """A server that refused the cap under one name is asked under the other."""
    _ = request
    names = {OLD_CAP: NEW_CAP, NEW_CAP: OLD_CAP}
    refused = {old: new for old, new in names.items() if old in target.without}
    if len(refused) > 1:
        return {name: value for name, value in body.items() if name not in refused}
    return {refused.get(name, name): value for name, value in body.items()}


def no_stream_options(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Mistral: "stream_options: Extra inputs are not permitted"; it sends usage by itself."""
    _ = request, target
    return {name: value for name, value in body.items() if name != "stream_options"}


def usage_asked_for(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """OpenRouter counts cached and reasoning tokens only where ``usage.include`` asks for it."""
    _ = request, target
    return {**body, "usage": {"include": True}}


def reasoning_content_always(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Moonshot and DeepSeek: "thinking is enabled but reasoning_content is missing in assistant
    tool call message", for calls that another model made or whose thoughts were cut off."""
    _ = request, target
    messages: list[Json] = [
        {**message, REASONING_CONTENT: message.get(REASONING_CONTENT, "")}
        if message.get("tool_calls")
        else message
        for message in objects_in(body, "messages")
    ]
    return {**body, "messages": messages}


def thinking_kept(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Z.AI clears the thoughts of former turns from what it reads again, and so loses both its
    train of thought and its cache."""
    _ = target
    thinking = object_in(body, "thinking")
    if not request.model.reasoning or thinking.get("type") == "disabled":
        return body
    return {**body, "thinking": {"type": "enabled", "clear_thinking": False}}


def reasoning_asked_for_sealed(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """OpenAI: "Item with id 'rs_…' not found. Items are not persisted when store is set to
    false": reasoning can go back only if it was given sealed."""
    _ = request, target
    return {**body, INCLUDE: [SEALED]}


def refused_parts_dropped(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Servers that call themselves compatible refuse parameters that they don't know; what one
    refused is not sent to it again."""
    _ = request
    return {name: value for name, value in body.items() if name not in target.without}
