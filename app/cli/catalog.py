"""The provider catalog for a command: its models and keys, without opening the session store."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.config.paths import Paths
from agent.git import project_root
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.from_config import catalog_from_config
from agent.provider.catalog.keys import mask_key
from agent.records.json import JsonObject
from agent.runtime.settings import read_settings


async def open_catalog(directory: Path, env: Mapping[str, str]) -> tuple[Catalog, tuple[str, ...]]:
    """Return the catalog of the models in *directory*, and notices about its settings."""
    here = await asyncio.to_thread(directory.resolve)
    paths = Paths.find(env)
    loaded, _ = await read_settings(here, await project_root(here), env, paths=paths)
    return catalog_from_config(loaded, paths, env), loaded.notices


def catalog_here(directory: Path, env: Mapping[str, str]) -> tuple[Catalog, tuple[str, ...]]:
    """Return the same outside an event loop."""
    return asyncio.run(open_catalog(directory, env))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """A provider's key or login in a list, for users and scripts."""

    provider: str
    title: str
    source: str = ""
    """The environment variable, "stored", "config", or empty for none."""
    tail: str = ""
    """The last characters of the key."""
    missing: str = ""
    """The part that the provider needs, empty for nothing."""

    @property
    def text(self) -> str:
        """The row after the provider's id."""
        if not self.source:
            return f"{self.title}   {self.missing or 'no key needed'}"
        return f"{self.title}   {self.source}   {self.tail}".rstrip()

    def as_json(self) -> JsonObject:
        return {
            "provider": self.provider,
            "name": self.title,
            "source": self.source or None,
            "tail": self.tail or None,
        }


def key_rows(catalog: Catalog, *, include_all: bool) -> list[KeyRow]:
    """Return the providers that have a key or a login; with *include_all*, all known ones."""
    rows = [_row(catalog, provider) for provider in catalog.access.provider_ids()]
    return rows if include_all else [row for row in rows if row.source]


def _row(catalog: Catalog, provider: str) -> KeyRow:
    access = catalog.access
    found, login = access.key_of(provider), access.login_of(provider)
    if found:
        source, tail = found.source, mask_key(found.key)
    else:
        source, tail = login, ""
    names = " or ".join(access.key_variables(provider))
    return KeyRow(
        provider=provider,
        title=access.display_name(provider),
        source=source,
        tail=tail,
        missing=f"needs {names}" if names and access.needs_key(provider) else "",
    )
