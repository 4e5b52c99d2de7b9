"""The price list: limits, abilities and prices of models, from litellm's data file.

The file is read from the installed package without importing it. If the package or the file is
missing, nothing is known and everything still works.
"""

import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from agent.provider.catalog.effort_levels import EFFORT_LEVELS, ListedEfforts
from agent.provider.client import Price
from agent.provider.transport.wire_json import get_objects
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

DATA_FILE = "model_prices_and_context_window_backup.json"
TIER_KEY = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
RESPONSES_PROVIDERS = frozenset({"openai"})
"""Providers that are used through the Responses API, so that models of that mode count too."""


@frozen(kw_only=True)
class ModelFacts:
    """The list's facts about one model. Limits are in tokens, None where unknown."""

    context_limit: int | None = None
    output_limit: int | None = None
    tools: bool = True
    vision: bool = False
    documents: bool = False
    reasoning: bool = False
    efforts: ListedEfforts = field(default_factory=ListedEfforts)
    price: Price | None = None
    created: float | None = None
    """The time of its release in seconds since the epoch, None if the server does not say."""

    def merged_over(self, other: "ModelFacts | None") -> "ModelFacts":
        """Return *other* with the facts that are known here in their place."""
        if other is None:
            return self
        return replace(
            other,
            context_limit=self.context_limit or other.context_limit,
            output_limit=self.output_limit or other.output_limit,
            vision=self.vision or other.vision,
            documents=self.documents or other.documents,
            reasoning=self.reasoning or other.reasoning,
            price=self.price or other.price,
            created=self.created or other.created,
        )


class PriceList:
    """The list, read at its first use (about 40 ms). *path* None finds the installed one."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._models: dict[str, dict[str, ModelFacts]] | None = None

    def models(self, provider: str) -> Mapping[str, ModelFacts]:
        """Return the chat models of *provider* (litellm's name for it) by their own ids."""
        if self._models is None:
            self._models = _read(self._path or _installed_path())
        return self._models.get(provider, {})


def _installed_path() -> Path | None:
    spec = importlib.util.find_spec("litellm")
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) / DATA_FILE if places else None


def _read(path: Path | None) -> dict[str, dict[str, ModelFacts]]:
    try:
        data: Json = json.loads(path.read_bytes()) if path else {}
    except (OSError, ValueError):
        data = {}
    found: dict[str, dict[str, ModelFacts]] = {}
    for name, entry in data.items() if isinstance(data, dict) else ():
        if not isinstance(entry, dict):
            continue
        provider, mode = entry.get("litellm_provider"), entry.get("mode")
        spoken = mode == "chat" or (mode == "responses" and provider in RESPONSES_PROVIDERS)
        if isinstance(provider, str) and spoken:
            found.setdefault(provider, {})[_own_name(name, provider)] = _facts(entry)
    return found


def _own_name(name: str, provider: str) -> str:
    """Return the model's name at *provider*.

    For example, "vertex_ai-anthropic_models" lists "vertex_ai/claude-…".
    """
    return name.removeprefix(f"{provider}/").removeprefix(f"{provider.partition('-')[0]}/")


def _facts(entry: JsonObject) -> ModelFacts:
    return ModelFacts(
        context_limit=_limit(entry, "max_input_tokens", "max_tokens"),
        output_limit=_limit(entry, "max_output_tokens", "max_tokens"),
        tools=entry.get("supports_function_calling") is not False,
        vision=entry.get("supports_vision") is True,
        documents=entry.get("supports_pdf_input") is True,
        reasoning=entry.get("supports_reasoning") is True,
        efforts=_listed_efforts(entry),
        price=_price(entry),
    )


def _limit(entry: JsonObject, *names: str) -> int | None:
    for name in names:
        value = entry.get(name)
        if isinstance(value, int | float) and value > 0:
            return int(value)
    return None


def _listed_efforts(entry: JsonObject) -> ListedEfforts:
    levels = entry.get("reasoning_effort_levels")
    if isinstance(levels, list):
        return ListedEfforts(tuple(level for level in levels if isinstance(level, str)))
    flags = {level: entry.get(f"supports_{level}_reasoning_effort") for level in EFFORT_LEVELS}
    return ListedEfforts(
        more=frozenset(level for level, yes in flags.items() if yes is True),
        fewer=frozenset(level for level, yes in flags.items() if yes is False),
        always=entry.get("thinking_always_on") is True,
    )


def _price(entry: JsonObject) -> Price | None:
    """Return the price with its tiers, None if unknown.

    Both prices zero mean that they are unknown (free models are listed that way too).
    """
    tiers = [*_tiers_by_range(entry), *_tiers_by_name(entry)]
    if not tiers or not (tiers[0][1].input or tiers[0][1].output):
        return None
    found: Price | None = None
    beyond: int | None = None
    for start, price in reversed(tiers):
        found = replace(price, beyond=beyond, then=found)
        beyond = start
    return found


def _tiers_by_name(entry: JsonObject) -> list[tuple[int, Price]]:
    """Return the plain price and those of ``…_above_200k_tokens``.

    Each comes with the prompt length above which it applies.
    """
    plain = _tier(entry, "", None)
    if plain is None:
        return []
    steps = sorted(int(match[1]) for name in entry if (match := TIER_KEY.fullmatch(name)))
    later = ((step * 1000, _tier(entry, f"_above_{step}k_tokens", plain)) for step in steps)
    return [(0, plain), *((start, price) for start, price in later if price is not None)]


def _tiers_by_range(entry: JsonObject) -> list[tuple[int, Price]]:
    """Return the tiers of ``tiered_pricing``, which entries without a plain price have."""
    tiers: list[tuple[int, Price]] = []
    for given in get_objects(entry, "tiered_pricing"):
        span = given.get("range")
        start = span[0] if isinstance(span, list) and span else None
        price = _tier(given, "", None)
        if isinstance(start, int | float) and price is not None:
            tiers.append((int(start), price))
    return [] if _tier(entry, "", None) else sorted(tiers, key=lambda tier: tier[0])


def _tier(entry: JsonObject, suffix: str, base: Price | None) -> Price | None:
    """Return one price; a higher tier inherits from *base* the output price that it lacks."""
    read = _dollars(entry, f"cache_read_input_token_cost{suffix}")
    write = _dollars(entry, f"cache_creation_input_token_cost{suffix}")
    into = _dollars(entry, f"input_cost_per_token{suffix}")
    out = _dollars(entry, f"output_cost_per_token{suffix}")
    thought = _dollars(entry, f"output_cost_per_reasoning_token{suffix}")
    if base is not None:
        out = base.output if out is None else out
    if into is None or out is None:
        return None
    return Price(into, out, read, write or None, reasoning=thought if thought != out else None)


def _dollars(entry: JsonObject, name: str) -> float | None:
    """Return dollars per million tokens, rounded: the file has floats per single token."""
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return round(value * 1_000_000, 6)
