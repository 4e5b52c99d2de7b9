"""Translation of the reasoning effort to the fields of each protocol and provider.

``agent.provider.catalog.effort_levels`` defines the levels. Each function here takes the body made
from a request and returns the one to send; ``table`` says for which providers it is used.
"""

import re
from dataclasses import replace

from agent.provider.catalog.effort_levels import (
    ADAPTIVE_SINCE,
    MIN_BUDGET,
    NEW_GEMINI,
    NEW_OPENAI,
    claude_version,
    nearest_level,
    thinking_budget,
)
from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    ReasoningContent,
    ToolTurn,
    UserTurn,
)
from agent.provider.quirks.target import BUDGET_NOW, Target
from agent.provider.quirks.turn_order import tool_calls_of
from agent.provider.transport.wire_json import get_object
from agent.records.json import JsonObject

THINKING = "thinking"
OUTPUT_CONFIG = "output_config"
SUMMARY = "reasoning summary"
THINKING_CONFIG = "thinkingConfig"
MIN_ANSWER_TOKENS = 1_024
"""The tokens that a thinking budget always leaves for the text of the response."""

THINKING_OFF: JsonObject = {"type": "disabled"}
ANTHROPIC_LEVELS = ("low", "medium", "high", "xhigh", "max")
GEMINI_LEVELS = ("minimal", "low", "medium", "high")
MAX_GEMINI_BUDGETS = {"pro": 32_768, "flash": 24_576}
"""The largest thinking budgets of Gemini 2.5, from its documentation."""


def choose_supported_effort(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI refuses levels that a model lacks: "Unsupported value: 'xhigh' is not supported with
    this model. Supported values are …". Use the nearest level that it has."""
    if request.effort is None or not request.model.efforts:
        return request
    return replace(request, effort=nearest_level(request.effort, request.model.efforts))


def send_effort_as_reasoning_effort(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Chat completions take the level as ``reasoning_effort``, and most compatible servers take or
    ignore it; without the field the effort has no effect."""
    return {**body, "reasoning_effort": request.effort} if request.effort else body


def send_effort_in_reasoning_object(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """OpenRouter and Vercel's gateway ignore ``reasoning_effort`` for models other than OpenAI's;
    they translate ``reasoning.effort`` for each provider."""
    return {**body, "reasoning": {"effort": request.effort}} if request.effort else body


def send_effort_as_thinking_switch(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Z.AI, Moonshot and DeepSeek think by default and ignore an effort of "none"; they have a
    switch, beside which the newer models take a level."""
    if not request.effort:
        return body
    kind = "disabled" if request.effort == "none" else "enabled"
    switched: JsonObject = {**body, THINKING: {"type": kind}}
    graded = [level for level in request.model.efforts if level != "none"]
    if request.effort != "none" and len(graded) > 1:
        switched["reasoning_effort"] = request.effort
    return switched


def send_effort_as_reasoning_switch(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Together's hybrid models ignore a level; only ``reasoning.enabled`` switches them."""
    if not request.effort:
        return body
    return {**body, "reasoning": {"enabled": request.effort != "none"}}


def send_effort_as_enable_thinking(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Qwen's hybrid models at Alibaba ignore a level; they take ``enable_thinking`` and a
    budget."""
    if not request.effort:
        return body
    if request.effort == "none":
        return {**body, "enable_thinking": False}
    return {**body, "enable_thinking": True, "thinking_budget": thinking_budget(request.effort)}


def send_effort_as_none_or_default(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """Groq refuses levels for Qwen: "reasoning_effort must be one of none or default"."""
    if not request.effort:
        return body
    return {**body, "reasoning_effort": "none" if request.effort == "none" else "default"}


def send_effort_in_chat_template(
    body: JsonObject, request: ModelRequest, target: Target
) -> JsonObject:
    """llama.cpp, vLLM and LM Studio leave the choice to the model's chat template: without its
    arguments Qwen and GLM continue to think."""
    if not request.effort:
        return body
    wanted: JsonObject = {"enable_thinking": request.effort != "none"}
    if request.effort != "none":
        wanted["reasoning_effort"] = request.effort
    return {**body, "chat_template_kwargs": wanted}


def send_effort_to_responses(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """The Responses API shows no reasoning unless a summary is requested, and refuses a temperature
    beside it: "Unsupported parameter: 'temperature'"."""
    reasons = request.model.reasoning or NEW_OPENAI.match(target.model) is not None
    reasoning: JsonObject = {}
    if request.effort:
        reasoning["effort"] = request.effort
    if SUMMARY not in target.refused and request.effort != "none" and (reasons or request.effort):
        reasoning["summary"] = "auto"
    if not reasoning:
        return body
    made: JsonObject = {**body, "reasoning": reasoning}
    made.pop("temperature", None)
    return made


def send_effort_to_anthropic(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Anthropic's older models take a thinking budget, newer ones an effort, and each refuses the
    other form: "adaptive thinking is not supported on this model". A temperature beside it "may
    only be set to 1". A budget is refused if the last response has calls but did not begin with
    thinking: "Expected thinking, but found tool_use". Its later steps need not."""
    thinking = _claude_thinking(request, target)
    made: JsonObject = {**body, **thinking}
    if thinking and thinking[THINKING] != THINKING_OFF:
        made.pop("temperature", None)
    return made


def _claude_thinking(request: ModelRequest, target: Target) -> JsonObject:
    if request.effort is None or THINKING in target.refused:
        return {}
    version = claude_version(target.model)
    if request.effort == "none":
        # Since version 5 models think by default.
        return {THINKING: THINKING_OFF} if version >= (5, 0) else {}
    if version >= ADAPTIVE_SINCE:
        # Without "display" newer models think but do not show it.
        shown: JsonObject = {"type": "adaptive", "display": "summarized"}
        return {
            THINKING: shown,
            OUTPUT_CONFIG: {"effort": nearest_level(request.effort, ANTHROPIC_LEVELS)},
        }
    budget = min(thinking_budget(request.effort), (request.max_output or 0) - MIN_ANSWER_TOKENS)
    if budget < MIN_BUDGET or BUDGET_NOW in target.refused or not _starts_with_thinking(request):
        return {}
    return {THINKING: {"type": "enabled", "budget_tokens": budget}}


def _starts_with_thinking(request: ModelRequest) -> bool:
    """Return whether the newest response began with thinking, with all its steps: between the
    calls of one response, models without interleaved thinking do not think again. Switching it off
    there would start the prompt cache anew."""
    steps: list[AssistantTurn] = []
    for before, turn in zip((None, *request.turns), request.turns, strict=False):
        if isinstance(turn, UserTurn) and not isinstance(before, ToolTurn):
            steps.clear()
        elif isinstance(turn, AssistantTurn):
            steps.append(turn)
    if not steps or not tool_calls_of(steps[-1]):
        return True
    return any(isinstance(step.content[0], ReasoningContent) for step in (steps[0], steps[-1]))


def send_effort_to_gemini(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Gemini shows no thoughts unless they are included. It takes a level since version 3, and
    refuses it before: "Thinking level is not supported for this model"."""
    thinks = request.model.reasoning or request.effort is not None
    if not thinks or THINKING_CONFIG in target.refused:
        return body
    thinking: JsonObject = {"includeThoughts": request.effort != "none"}
    if re.search(NEW_GEMINI, target.model):
        if request.effort:
            lowest = nearest_level("minimal", request.model.efforts or GEMINI_LEVELS)
            level = (
                lowest if request.effort == "none" else nearest_level(request.effort, GEMINI_LEVELS)
            )
            thinking["thinkingLevel"] = level
    elif request.effort:
        most = MAX_GEMINI_BUDGETS["flash" if "flash" in target.model else "pro"]
        thinking["thinkingBudget"] = min(most, thinking_budget(request.effort))
    generation = get_object(body, "generationConfig")
    return {**body, "generationConfig": {**generation, THINKING_CONFIG: thinking}}


def send_effort_to_cohere(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Cohere's reasoning models think by default; the others refuse the switch: "thinking is not
    supported"."""
    if not request.model.reasoning or request.effort is None:
        return body
    kind = "disabled" if request.effort == "none" else "enabled"
    return {**body, THINKING: {"type": kind}}


def send_effort_to_ollama(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Ollama refuses the switch for other models: "… does not support thinking". gpt-oss takes a
    level and ignores the switch."""
    if request.effort is None and not request.model.reasoning:
        return body
    if "gpt-oss" in target.model and request.effort not in (None, "none"):
        return {**body, "think": nearest_level(request.effort or "", ("low", "medium", "high"))}
    return {**body, "think": request.effort != "none"}


def send_effort_to_bedrock(body: JsonObject, request: ModelRequest, target: Target) -> JsonObject:
    """Bedrock's Converse has no field for the effort; it passes on the fields of each model's
    maker."""
    inference = dict(get_object(body, "inferenceConfig"))
    more: JsonObject = {}
    if "claude" in target.model:
        more = _claude_thinking(request, target)
        if more and more[THINKING] != THINKING_OFF:
            inference.pop("temperature", None)
    elif request.effort not in (None, "none"):
        level = nearest_level(request.effort, ("low", "medium", "high"))
        if "nova" in target.model:
            more = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": level}}
        elif "gpt-oss" in target.model:
            more = {"reasoning_effort": level}
    if not more:
        return body
    return {**body, "inferenceConfig": inference, "additionalModelRequestFields": more}
