"""Whom a request is for, as far as quirks care."""

from dataclasses import dataclass
from typing import Self

from agent.provider.catalog.providers import site_of
from agent.provider.client import Api, ModelInfo


@dataclass(frozen=True, slots=True)
class Target:
    """*site* is the id of the known provider that answers, also where the user gave it another
    name; *model* the model's name there, in lower case; *without* what the server refused
    before (``agent.provider.quirks.refused_parts``)."""

    api: Api
    site: str
    model: str
    without: frozenset[str] = frozenset()

    @classmethod
    def of(cls, model: ModelInfo, without: frozenset[str] = frozenset()) -> Self:
        name = (model.wire_id or model.id).lower()
        return cls(model.api, site_of(model.provider, model.base_url), name, without)
