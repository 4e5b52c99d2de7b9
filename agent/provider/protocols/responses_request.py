"""The body of a request to the Responses API (spec 5, R4 and R5), and what to leave out of it
when a server refuses a part."""

import json
import re

from agent.jsontypes import Json, JsonObject
from agent.provider.client import ModelRequest
from agent.provider.protocols.effort import budget_of
from agent.provider.protocols.placeholders import Sight
from agent.provider.protocols.refusals import ATTACHED, IMAGES, REASONING, REFUSING, named
from agent.provider.protocols.responses_input import PHASE, items_of
from agent.provider.protocols.tool_names import ToolNames
from agent.provider.providers import NEW_OPENAI

SUMMARY = "reasoning summary"
INCLUDE = "include"
OPTIONAL = (
    "reasoning",
    "temperature",
    "prompt_cache_key",
    INCLUDE,
    "max_output_tokens",
    "store",
)
LEAST_OUTPUT = 16
"""The least that the API takes as ``max_output_tokens``."""

SEALED = "reasoning.encrypted_content"
OLD_OPENAI = re.compile(r"(ft:)?(gpt-[34]|chatgpt)")
"""OpenAI's models without reasoning, which refuse to be asked for it."""

STALE = re.compile(
    r"required following item|encrypted[_ ]content|could not be (verified|decrypted)|"
    r"item (with id )?'?rs_\w*'? .{0,40}not found"
)
"""A refusal of reasoning that was sent back."""


def build_body(request: ModelRequest, without: frozenset[str] = frozenset()) -> JsonObject:
    """The body for *request*. *without* names what this server refused before (``refused``)."""
    model = request.model
    name = model.wire_id or model.id
    names = ToolNames(request.tools)
    items = items_of(
        request.turns,
        model=model.full_name,
        sight=Sight.of(model, without),
        replay=REASONING not in without,
        name=names.sent,
    )
    body: JsonObject = {"model": name, "input": list[Json](items), "stream": True, "store": False}
    system = "\n\n".join(text for text in request.system if text.strip())
    if system:
        body["instructions"] = system
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": names.sent(tool.name),
                "description": tool.description,
                "parameters": {"type": "object", "properties": {}} | tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
    reasons = model.reasoning or NEW_OPENAI.match(name) is not None
    if not OLD_OPENAI.match(name):
        body[INCLUDE] = [SEALED]
    if reasoning := _reasoning(request, reasons=reasons, summary=SUMMARY not in without):
        body["reasoning"] = reasoning
    elif request.temperature is not None and model.temperature:
        body["temperature"] = request.temperature
    if request.max_output is not None:
        body["max_output_tokens"] = _most(request, thinks="reasoning" in body)
    if request.session_id:
        body["prompt_cache_key"] = request.session_id
    return {name: value for name, value in body.items() if name not in without}


def _reasoning(request: ModelRequest, *, reasons: bool, summary: bool) -> JsonObject:
    """The ``reasoning`` object, empty where nothing is to be said. A summary is what the
    API shows of the model's reasoning at all."""
    reasoning: JsonObject = {}
    if request.effort:
        reasoning["effort"] = request.effort
    if summary and request.effort != "none" and (reasons or request.effort):
        reasoning["summary"] = "auto"
    return reasoning


def _most(request: ModelRequest, *, thinks: bool) -> int:
    """The cap of the answer, with room for the reasoning that counts within it."""
    most = request.max_output or 0
    if thinks:
        most += budget_of(request.effort)
    limit = request.model.output_limit
    return max(LEAST_OUTPUT, min(most, limit) if limit else most)


def refused(body: JsonObject, message: str) -> str | None:
    """What a refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for ``build_body``'s *without*.
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
