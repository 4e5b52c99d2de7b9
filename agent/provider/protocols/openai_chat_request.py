"""The body of a chat-completions request (spec 5, R4 and R5), and what to leave out of it when
a server that calls itself compatible refuses a part."""

import json

from agent.jsontypes import Json, JsonObject
from agent.provider.client import ModelRequest
from agent.provider.protocols.openai_chat_messages import messages_of
from agent.provider.protocols.refusals import (
    ATTACHED,
    DEMANDING,
    IMAGES,
    REASONING,
    REFUSING,
    named,
)
from agent.provider.providers import NEW_OPENAI, Quirks

MAX_TOKENS = ("max_tokens", "max_completion_tokens")
OPTIONAL = ("stream_options", "reasoning_effort", "temperature", "prompt_cache_key", "usage")
REASONING_FIELDS = ("reasoning_content", "reasoning_details", "reasoning_opaque", "reasoning")


def build_body(
    request: ModelRequest, quirks: Quirks, without: frozenset[str] = frozenset()
) -> JsonObject:
    """The body for *request*. *without* names what this server refused before (``refused``)."""
    model = request.model
    name = model.wire_id or model.id
    body: JsonObject = {"model": name, "messages": messages_of(request, quirks, without)}
    body["stream"] = True
    if quirks.stream_options:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": {"type": "object", "properties": {}} | tool.parameters,
                },
            }
            for tool in request.tools
        ]
    if request.max_output is not None:
        newer = quirks.new_max_tokens and NEW_OPENAI.match(name) is not None
        old, new = MAX_TOKENS
        if (old in without) != newer:
            body[new] = request.max_output
        else:
            body[old] = request.max_output
    if request.temperature is not None and model.temperature:
        body["temperature"] = request.temperature
    if request.effort and quirks.effort == "plain":
        body["reasoning_effort"] = request.effort
    elif request.effort and quirks.effort == "openrouter":
        body["reasoning"] = {"effort": request.effort}
    if quirks.cache_key and request.session_id:
        body["prompt_cache_key"] = request.session_id
    for name, value in quirks.extra.items():
        body[name] = _json_copy(value)
    return {name: value for name, value in body.items() if name not in without}


def _json_copy(value: object) -> Json:
    copy: Json = json.loads(json.dumps(value))
    return copy


def refused(body: JsonObject, message: str) -> str | None:
    """What a server's refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for ``build_body``'s *without*.
    """
    text = message.lower()
    if not REFUSING.search(text):
        return None
    if name := named(text, (name for name in (*OPTIONAL, *MAX_TOKENS) if name in body)):
        return name
    messages = json.dumps(body.get("messages"))
    if "image" in text and '"image_url"' in messages:
        return IMAGES
    if named(text, ATTACHED) and '"file_data"' in messages:
        return IMAGES
    replayed = (name for name in REASONING_FIELDS if f'"{name}"' in messages)
    if not DEMANDING.search(text) and named(text, replayed):
        return REASONING
    return None
