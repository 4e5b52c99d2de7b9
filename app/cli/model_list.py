"""The list of usable models, refreshed from the providers on request."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.prices import ModelFacts
from agent.provider.catalog.providers import DEMO
from agent.provider.client import ModelInfo
from agent.provider.client_pool import ClientPool, find_local_servers
from agent.records.errors import OpencodePyError
from app.cli.catalog import open_catalog


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models, and what the user should know about them."""

    catalog: Catalog
    models: tuple[ModelInfo, ...]
    notices: tuple[str, ...]
    """Sentences for the user."""
    failed: bool
    """The provider that was named did not respond."""


def list_models(
    directory: Path, env: Mapping[str, str], only: str | None, *, refresh: bool
) -> ModelList:
    """Return the models that can be used in *directory*, those of one provider if *only* names it.

    With *refresh*, the lists of the providers are requested and stored.
    """
    return asyncio.run(_models(directory, env, only, refresh=refresh))


async def _models(
    directory: Path, env: Mapping[str, str], only: str | None, *, refresh: bool
) -> ModelList:
    catalog, notices = await open_catalog(directory, env)
    await find_local_servers(catalog)
    all_notices = list(notices)
    failures: list[str] = []
    if refresh and (only is None or only in catalog.access.provider_ids()):
        failures = await _refresh(catalog, [only] if only else catalog.providers())
    models = tuple(model for model in catalog.models() if only in (None, model.provider))
    return ModelList(catalog, models, (*all_notices, *failures), bool(only and failures))


async def _refresh(catalog: Catalog, wanted: list[str]) -> list[str]:
    """Request and store the lists of the providers in *wanted*; return the errors as sentences."""
    names = [
        name for name in wanted if name not in catalog.model_lists.local_servers and name != DEMO
    ]
    clients = ClientPool(catalog)
    try:
        answers = await asyncio.gather(*(_list(clients, name) for name in names))
    finally:
        await clients.aclose()
    failures: list[str] = []
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, OpencodePyError):
            failures.append(answer.message)
        elif answer:
            catalog.model_lists.store(name, answer)
    return failures


async def _list(clients: ClientPool, provider: str) -> dict[str, ModelFacts] | OpencodePyError:
    try:
        return await clients.fetch_models(provider)
    except OpencodePyError as error:
        return error
