"""The models that servers themselves list.

The lists that ``models --refresh`` fetches are stored in a file of the cache folder; those of
servers on this machine are kept in memory.
"""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from agent.config.private_file import write_private
from agent.provider.catalog.prices import ModelFacts
from agent.provider.client import Price
from agent.records.json import Json, JsonObject

FILE_NAME = "models.json"
_DOLLARS = ("input", "output", "cache_read", "cache_write", "reasoning")


class ModelListCache:
    """The lists by provider, stored in the file *path*; None stores nothing.

    The file is read at the first use of a list; a missing or broken one counts as empty.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._fetched: dict[str, dict[str, ModelFacts]] | None = None
        self._local_servers: Mapping[str, Mapping[str, ModelFacts]] = {}
        self.revision = 0
        """The number of changes of the lists."""

    @property
    def local_servers(self) -> Mapping[str, Mapping[str, ModelFacts]]:
        """The models of local servers by provider, set when the search for these ends."""
        return self._local_servers

    @local_servers.setter
    def local_servers(self, found: Mapping[str, Mapping[str, ModelFacts]]) -> None:
        self._local_servers = found
        self.revision += 1

    def models(self, provider: str) -> Mapping[str, ModelFacts]:
        """Return the listed models of *provider* by id, none if its list was never fetched."""
        if provider in self.local_servers:
            return self.local_servers[provider]
        return self._lists().get(provider, {})

    def store(self, provider: str, models: Mapping[str, ModelFacts]) -> None:
        """Store the list of *provider*.

        A failure to write the file is ignored: the list is used until the program ends.
        """
        lists = self._lists()
        lists[provider] = dict(models)
        self.revision += 1
        if self._path is None:
            return
        written: JsonObject = {
            name: {model: _written(facts) for model, facts in listed.items()}
            for name, listed in lists.items()
        }
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(self._path, json.dumps({"providers": written}))

    def _lists(self) -> dict[str, dict[str, ModelFacts]]:
        if self._fetched is None:
            self._fetched = _read(self._path)
        return self._fetched


def _read(path: Path | None) -> dict[str, dict[str, ModelFacts]]:
    try:
        data: Json = json.loads(path.read_bytes()) if path else None
    except (OSError, ValueError):
        data = None
    providers = data.get("providers") if isinstance(data, dict) else None
    if not isinstance(providers, dict):
        return {}
    return {
        provider: {
            model: _facts(entry) for model, entry in listed.items() if isinstance(entry, dict)
        }
        for provider, listed in providers.items()
        if isinstance(listed, dict)
    }


def _written(facts: ModelFacts) -> JsonObject:
    price: Json = None if facts.price is None else asdict(facts.price)
    return {
        "context": facts.context_limit,
        "output": facts.output_limit,
        "tools": facts.tools,
        "reasoning": facts.reasoning,
        "vision": facts.vision,
        "documents": facts.documents,
        "price": price,
        "created": facts.created,
    }


def _facts(entry: JsonObject) -> ModelFacts:
    context, output, created = entry.get("context"), entry.get("output"), entry.get("created")
    return ModelFacts(
        context_limit=context if isinstance(context, int) else None,
        output_limit=output if isinstance(output, int) else None,
        tools=entry.get("tools") is not False,
        reasoning=entry.get("reasoning") is True,
        vision=entry.get("vision") is True,
        documents=entry.get("documents") is True,
        price=_price(entry.get("price")),
        created=float(created) if isinstance(created, int | float) else None,
    )


def _price(entry: Json) -> Price | None:
    """Return the price with its further tiers, None if it is unknown."""
    if not isinstance(entry, dict):
        return None
    known = {n: float(d) for n in _DOLLARS if isinstance(d := entry.get(n), int | float)}
    if "input" not in known or "output" not in known:
        return None
    beyond, then = entry.get("beyond"), _price(entry.get("then"))
    price = Price(
        known["input"],
        known["output"],
        known.get("cache_read"),
        known.get("cache_write"),
        reasoning=known.get("reasoning"),
    )
    return replace(price, beyond=beyond, then=then) if then and isinstance(beyond, int) else price
