"""The body of a request to the Responses API, and what to leave out of it when a server refuses a
part."""

import json
import re

from agent.provider.client import ModelRequest
from agent.provider.protocols.responses_input import PHASE, items_of
from agent.provider.quirks.body_fields import INCLUDE
from agent.provider.quirks.reasoning_effort import SUMMARY
from agent.provider.quirks.refused_parts import ATTACHED, IMAGES, REASONING, REFUSING, named
from agent.records.json import Json, JsonObject

OPTIONAL = (
    "reasoning",
    "temperature",
    "prompt_cache_key",
    INCLUDE,
    "max_output_tokens",
    "store",
    "tool_choice",
)
STALE = re.compile(
    r"required following item|encrypted[_ ]content|could not be (verified|decrypted)|"
    r"item (with id )?'?rs_\w*'? .{0,40}not found"
)
"""A refusal of reasoning that was sent back."""


def encode(request: ModelRequest) -> JsonObject:
    """The body for the prepared *request*."""
    model = request.model
    name = model.wire_id or model.id
    items = items_of(request.turns)
    body: JsonObject = {"model": name, "input": list[Json](items), "stream": True, "store": False}
    if request.system:
        body["instructions"] = "\n\n".join(request.system)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": {"type": "object", "properties": {}} | tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
        if not request.may_call:
            body["tool_choice"] = "none"
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_output is not None:
        body["max_output_tokens"] = request.max_output
    return body


def refused(body: JsonObject, message: str) -> str | None:
    """What a refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for the quirks' *without*.
    """
    text = message.lower()
    items = json.dumps(body.get("input"))
    if '"encrypted_content"' in items and STALE.search(text):
        return REASONING
    if "image" in text and '"input_image"' in items:
        return IMAGES
    if named(text, ATTACHED) and '"input_file"' in items:
        return IMAGES
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and "summary" in reasoning and re.search(r"summar(y|ies)", text):
        return SUMMARY
    if not REFUSING.search(text):
        return None
    if INCLUDE in body and "encrypted content" in text:
        return INCLUDE
    if PHASE in text and f'"{PHASE}"' in items:
        return REASONING
    return named(text, (name for name in OPTIONAL if name in body))
