"""Whom a request is for, as far as quirks care."""

from dataclasses import dataclass
from typing import Self

from agent.provider.catalog.providers import known_provider
from agent.provider.client import Api, ModelInfo


@dataclass(frozen=True, slots=True)
class Target:
    """*site* is the id of the known provider that answers, also where the user gave it another
    name; *model* the model's name there, in lower case; *without* what the server refused
    before (``agent.provider.quirks.refused_parts``)."""

    api: Api
    provider: str
    model: str
    refused: frozenset[str] = frozenset()

    @classmethod
    def of(cls, model: ModelInfo, refused: frozenset[str] = frozenset()) -> Self:
        name = (model.wire_id or model.id).lower()
        return cls(model.api, known_provider(model.provider, model.base_url), name, refused)
