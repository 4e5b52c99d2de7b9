"""Quirks of the temperature and of the cap on output tokens."""

from dataclasses import replace

from agent.provider.catalog.effort_levels import thinking_budget
from agent.provider.catalog.model_families import FIXED_SAMPLING_SINCE, claude_version
from agent.provider.client import ModelRequest
from agent.provider.quirks.target import Target

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
    _ = target
    return replace(request, temperature=None)


def clamp_temperature_to_one(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses a temperature above 1, which others accept: "temperature: range: 0..1"."""
    _ = target
    if request.temperature is None:
        return request
    return replace(request, temperature=min(1.0, max(0.0, request.temperature)))


def clamp_output_cap(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic and others refuse a cap above the model's limit: "max_tokens: 65536 > 8192, which
    is the maximum allowed number of output tokens"."""
    _ = target
    limit, requested = request.model.output_limit, request.max_output
    if limit is None or requested is None or requested <= limit:
        return request
    return replace(request, max_output=limit)


def set_default_output_cap(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses a request without a cap: "max_tokens: Field required"."""
    _ = target
    if request.max_output is not None:
        return request
    return replace(
        request,
        max_output=min(DEFAULT_OUTPUT_CAP, request.model.output_limit or DEFAULT_OUTPUT_CAP),
    )


def raise_output_cap_to_sixteen(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI refuses a small cap: "Invalid 'max_output_tokens': integer below minimum value.
    Expected >= 16"."""
    _ = target
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
