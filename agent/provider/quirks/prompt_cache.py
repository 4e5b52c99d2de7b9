"""Quirks of prompt caches: marks where providers require them, else a key for the session."""

from agent.provider.client import ModelRequest
from agent.provider.quirks.target import Target
from agent.provider.transport.wire_json import get_objects
from agent.records.json import Json, JsonObject

CACHE_CONTROL = "cache_control"
MARK: JsonObject = {"type": "ephemeral"}
POINT: JsonObject = {"cachePoint": {"type": "default"}}
MARKED_SYSTEM = 2
MARKED_MESSAGES = 2


def add_cache_key(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """OpenAI and others distribute requests over machines with separate caches, so that the cache
    is missed: a key sends those of one session to the same machine."""
    _ = target
    return {**body, "prompt_cache_key": request.session_id} if request.session_id else body


def add_anthropic_cache_marks(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Anthropic caches nothing without marks, and refuses more than 4. Mark the two last blocks of
    the system prompt (which follow the tools), and the two last messages that can end a request:
    the next request finds the mark that this one wrote at its end."""
    _ = request, target
    _mark_last(get_objects(body, "system")[-MARKED_SYSTEM:])
    for message in _request_ends(get_objects(body, "messages")):
        _mark_last(get_objects(message, "content")[-1:])
    return body


def add_chat_cache_marks(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Claude in chat completions (and Qwen at Alibaba) caches nothing without marks either."""
    _ = target
    messages = get_objects(body, "messages")
    head = [text for text in request.system if text]
    if messages and messages[0].get("role") == "system" and head:
        parts: list[JsonObject] = [{"type": "text", "text": text} for text in head]
        _mark_last(parts[-MARKED_SYSTEM:])
        messages[0]["content"] = list[Json](parts)
    for message in _request_ends(messages):
        content = message.get("content")
        if message.get("role") == "tool":
            message[CACHE_CONTROL] = MARK
        elif isinstance(content, str):
            message["content"] = [{"type": "text", "text": content, CACHE_CONTROL: MARK}]
        else:
            _mark_last(get_objects(message, "content")[-1:])
    return {**body, "messages": list[Json](messages)}


def add_bedrock_cache_points(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Claude and Nova at Bedrock cache nothing without cache points, of which 4 are allowed."""
    _ = request, target
    system = get_objects(body, "system")
    at = len(system) - MARKED_SYSTEM
    pointed: list[Json] = []
    for number, block in enumerate(system):
        pointed += [block, POINT] if number >= at else [block]
    for message in _request_ends(get_objects(body, "messages")):
        content = message.get("content")
        if isinstance(content, list):
            content.append(POINT)
    return {**body, "system": pointed} if pointed else body


def _request_ends(messages: list[JsonObject]) -> list[JsonObject]:
    """Return the last messages that can end a request: those of the user and of tools."""
    ends = [message for message in messages if message.get("role") in ("user", "tool")]
    return ends[-MARKED_MESSAGES:]


def _mark_last(blocks: list[JsonObject]) -> None:
    for block in blocks:
        block[CACHE_CONTROL] = MARK
