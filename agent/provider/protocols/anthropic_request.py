"""The body of a request to Anthropic's API (spec 5, R4 and R5; spec 2, C10), and what to leave
out of it when a server that speaks the same protocol refuses a part."""

import json
import re
from collections.abc import Sequence

from agent.jsontypes import Json, JsonObject
from agent.provider.client import ModelRequest, ToolSchema
from agent.provider.protocols.anthropic_messages import THOUGHTS, messages_of
from agent.provider.protocols.effort import LEAST_BUDGET, budget_of
from agent.provider.protocols.placeholders import Sight
from agent.provider.protocols.refusals import ATTACHED, IMAGES, REASONING, REFUSING, named
from agent.provider.protocols.tool_names import ToolNames

THINKING = "thinking"
OUTPUT_CONFIG = "output_config"
OPTIONAL = (OUTPUT_CONFIG, THINKING, "temperature")

USUAL_OUTPUT = 8_192
"""``max_tokens``, which the API demands, where nothing is asked and no limit is known."""

KNOWN_TO_FIT = 32_000
"""The least output limit of the models that think; asked at most where no limit is known."""

LEAST_ANSWER = 1_024
"""Tokens that thinking always leaves to the answer."""

MARK: JsonObject = {"type": "ephemeral"}
MOST_SYSTEM_MARKS = 2
MARKED_MESSAGES = 2

ADAPTIVE_SINCE = (4, 6)
"""From this version on Claude decides itself how much to think, by ``output_config.effort``."""

FIXED_SAMPLING_SINCE = (4, 7)
"""From this version on Claude refuses a temperature."""

VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)")


def build_body(request: ModelRequest, without: frozenset[str] = frozenset()) -> JsonObject:
    """The body for *request*. *without* names what this server refused before (``refused``)."""
    model = request.model
    names = ToolNames(request.tools)
    messages = messages_of(
        request.turns,
        model=model.full_name,
        sight=Sight.of(model, without),
        replay=REASONING not in without,
        name=names.sent,
    )
    thinking, most = _thinking(request, messages, without)
    body: JsonObject = {"model": model.wire_id or model.id, "max_tokens": most}
    blocks = [text for text in request.system if text.strip()]
    if blocks:
        body["system"] = _system(blocks)
    tools = [_tool(tool, names) for tool in request.tools]
    if not tools and (used := _used_tools(messages)):
        # A history with calls is refused without tools, even where none may be called any more.
        body["tools"] = [_tool(ToolSchema(name, "", {}), names) for name in used]
        body["tool_choice"] = {"type": "none"}
    elif tools:
        body["tools"] = list[Json](tools)
    _mark(messages)
    body["messages"] = list[Json](messages)
    body["stream"] = True
    body |= thinking
    fixed = THINKING in thinking or claude_version(request) >= FIXED_SAMPLING_SINCE
    if request.temperature is not None and model.temperature and not fixed:
        body["temperature"] = min(1.0, max(0.0, request.temperature))
    return {name: value for name, value in body.items() if name not in without}


def claude_version(request: ModelRequest) -> tuple[int, int]:
    """Major and minor version of the Claude that is asked.

    A Claude without a number is taken to be new; any other model is (0, 0).
    """
    name = request.model.wire_id or request.model.id
    match = VERSION.search(name)
    if match is None:
        return (99, 0) if "claude" in name else (0, 0)
    return int(match[1]), int(match[2] or 0)


def _thinking(
    request: ModelRequest, messages: Sequence[JsonObject], without: frozenset[str]
) -> tuple[JsonObject, int]:
    """The fields that turn thinking on as deep as asked, and ``max_tokens`` with room for it."""
    limit = request.model.output_limit
    asked = request.max_output or min(USUAL_OUTPUT, limit or USUAL_OUTPUT)
    asked = min(asked, limit) if limit else asked
    if request.effort in (None, "none") or THINKING in without:
        return {}, asked
    budget = budget_of(request.effort)
    most = min(limit or max(KNOWN_TO_FIT, asked), asked + budget)
    if claude_version(request) >= ADAPTIVE_SINCE:
        effort = "low" if request.effort == "minimal" else request.effort
        # Without "display" newer models think but don't show what.
        shown: JsonObject = {"type": "adaptive", "display": "summarized"}
        return {THINKING: shown, OUTPUT_CONFIG: {"effort": effort}}, most
    budget = min(budget, most - LEAST_ANSWER)
    if budget < LEAST_BUDGET or not _led_by_thinking(messages):
        return {}, asked
    return {THINKING: {"type": "enabled", "budget_tokens": budget}}, most


def _led_by_thinking(messages: Sequence[JsonObject]) -> bool:
    """Whether thinking may be on: an answer whose calls were just answered must begin with it
    then, which it doesn't if another model gave it or it was never signed."""
    last = next((m for m in reversed(messages) if m["role"] == "assistant"), None)
    kinds = [block.get("type") for block in _blocks(last)]
    return "tool_use" not in kinds or kinds[0] in THOUGHTS


def _blocks(message: JsonObject | None) -> list[JsonObject]:
    content = message.get("content") if message else None
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _system(blocks: Sequence[str]) -> list[Json]:
    """The system prompt, with the ends of head and rest marked (the tools stand before it)."""
    first = max(0, len(blocks) - MOST_SYSTEM_MARKS)
    return [
        {"type": "text", "text": text, **({"cache_control": MARK} if at >= first else {})}
        for at, text in enumerate(blocks)
    ]


def _mark(messages: Sequence[JsonObject]) -> None:
    """Mark the last two messages that end a request, which are the user's: the mark of this
    request's end is found again by the next one at the very place where it was written."""
    users = [message for message in messages if message["role"] == "user"]
    for message in users[-MARKED_MESSAGES:]:
        if blocks := _blocks(message):
            blocks[-1]["cache_control"] = MARK


def _tool(tool: ToolSchema, names: ToolNames) -> JsonObject:
    sent: JsonObject = {"name": names.sent(tool.name)}
    if tool.description:
        sent["description"] = tool.description
    sent["input_schema"] = {"type": "object", "properties": {}} | tool.parameters
    return sent


def _used_tools(messages: Sequence[JsonObject]) -> list[str]:
    blocks = [block for message in messages for block in _blocks(message)]
    names = {str(block["name"]) for block in blocks if block.get("type") == "tool_use"}
    return sorted(names)


def refused(body: JsonObject, message: str) -> str | None:
    """What a refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for ``build_body``'s *without*.
    """
    text = message.lower()
    messages = json.dumps(body.get("messages"))
    thoughts = '"thinking"' in messages or '"redacted_thinking"' in messages
    if thoughts and ("signature" in text or "cannot be modified" in text):
        return REASONING
    if "image" in text and '"image"' in messages:
        return IMAGES
    if named(text, ATTACHED) and '"document"' in messages:
        return IMAGES
    if "must start with a thinking block" in text and THINKING in body:
        return THINKING
    if not REFUSING.search(text):
        return None
    if OUTPUT_CONFIG in body and "effort" in text:
        return OUTPUT_CONFIG
    return named(text, (name for name in OPTIONAL if name in body))
