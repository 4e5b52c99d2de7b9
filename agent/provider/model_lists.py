"""Fetch and parse the lists of models that servers offer, in all their forms."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

from agent.provider.catalog.prices import ModelFacts
from agent.provider.client import Api, Price
from agent.provider.protocols.wire_client import Endpoint
from agent.provider.transport.connections import (
    HTTP_ERRORS,
    ConnectError,
    Connections,
    HttpRequest,
)
from agent.provider.transport.errors import connection_error, error_from_response
from agent.records.json import Json, JsonObject

TIMEOUT_SECONDS = 15.0
APIS_WITHOUT_MODEL_LIST: frozenset[Api] = frozenset({"bedrock", "litellm", "demo"})
"""Protocols without an endpoint that lists models."""

PATHS: Mapping[Api, str] = {
    "cohere": "/v1/models?page_size=1000",
    "gemini": "/models?pageSize=1000",
}
CONTEXT_LIMIT_KEYS = (
    "context_length", "context_window", "max_context_length", "max_model_len", "inputTokenLimit",
    "max_input_tokens", "max_context_window_tokens",
)  # fmt: skip
OUTPUT_LIMIT_KEYS = ("max_completion_tokens", "max_output_tokens", "outputTokenLimit", "max_tokens")
LIMIT_CONTAINERS = ("top_provider", "meta", "capabilities", "limits")
"""Objects inside an entry that hold the limits at some servers."""

EARLIEST = 1_500_000_000.0
"""Seconds since the epoch before which no model was released: some servers send a constant."""

NON_CHAT_KINDS = frozenset(
    {"embedding", "embeddings", "rerank", "image", "audio", "transcribe", "tts"}
)


def parse_model_list(answer: Json) -> dict[str, ModelFacts]:
    """Return the models in a server's response (*answer*) by id, in its order."""
    entries: Json = answer
    if isinstance(answer, dict):
        entries = answer.get("data") or answer.get("models")
    found: dict[str, ModelFacts] = {}
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("id") or entry.get("name") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(name, str) and name and _is_chat_model(entry):
            found[name.removeprefix("models/")] = _facts(entry)
    return found


def _is_chat_model(entry: JsonObject) -> bool:
    kind = entry.get("type") or entry.get("mode")
    if isinstance(kind, str) and kind.lower() in NON_CHAT_KINDS:
        return False
    methods = entry.get("supportedGenerationMethods")  # of Gemini
    return not isinstance(methods, list) or "generateContent" in methods


def _facts(entry: JsonObject) -> ModelFacts:
    places = list(_nested_objects(entry))
    takes = entry.get("supported_parameters")
    architecture = entry.get("architecture")
    modes = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    modes = modes if isinstance(modes, list) else []
    return ModelFacts(
        context_limit=_number(places, CONTEXT_LIMIT_KEYS),
        output_limit=_number(places, OUTPUT_LIMIT_KEYS),
        tools="tools" in takes if isinstance(takes, list) else True,
        reasoning=isinstance(takes, list) and "reasoning" in takes,
        vision="image" in modes,
        documents="file" in modes,
        price=_price(entry.get("pricing")),
        created=_created(entry),
    )


def _created(entry: JsonObject) -> float | None:
    """Return the time of a model's release: in seconds, or as an ISO date."""
    found = entry.get("created") or entry.get("created_at")
    if isinstance(found, str):
        try:
            return datetime.fromisoformat(found).timestamp()
        except ValueError:
            return None
    if isinstance(found, int | float) and found > EARLIEST:
        return float(found)
    return None


def _nested_objects(entry: JsonObject) -> Iterator[JsonObject]:
    yield entry
    for name in LIMIT_CONTAINERS:
        if isinstance(inner := entry.get(name), dict):
            yield from _nested_objects(inner)


def _number(places: list[JsonObject], names: tuple[str, ...]) -> int | None:
    for place in places:
        for name in names:
            value = place.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                return int(value)
    return None


def _price(pricing: Json) -> Price | None:
    """Return the price in OpenRouter's form, which others adopted: dollars per token, as text."""
    if not isinstance(pricing, dict):
        return None
    into, out = _dollars(pricing, "prompt"), _dollars(pricing, "completion")
    if not into and not out:
        return None
    read, write = _dollars(pricing, "input_cache_read"), _dollars(pricing, "input_cache_write")
    return Price(into or 0.0, out or 0.0, read, write)


def _dollars(pricing: JsonObject, name: str) -> float | None:
    value = pricing.get(name)
    try:
        dollars = float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None
    return round(dollars * 1_000_000, 6) if dollars is not None and dollars >= 0 else None


async def fetch_model_list(
    http: Connections, endpoint: Endpoint, api: Api
) -> dict[str, ModelFacts]:
    """Return the models that the server at *endpoint* lists. Raises ``ProviderError``."""
    more = {"anthropic-version": "2023-06-01"} if api == "anthropic-messages" else {}
    return parse_model_list(await request(http, endpoint, PATHS.get(api, "/models"), more))


async def request(
    http: Connections,
    endpoint: Endpoint,
    path: str,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Json:
    """Return the JSON at *path* of *endpoint*; *more* are further headers. Raises
    ``ProviderError``."""
    url = endpoint.url(path)
    headers = endpoint.all_headers({"accept": "application/json", **more})
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            answer = await http.fetch(HttpRequest(url=url, headers=headers, method="GET"))
        data: Json = json.loads(answer.body) if answer.is_success else None
    except TimeoutError as error:
        raise connection_error(
            endpoint.provider, f"no answer in {TIMEOUT_SECONDS:g} seconds"
        ) from error
    except (*HTTP_ERRORS, ValueError) as error:
        raise connection_error(endpoint.provider, _reason(error)) from error
    if not answer.is_success:
        body = answer.body
        if endpoint.key:
            body = body.replace(endpoint.key.encode(), b"***")
        raise error_from_response(endpoint.provider, answer.status, answer.headers, body)
    return data


def _reason(error: Exception) -> str:
    """Return why a request failed: the network, or a response that is no JSON."""
    if isinstance(error, ConnectError):
        return "nothing answers at its address; check the network"
    return "its response cannot be read"
