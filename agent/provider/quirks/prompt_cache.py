"""Quirks of prompt caches: marks for those that want them, a key for those that find the prefix
themselves (spec 2, C10)."""

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
    """OpenAI and others spread requests over machines, each with a cache of its own: those of one
    session have to come to the same one."""
    _ = target
    return {**body, "prompt_cache_key": request.session_id} if request.session_id else body


def add_anthropic_cache_marks(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Anthropic caches only up to a mark, and refuses more than 4: head and rest of the system
    prompt (the tools stand before it), and the last two messages that end a request. The mark of
    this request's end is found again by the next one where it was written."""
    _ = request, target
    _mark_last(get_objects(body, "system")[-MARKED_SYSTEM:])
    for message in _ending(get_objects(body, "messages")):
        _mark_last(get_objects(message, "content")[-1:])
    return body


def add_chat_cache_marks(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Behind chat completions too, Claude (and Qwen at Alibaba) caches nothing without marks."""
    _ = target
    messages = get_objects(body, "messages")
    head = [text for text in request.system if text]
    if messages and messages[0].get("role") == "system" and head:
        parts: list[JsonObject] = [{"type": "text", "text": text} for text in head]
        _mark_last(parts[-MARKED_SYSTEM:])
        messages[0]["content"] = list[Json](parts)
    for message in _ending(messages):
        content = message.get("content")
        if message.get("role") == "tool":
            message[CACHE_CONTROL] = MARK
        elif isinstance(content, str):
            message["content"] = [{"type": "text", "text": content, CACHE_CONTROL: MARK}]
        else:
            _mark_last(get_objects(message, "content")[-1:])
    return {**body, "messages": list[Json](messages)}


def add_bedrock_cache_points(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Bedrock: Claude and Nova cache only up to a point, of which 4 may be set."""
    _ = request, target
    system = get_objects(body, "system")
    at = len(system) - MARKED_SYSTEM
    pointed: list[Json] = []
    for number, block in enumerate(system):
        pointed += [block, POINT] if number >= at else [block]
    for message in _ending(get_objects(body, "messages")):
        content = message.get("content")
        if isinstance(content, list):
            content.append(POINT)
    return {**body, "system": pointed} if pointed else body


def _ending(messages: list[JsonObject]) -> list[JsonObject]:
    """The last messages that may end a request: what is not said by the model."""
    ends = [message for message in messages if message.get("role") in ("user", "tool")]
    return ends[-MARKED_MESSAGES:]


def _mark_last(blocks: list[JsonObject]) -> None:
    for block in blocks:
        block[CACHE_CONTROL] = MARK
