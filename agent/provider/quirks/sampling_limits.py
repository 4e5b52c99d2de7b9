"""Quirks of the numbers of a request: temperature, and the cap of the answer."""

from dataclasses import replace

from agent.provider.catalog.effort_levels import thinking_budget
from agent.provider.catalog.model_families import FIXED_SAMPLING_SINCE, claude_version
from agent.provider.client import ModelRequest
from agent.provider.quirks.target import Target

DEFAULT_OUTPUT_CAP = 8_192
"""The cap where none is asked and no limit is known."""

UNKNOWN_LIMIT_CAP = 32_000
"""The least output limit of the models that think; asked at most where no limit is known."""

MIN_OUTPUT_CAP = 16


def drop_unsupported_temperature(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI's reasoning models: "Unsupported value: 'temperature' does not support 0.2", and
    Claude since 4.7: "temperature is deprecated for this model"."""
    fixed = claude_version(target.model) >= FIXED_SAMPLING_SINCE
    if request.temperature is None or (request.model.temperature and not fixed):
        return request
    return replace(request, temperature=None)


def drop_refused_temperature(request: ModelRequest, target: Target) -> ModelRequest:
    """A server that refused the temperature, wherever its protocol puts it, is sent none."""
    _ = target
    return replace(request, temperature=None)


def clamp_temperature_to_one(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "temperature: range: 0..1", where others go up to 2."""
    _ = target
    if request.temperature is None:
        return request
    return replace(request, temperature=min(1.0, max(0.0, request.temperature)))


def clamp_output_cap(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "max_tokens: 65536 > 8192, which is the maximum allowed number of output
    tokens", and the like elsewhere."""
    _ = target
    limit, asked = request.model.output_limit, request.max_output
    if limit is None or asked is None or asked <= limit:
        return request
    return replace(request, max_output=limit)


def set_default_output_cap(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "max_tokens: Field required"."""
    _ = target
    if request.max_output is not None:
        return request
    return replace(
        request,
        max_output=min(DEFAULT_OUTPUT_CAP, request.model.output_limit or DEFAULT_OUTPUT_CAP),
    )


def raise_output_cap_to_sixteen(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI: "Invalid 'max_output_tokens': integer below minimum value. Expected >= 16"."""
    _ = target
    if request.max_output is None or request.max_output >= MIN_OUTPUT_CAP:
        return request
    return replace(request, max_output=MIN_OUTPUT_CAP)


def add_reasoning_budget_to_output_cap(request: ModelRequest, target: Target) -> ModelRequest:
    """Reasoning counts within the cap, which is meant for the answer: without room of its own
    an answer ends as "length" in the middle of its thoughts."""
    asked, limit = request.max_output, request.model.output_limit
    if asked is None or request.effort == "none":
        return request
    # Anthropic's thinking is off until an effort is asked for, others' is on.
    by_default = request.model.reasoning and target.api not in ("anthropic-messages", "bedrock")
    if request.effort is None and not by_default:
        return request
    most = limit or max(UNKNOWN_LIMIT_CAP, asked)
    return replace(
        request, max_output=max(asked, min(most, asked + thinking_budget(request.effort)))
    )
