"""The target of a request: the properties that quirk rules depend on."""

from dataclasses import dataclass
from typing import Self

from agent.provider.catalog.providers import known_provider
from agent.provider.client import Api, ModelInfo


@dataclass(frozen=True, slots=True)
class Target:
    """The protocol, provider and model of a request."""

    api: Api
    provider: str
    """The id of the known provider at the address, even if the user gave it another name."""

    model: str
    """The model's name at the provider, in lower case."""

    refused: frozenset[str] = frozenset()
    """The parts that the server has refused before (``agent.provider.quirks.refused_parts``)."""

    @classmethod
    def of(cls, model: ModelInfo, refused: frozenset[str] = frozenset()) -> Self:
        name = (model.wire_id or model.id).lower()
        return cls(model.api, known_provider(model.provider, model.base_url), name, refused)
