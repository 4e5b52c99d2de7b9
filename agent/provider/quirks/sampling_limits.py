"""Quirks of the numbers of a request: temperature, and the cap of the answer."""

from dataclasses import replace

from agent.provider.catalog.effort_levels import budget_of
from agent.provider.catalog.model_families import FIXED_SAMPLING_SINCE, claude_version
from agent.provider.client import ModelRequest
from agent.provider.quirks.target import Target

USUAL_OUTPUT = 8_192
"""The cap where none is asked and no limit is known."""

KNOWN_TO_FIT = 32_000
"""The least output limit of the models that think; asked at most where no limit is known."""

LEAST_OUTPUT = 16


def temperature_where_taken(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI's reasoning models: "Unsupported value: 'temperature' does not support 0.2", and
    Claude since 4.7: "temperature is deprecated for this model"."""
    fixed = claude_version(target.model) >= FIXED_SAMPLING_SINCE
    if request.temperature is None or (request.model.temperature and not fixed):
        return request
    return replace(request, temperature=None)


def refused_temperature_dropped(request: ModelRequest, target: Target) -> ModelRequest:
    """A server that refused the temperature, wherever its protocol puts it, is sent none."""
    _ = target
    return replace(request, temperature=None)


def temperature_up_to_one(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "temperature: range: 0..1", where others go up to 2."""
    _ = target
    if request.temperature is None:
        return request
    return replace(request, temperature=min(1.0, max(0.0, request.temperature)))


def output_within_limit(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "max_tokens: 65536 > 8192, which is the maximum allowed number of output
    tokens", and the like elsewhere."""
    _ = target
    limit, asked = request.model.output_limit, request.max_output
    if limit is None or asked is None or asked <= limit:
        return request
    return replace(request, max_output=limit)


def output_cap_always(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "max_tokens: Field required"."""
    _ = target
    if request.max_output is not None:
        return request
    return replace(
        request, max_output=min(USUAL_OUTPUT, request.model.output_limit or USUAL_OUTPUT)
    )


def output_cap_of_sixteen(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI: "Invalid 'max_output_tokens': integer below minimum value. Expected >= 16"."""
    _ = target
    if request.max_output is None or request.max_output >= LEAST_OUTPUT:
        return request
    return replace(request, max_output=LEAST_OUTPUT)


def room_for_reasoning(request: ModelRequest, target: Target) -> ModelRequest:
    """Reasoning counts within the cap, which is meant for the answer: without room of its own
    an answer ends as "length" in the middle of its thoughts."""
    asked, limit = request.max_output, request.model.output_limit
    if asked is None or request.effort == "none":
        return request
    # Anthropic's thinking is off until an effort is asked for, others' is on.
    by_default = request.model.reasoning and target.api not in ("anthropic-messages", "bedrock")
    if request.effort is None and not by_default:
        return request
    most = limit or max(KNOWN_TO_FIT, asked)
    return replace(request, max_output=max(asked, min(most, asked + budget_of(request.effort))))
