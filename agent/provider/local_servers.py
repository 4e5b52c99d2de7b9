"""Discovery of model servers on this machine, on their default ports."""

import asyncio
import contextlib
from collections.abc import Mapping
from urllib.parse import urlsplit

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.prices import ModelFacts
from agent.provider.catalog.providers import KNOWN_PROVIDERS
from agent.provider.client_pool import ClientPool
from agent.records.errors import OpencodePyError

CONNECT_SECONDS = 0.5
ANSWER_SECONDS = 2.0


async def find_local_servers(catalog: Catalog) -> Mapping[str, Mapping[str, ModelFacts]]:
    """Return the models of the local servers, and put them into ``catalog.model_lists``.

    If nothing listens, this takes no time and does not load the HTTP client. A program that
    listens but is no model server, or is slow, is ignored.
    """
    names = [
        spec.id
        for spec in KNOWN_PROVIDERS.values()
        if spec.local and catalog.access.is_usable(spec.id)
    ]
    answers = await asyncio.gather(*(_models(catalog, name) for name in names))
    found = {name: models for name, models in zip(names, answers, strict=True) if models}
    catalog.model_lists.local_servers = found
    return found


async def _models(catalog: Catalog, provider: str) -> Mapping[str, ModelFacts]:
    if not await _listens(catalog.access.base_url(provider)):
        return {}
    clients = ClientPool(catalog)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await clients.fetch_models(provider)
    except (OpencodePyError, TimeoutError):
        return {}
    finally:
        await clients.aclose()


async def _listens(url: str) -> bool:
    try:
        place = urlsplit(url)
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(place.hostname, place.port or 80)
    except (OSError, TimeoutError, ValueError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
