"""The body of a request to Gemini (spec 5, R4 and R5), and what to leave out of it when a server
refuses a part.

Roles alternate, the results of an answer's calls stand together right after it, and a thought
signature goes back to the very part that it came with, to the model that made it.
"""

import re

from agent.jsontypes import Json, JsonObject
from agent.provider.client import MediaContent, ModelRequest, ReasoningContent, TextContent
from agent.provider.protocols.effort import budget_of
from agent.provider.protocols.exchanges import Answered, Asked, Returned, SentCall, exchanges
from agent.provider.protocols.gemini_decode import SIGNATURE
from agent.provider.protocols.gemini_schema import reduced
from agent.provider.protocols.placeholders import Sight, unseen
from agent.provider.protocols.refusals import ATTACHED, IMAGES, REASONING, REFUSING, named
from agent.provider.protocols.tool_names import ToolNames
from agent.provider.protocols.wire_json import object_in

THINKING = "thinkingConfig"
NO_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini 3 takes in place of the signature of a call that another model made."""

SIGNED = re.compile(r"gemini-([3-9]|\d\d)")
"""Models that refuse a call without its signature, and take a thinking level, not a budget."""

LEVELS = {"none": "minimal", "xhigh": "high", "max": "high"}
STALE = re.compile(r"thought.?signature")


def build_body(request: ModelRequest, without: frozenset[str] = frozenset()) -> JsonObject:
    """The body for *request*. *without* names what this server refused before (``refused``)."""
    names = ToolNames(request.tools)
    body: JsonObject = {"contents": list[Json](_contents(request, names, without))}
    system: list[Json] = [{"text": text} for text in request.system if text.strip()]
    if system:
        body["systemInstruction"] = {"parts": system}
    if request.tools:
        declared: list[Json] = []
        for tool in request.tools:
            sent: JsonObject = {"name": names.sent(tool.name), "description": tool.description}
            parameters = reduced(tool.parameters)
            if "properties" in parameters:
                sent["parameters"] = parameters
            declared.append(sent)
        body["tools"] = [{"functionDeclarations": declared}]
    generation = _generation(request, without)
    if generation:
        body["generationConfig"] = generation
    return body


def _generation(request: ModelRequest, without: frozenset[str]) -> JsonObject:
    model = request.model
    made: JsonObject = {}
    thinks = (model.reasoning or request.effort is not None) and THINKING not in without
    if request.max_output is not None:
        most = request.max_output + (budget_of(request.effort) if thinks else 0)
        made["maxOutputTokens"] = min(most, model.output_limit) if model.output_limit else most
    if request.temperature is not None and model.temperature and "temperature" not in without:
        made["temperature"] = request.temperature
    if thinks:
        thinking: JsonObject = {"includeThoughts": request.effort != "none"}
        if SIGNED.search(model.wire_id or model.id):
            if request.effort:
                thinking["thinkingLevel"] = LEVELS.get(request.effort, request.effort)
        elif request.effort:
            thinking["thinkingBudget"] = budget_of(request.effort)
        made[THINKING] = thinking
    return made


def _contents(request: ModelRequest, names: ToolNames, without: frozenset[str]) -> list[JsonObject]:
    sight = Sight.of(request.model, without)
    signed = SIGNED.search(request.model.wire_id or request.model.id) is not None
    contents: list[JsonObject] = []
    for exchange in exchanges(request.turns):
        match exchange:
            case Asked():
                role, parts = "user", [_said(content, sight) for content in exchange.content]
            case Answered():
                own = exchange.model in ("", request.model.full_name) and REASONING not in without
                role, parts = "model", _answered(exchange, names, own=own, signed=signed)
            case Returned():
                role, parts = "user", _returned(exchange, names, sight)
        if contents and contents[-1]["role"] == role:
            held = contents[-1]["parts"]
            assert isinstance(held, list)  # noqa: S101 - made just below
            held += parts
        else:
            contents.append({"role": role, "parts": list[Json](parts)})
    return contents


def _said(content: TextContent | MediaContent, sight: Sight) -> JsonObject:
    if isinstance(content, TextContent):
        return {"text": content.text}
    if not sight.sees(content):
        return {"text": unseen(content)}
    return {"inlineData": {"mimeType": content.mime, "data": content.data}}


def _answered(exchange: Answered, names: ToolNames, *, own: bool, signed: bool) -> list[JsonObject]:
    parts: list[JsonObject] = []
    unsigned = signed
    for content in exchange.content:
        match content:
            case TextContent():
                said: JsonObject = {"text": content.text}
                if own and content.opaque and SIGNATURE in content.opaque:
                    said[SIGNATURE] = content.opaque[SIGNATURE]
                parts.append(said)
            case ReasoningContent():
                pass  # thoughts do not go back, only their signatures
            case SentCall(call=call):
                part: JsonObject = {
                    "functionCall": {"name": names.sent(call.name), "args": call.input}
                }
                signature = (call.opaque or {}).get(SIGNATURE) if own else None
                if signature:
                    part[SIGNATURE] = signature
                elif unsigned:  # only the first call of an answer has one
                    part[SIGNATURE] = NO_SIGNATURE
                unsigned = False
                parts.append(part)
    return parts


def _returned(exchange: Returned, names: ToolNames, sight: Sight) -> list[JsonObject]:
    parts: list[JsonObject] = []
    seen: list[JsonObject] = []
    for result in exchange.results:
        key = "error" if result.is_error else "output"
        parts.append({
            "functionResponse": {
                "name": names.sent(result.sent.call.name),
                "response": {key: result.text},
            }
        })  # fmt: skip
        seen += [_said(media, sight) for media in result.media]
    return [*parts, *seen]


def refused(body: JsonObject, message: str) -> str | None:
    """What a refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for ``build_body``'s *without*.
    """
    text = message.lower()
    if STALE.search(text):
        return REASONING
    generation = object_in(body, "generationConfig")
    if THINKING in generation and "thinking" in text:
        return THINKING
    if not REFUSING.search(text):
        return None
    if "inlineData" in str(body.get("contents")) and ("image" in text or named(text, ATTACHED)):
        return IMAGES
    return "temperature" if "temperature" in generation and "temperature" in text else None
