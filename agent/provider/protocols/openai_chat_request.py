"""The body of a chat-completions request, and what to leave out of it when a server that calls
itself compatible refuses a part."""

import json
import re

from agent.provider.client import ModelRequest
from agent.provider.protocols.functions import functions
from agent.provider.protocols.openai_chat_messages import messages_of
from agent.provider.quirks.body_fields import NEW_CAP, OLD_CAP
from agent.provider.quirks.refused_parts import (
    ALTERNATE,
    ATTACHED,
    CACHING,
    DEMANDING,
    IMAGES,
    REASONING,
    REFUSING,
    named,
)
from agent.records.json import JsonObject

OPTIONAL = (
    "stream_options", "reasoning_effort", "temperature", "prompt_cache_key", "usage", "reasoning",
    "thinking", "enable_thinking", "thinking_budget", "chat_template_kwargs", "tool_choice",
    OLD_CAP, NEW_CAP,
)  # fmt: skip
REASONING_FIELDS = ("reasoning_content", "reasoning_details", "reasoning_opaque", "reasoning")
IN_TURN = re.compile(r"roles must alternate|alternate between|consecutive (user|assistant)")


def encode(request: ModelRequest) -> JsonObject:
    """The body for the prepared *request*."""
    model = request.model
    body: JsonObject = {
        "model": model.wire_id or model.id,
        "messages": messages_of(request),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = functions(request.tools)
        if not request.may_call:
            body["tool_choice"] = "none"
    if request.max_output is not None:
        body[OLD_CAP] = request.max_output
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def refused(body: JsonObject, message: str) -> str | None:
    """What a server's refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for the quirks' *without*.
    """
    text = message.lower()
    if IN_TURN.search(text):
        return ALTERNATE
    if not REFUSING.search(text):
        return None
    messages = json.dumps(body.get("messages"))
    if "cache_control" in text and '"cache_control"' in messages:
        return CACHING
    if name := named(text, (name for name in OPTIONAL if name in body)):
        return name
    if "image" in text and '"image_url"' in messages:
        return IMAGES
    if named(text, ATTACHED) and '"file_data"' in messages:
        return IMAGES
    replayed = (name for name in REASONING_FIELDS if f'"{name}"' in messages)
    if not DEMANDING.search(text) and named(text, replayed):
        return REASONING
    return None
