"""Model lists of servers, and discovery of servers on this machine."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.provider.catalog.catalog import Catalog, ProviderSettings
from agent.provider.catalog.keys import AuthFile
from agent.provider.catalog.model_list_cache import ModelListCache
from agent.provider.catalog.prices import ModelFacts
from agent.provider.client import Price
from agent.provider.client_pool import ClientPool, find_local_servers
from agent.provider.model_lists import parse_model_list
from agent.records.errors import ProviderError
from tests.support.provider_server import Reply, Server

JSON = (("content-type", "application/json"),)


def reply(answer: Any, status: int = 200) -> Reply:
    return Reply((json.dumps(answer).encode(),), status, JSON)


OPENROUTER = {
    "id": "vendor/some",
    "context_length": 200_000,
    "architecture": {"input_modalities": ["text", "image", "file"]},
    "top_provider": {"context_length": 190_000, "max_completion_tokens": 64_000},
    "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"},
    "supported_parameters": ["tools", "reasoning", "temperature"],
}


def test_openrouters_list_has_limits_price_and_abilities() -> None:
    facts = parse_model_list({"data": [OPENROUTER]})["vendor/some"]
    assert (facts.context_limit, facts.output_limit) == (200_000, 64_000)
    assert facts.price == Price(3, 15, 0.3, None)
    assert (facts.tools, facts.reasoning, facts.vision, facts.documents) == (True,) * 4


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"data": [{"id": "a"}, {"id": "b", "object": "model"}]}, {"a": None, "b": None}),
        ([{"id": "a", "context_length": 10}], {"a": 10}),
        ({"data": [{"id": "a", "max_model_len": 4096}]}, {"a": 4096}),
        ({"models": [{"name": "llama:8b"}]}, {"llama:8b": None}),
        (
            {
                "models": [
                    {
                        "name": "models/gemini-x",
                        "inputTokenLimit": 99,
                        "supportedGenerationMethods": ["generateContent"],
                    },
                    {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
                ]
            },
            {"gemini-x": 99},
        ),
        (
            {"data": [{"id": "c", "capabilities": {"limits": {"max_context_window_tokens": 7}}}]},
            {"c": 7},
        ),
        ({"data": [{"id": "e", "type": "embedding"}, {"id": "", "x": 1}, "text", None]}, {}),
        ({"error": "no"}, {}),
        (None, {}),
        ("text", {}),
    ],
)
def test_model_lists_of_many_forms_are_parsed(answer: Any, expected: dict[str, int | None]) -> None:
    assert {name: f.context_limit for name, f in parse_model_list(answer).items()} == expected


def test_free_and_odd_prices_are_unknown() -> None:
    free = parse_model_list({"data": [{"id": "a", "pricing": {"prompt": "0", "completion": "0"}}]})
    odd = parse_model_list(
        {"data": [{"id": "a", "pricing": {"prompt": "cheap", "completion": "-1"}}]}
    )
    assert free["a"].price is None
    assert odd["a"].price is None


async def test_a_fetched_list_is_stored_and_overrides_the_price_list(
    server: Server, tmp_path: Path
) -> None:
    server.replies = [reply({"data": [OPENROUTER]})]
    own = ProviderSettings(id="openrouter", base_url=f"{server.url}/v1", api_key="sk-1")
    path = tmp_path / "cache" / "models.json"
    known = Catalog({"openrouter": own}, None, {}, model_lists=ModelListCache(path))
    clients = ClientPool(known)
    known.model_lists.store("openrouter", await clients.fetch_models("openrouter"))
    await clients.aclose()
    assert server.requests[0].path == "/v1/models"
    assert server.requests[0].headers["authorization"] == "Bearer sk-1"
    again = Catalog({"openrouter": own}, None, {}, model_lists=ModelListCache(path))
    model = again.model("openrouter/vendor/some")
    assert (model.context_limit, model.price) == (200_000, Price(3, 15, 0.3, None))
    assert model.full_name in [m.full_name for m in again.models()]
    assert "sk-1" not in path.read_text()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"providers": {"a": 1, "b": {"m": 2}}}'])
def test_a_broken_list_is_an_empty_one(tmp_path: Path, content: str) -> None:
    path = tmp_path / "models.json"
    path.write_text(content)
    assert ModelListCache(path).models("a") == {}
    assert ModelListCache(path).models("b") == {}


def test_a_list_that_cannot_be_written_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lists = ModelListCache(tmp_path / "file" / "models.json")
    lists.store("a", {"m": ModelFacts(context_limit=3)})
    assert lists.models("a")["m"].context_limit == 3


def test_a_stored_price_keeps_its_tiers(tmp_path: Path) -> None:
    last = Price(8, 40, reasoning=60)
    price = Price(2, 10, 0.2, 2.5, 128_000, Price(4, 20, beyond=200_000, then=last))
    ModelListCache(tmp_path / "models.json").store("a", {"m": ModelFacts(price=price)})
    assert ModelListCache(tmp_path / "models.json").models("a")["m"].price == price


async def test_a_refusal_names_the_provider_and_hides_the_key(server: Server) -> None:
    server.replies = [reply({"error": {"message": "bad key sk-secret-1"}}, 401)]
    own = ProviderSettings(id="acme", base_url=f"{server.url}/v1", api_key="sk-secret-1")
    clients = ClientPool(Catalog({"acme": own}, None, {}))
    with pytest.raises(ProviderError, match="acme rejected the API key") as caught:
        await clients.fetch_models("acme")
    await clients.aclose()
    assert "sk-secret-1" not in str(caught.value)


def at(server: Server, provider: str = "ollama") -> Catalog:
    """Return a catalog with the local *provider* at *server*, and no other local server."""
    nowhere = "http://127.0.0.1:1/v1"
    settings = {
        name: ProviderSettings(
            id=name, base_url=f"{server.url}/v1" if name == provider else nowhere
        )
        for name in ("ollama", "lmstudio", "llama.cpp", "vllm")
    }
    return Catalog(settings, None, {})


async def test_a_local_server_is_found_and_its_models_are_offered(server: Server) -> None:
    known = at(server)
    assert not [m for m in known.models() if m.provider == "ollama"]
    server.by_path = lambda _: reply({"data": [{"id": "qwen3:8b"}]})
    found = await find_local_servers(known)
    assert list(found) == ["ollama"]
    assert "ollama/qwen3:8b" in [m.full_name for m in known.models()]
    assert known.default_model() == "demo/offline"


@pytest.mark.parametrize(
    "answer",
    [
        Reply((b"<html>",), 200, (("content-type", "text/html"),)),
        reply({"detail": "Not Found"}, 404),
        reply({"data": []}),
        Reply((b'{"data": [{"id": "x"',), 200, JSON, cut=True),
    ],
)
async def test_another_program_on_the_port_is_ignored(server: Server, answer: Reply) -> None:
    server.by_path = lambda _: answer
    assert await find_local_servers(at(server)) == {}


async def test_no_key_is_sent_to_a_local_port(server: Server, tmp_path: Path) -> None:
    AuthFile(tmp_path).put("openai", "sk-other")
    server.by_path = lambda _: reply({"data": [{"id": "x"}]})
    await find_local_servers(at(server))
    seen = [request for request in server.requests if request.method == "GET"]
    assert seen
    assert all("authorization" not in request.headers for request in seen)


def test_a_known_model_follows_changes_of_lists_and_settings() -> None:
    own = ProviderSettings(id="acme", base_url="http://one.example/v1")
    catalog = Catalog({"acme": own}, None, {})
    assert catalog.model("acme/m") is catalog.model("acme/m")
    assert catalog.model("acme/m").context_limit is None
    catalog.model_lists.store("acme", {"m": ModelFacts(context_limit=10)})
    assert catalog.model("acme/m").context_limit == 10
    catalog.model_lists.local_servers = {"acme": {"m": ModelFacts(context_limit=20)}}
    assert catalog.model("acme/m").context_limit == 20
    catalog.add_provider(ProviderSettings(id="acme", base_url="http://two.example/v1"))
    assert catalog.model("acme/m").base_url == "http://two.example/v1"
