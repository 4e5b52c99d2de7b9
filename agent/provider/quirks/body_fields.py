"""Quirks of single fields in the body of a request, and its headers."""

from dataclasses import replace

from agent.provider.catalog.effort_levels import (
    FIXED_SAMPLING_SINCE,
    claude_version,
    thinking_budget,
)
from agent.provider.client import MediaContent, ModelRequest, ToolResultContent, UserTurn
from agent.provider.quirks.target import Target
from agent.provider.transport.wire_json import get_object, get_objects
from agent.records.json import Json, JsonObject

DEFAULT_OUTPUT_CAP = 8_192
"""The cap if none is requested and no limit is known."""

UNKNOWN_LIMIT_CAP = 32_000
"""The smallest output limit of reasoning models: the largest cap if no limit is known."""

MIN_OUTPUT_CAP = 16


def drop_unsupported_temperature(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI's reasoning models and Claude since 4.7 refuse a temperature: "Unsupported value:
    'temperature' does not support 0.2", "temperature is deprecated for this model"."""
    fixed = claude_version(target.model) >= FIXED_SAMPLING_SINCE
    if request.temperature is None or (request.model.temperature and not fixed):
        return request
    return replace(request, temperature=None)


def drop_refused_temperature(request: ModelRequest, target: Target) -> ModelRequest:
    """A server refused the temperature: send none, in any protocol."""
    return replace(request, temperature=None)


def clamp_temperature_to_one(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses a temperature above 1, which others accept: "temperature: range: 0..1"."""
    if request.temperature is None:
        return request
    return replace(request, temperature=min(1.0, max(0.0, request.temperature)))


def clamp_output_cap(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic and others refuse a cap above the model's limit: "max_tokens: 65536 > 8192, which
    is the maximum allowed number of output tokens"."""
    limit, requested = request.model.output_limit, request.max_output
    if limit is None or requested is None or requested <= limit:
        return request
    return replace(request, max_output=limit)


def set_default_output_cap(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses a request without a cap: "max_tokens: Field required"."""
    if request.max_output is not None:
        return request
    return replace(
        request,
        max_output=min(DEFAULT_OUTPUT_CAP, request.model.output_limit or DEFAULT_OUTPUT_CAP),
    )


def raise_output_cap_to_sixteen(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI refuses a small cap: "Invalid 'max_output_tokens': integer below minimum value.
    Expected >= 16"."""
    if request.max_output is None or request.max_output >= MIN_OUTPUT_CAP:
        return request
    return replace(request, max_output=MIN_OUTPUT_CAP)


def add_reasoning_budget_to_output_cap(request: ModelRequest, target: Target) -> ModelRequest:
    """Reasoning counts toward the cap, which is meant for the text: without an additional budget a
    response ends with "length" in the middle of its reasoning."""
    requested, limit = request.max_output, request.model.output_limit
    if requested is None or request.effort == "none":
        return request
    # Anthropic's thinking is off until an effort is requested, that of others is on.
    by_default = request.model.reasoning and target.api not in ("anthropic-messages", "bedrock")
    if request.effort is None and not by_default:
        return request
    most = limit or max(UNKNOWN_LIMIT_CAP, requested)
    return replace(
        request, max_output=max(requested, min(most, requested + thinking_budget(request.effort)))
    )


MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"
INCLUDE = "include"
ENCRYPTED_REASONING = "reasoning.encrypted_content"
REASONING_CONTENT = "reasoning_content"


def rename_max_tokens(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """OpenAI's reasoning models refuse ``max_tokens``: "Unsupported parameter: 'max_tokens' is not
    supported with this model. Use 'max_completion_tokens' instead"."""
    if MAX_TOKENS not in body:
        return body
    return {
        MAX_COMPLETION_TOKENS if name == MAX_TOKENS else name: value for name, value in body.items()
    }


def swap_refused_output_cap(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """A server refused the output cap under one name: send it under the other."""
    names = {MAX_TOKENS: MAX_COMPLETION_TOKENS, MAX_COMPLETION_TOKENS: MAX_TOKENS}
    refused = {old: new for old, new in names.items() if old in target.refused}
    if len(refused) > 1:
        return {name: value for name, value in body.items() if name not in refused}
    return {refused.get(name, name): value for name, value in body.items()}


def drop_stream_options(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Mistral refuses ``stream_options``: "Extra inputs are not permitted".

    It always sends usage.
    """
    return {name: value for name, value in body.items() if name != "stream_options"}


def request_usage(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """OpenRouter omits cached and reasoning tokens from the usage without ``usage.include``."""
    return {**body, "usage": {"include": True}}


def always_send_reasoning_content(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Moonshot and DeepSeek refuse calls without reasoning: "thinking is enabled but
    reasoning_content is missing in assistant tool call message". Calls of another model have none.
    """
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
    thinking = get_object(body, "thinking")
    if not request.model.reasoning or thinking.get("type") == "disabled":
        return body
    return {**body, "thinking": {"type": "enabled", "clear_thinking": False}}


def request_encrypted_reasoning(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """OpenAI refuses reasoning that goes back unencrypted: "Item with id 'rs_…' not found. Items
    are not persisted when store is set to false". Request it encrypted."""
    return {**body, INCLUDE: [ENCRYPTED_REASONING]}


def drop_refused_parts(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Servers that call themselves compatible refuse parameters that they do not know: drop the
    fields that the server has refused before."""
    return {name: value for name, value in body.items() if name not in target.refused}


# Headers that depend on the request.


def request_headers(request: ModelRequest) -> dict[str, str]:
    """Return the headers of one request, in lower case; its own override those of its provider."""
    own = {name.lower(): value for name, value in request.headers.items()}
    if Target.of(request.model).provider == "github-copilot":
        return copilot_headers(request) | own
    return own


def copilot_headers(request: ModelRequest) -> dict[str, str]:
    """Copilot bills each request that does not say that the agent began it, and refuses images
    without a header: "missing required Copilot-Vision-Request header for vision requests"."""
    by_user = not request.turns or isinstance(request.turns[-1], UserTurn)
    vision = any(
        isinstance(item, MediaContent) or (isinstance(item, ToolResultContent) and item.media)
        for turn in request.turns
        for item in turn.content
    )
    found = {"x-initiator": "user" if by_user else "agent"}
    return found | ({"copilot-vision-request": "true"} if vision else {})


# Quirks of prompt caches: marks where providers require them, else a key for the session.

CACHE_CONTROL = "cache_control"
MARK: JsonObject = {"type": "ephemeral"}
POINT: JsonObject = {"cachePoint": {"type": "default"}}
MARKED_SYSTEM = 2
MARKED_MESSAGES = 2


def add_cache_key(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """OpenAI and others distribute requests over machines with separate caches, so that the cache
    is missed: a key sends those of one session to the same machine."""
    return {**body, "prompt_cache_key": request.session_id} if request.session_id else body


def add_anthropic_cache_marks(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Anthropic caches nothing without marks, and refuses more than 4. Mark the two last blocks of
    the system prompt (which follow the tools), and the two last messages that can end a request:
    the next request finds the mark that this one wrote at its end."""
    _mark_last(get_objects(body, "system")[-MARKED_SYSTEM:])
    for message in _request_ends(get_objects(body, "messages")):
        _mark_last(get_objects(message, "content")[-1:])
    return body


def add_chat_cache_marks(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Claude in chat completions (and Qwen at Alibaba) caches nothing without marks either."""
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
