"""The target of a request: the properties that quirk rules depend on."""

import re
from collections.abc import Iterable
from typing import Self

from agent.provider.catalog.providers import known_provider
from agent.provider.client import Api, ModelInfo
from agent.records.frozen import frozen
from agent.records.json import JsonObject

IMAGES = "images"
"""Images and documents. A refusal concerns one of them; the model can accept the next."""

DOCUMENT_NAMES = ("pdf", "document", "file", "file_data", "input_file")
"""Servers' names for a document that they refuse."""

REASONING_REPLAY = "reasoning replay"
"""Reasoning of earlier responses that goes back with the next request."""

ALTERNATING_ROLES = "roles in turn"
"""Two messages of one role in a row, which some chat templates refuse."""

BUDGET_NOW = "thinking budget within a response"
"""A budget for a response that began without thinking. A refusal concerns that response."""

CACHE_MARKS = "cache marks"
"""Marks for the provider's prompt cache."""

UNSIGNED_CALLS = "calls without signatures"
"""Calls of other models, without the signature that Gemini requires."""

TEMPERATURE = "temperature"

REFUSAL_PATTERN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|"
    r"not allowed|additional propert|invalid|cannot|could not|deprecated"
)
REQUIREMENT_PATTERN = re.compile(r"missing|must be (passed|provided|present)|is required|lacks")


EFFORT_FIELDS = (
    "reasoning_effort", "reasoning", "output_config", "thinking", "think", "enable_thinking",
    "chat_template_kwargs", "thinkingConfig",
)  # fmt: skip
"""The fields that carry the reasoning effort, one or two of them in each protocol."""


def refused_effort(body: JsonObject, text: str) -> str | None:
    """Return the field of *body* with the effort if an error *text* (in lower case) refuses
    reasoning, or the value in that field, without naming the field."""
    field = next((name for name in EFFORT_FIELDS if name in body), None)
    if field is None or not REFUSAL_PATTERN.search(text):
        return None
    value = body[field]
    values = value.values() if isinstance(value, dict) else (value,)
    words = [field, "reasoning", "thinking", "effort"]
    words += [
        re.escape(quote + v + quote) for v in values if isinstance(v, str) for quote in "'\"`"
    ]
    return field if re.search(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", text) else None


def first_named(text: str, names: Iterable[str]) -> str | None:
    """Return the first of *names* that is a word of *text* (both in lower case)."""
    return next((name for name in names if re.search(rf"\b{re.escape(name)}\b", text)), None)


@frozen
class Target:
    """The protocol, provider and model of a request."""

    api: Api
    provider: str
    """The id of the known provider at the address, even if the user gave it another name."""

    model: str
    """The model's name at the provider, in lower case."""

    refused: frozenset[str] = frozenset()
    """The parts that the server has refused before (``agent.provider.quirks.target``)."""

    @classmethod
    def of(cls, model: ModelInfo, refused: frozenset[str] = frozenset()) -> Self:
        name = (model.wire_id or model.id).lower()
        return cls(model.api, known_provider(model.provider, model.base_url), name, refused)
