"""Connecting a server of the user's own: addresses, ids, and what is said about faults."""

import json

import pytest

from agent.provider.own_server import base_url_of, check_server, server_id
from agent.records.errors import ConfigError, ProviderError
from tests.support.provider_server import Reply, Server

JSON = (("content-type", "application/json"),)


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("localhost:1234", "http://localhost:1234"),
        (" 192.168.1.5:8000/v1/ ", "http://192.168.1.5:8000/v1"),
        ("llm.example.org/v1", "https://llm.example.org/v1"),
        ("https://llm.example.org/v1/chat/completions", "https://llm.example.org/v1"),
        ("http://box.local:80/v1/models", "http://box.local:80/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_addresses_are_completed(typed: str, url: str) -> None:
    assert base_url_of(typed) == url


@pytest.mark.parametrize("typed", ["", "http://", "ftp://x/v1", "a b", "host:port", "host:0/v1"])
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(ConfigError, match="not an address"):
        base_url_of(typed)


def test_ids_name_host_and_port() -> None:
    assert server_id("http://127.0.0.1:8000/v1", []) == "localhost-8000"
    assert server_id("https://llm.example.org/v1", []) == "llm.example.org"
    assert server_id("http://localhost:8000", ["localhost-8000"]) == "localhost-8000-2"


def listing(path: str) -> Reply:
    found = {"data": [{"id": "qwen"}]} if path == "/v1/models" else {"detail": "Not Found"}
    return Reply((json.dumps(found).encode(),), 200 if "data" in found else 404, JSON)


async def test_v1_is_added_where_the_models_are_there(server: Server) -> None:
    server.by_path = listing
    url, models = await check_server(server.url, "")
    assert (url, list(models)) == (f"{server.url}/v1", ["qwen"])


async def test_a_server_without_a_list_is_accepted(server: Server) -> None:
    server.by_path = lambda _: Reply((b"{}",), 404, JSON)
    assert await check_server(f"{server.url}/v1", "k") == (f"{server.url}/v1", {})


@pytest.mark.parametrize(
    ("reply", "key", "sentence"),
    [
        (Reply((b"{}",), 401, JSON), "", "The server needs a key."),
        (Reply((b"{}",), 403, JSON), "wrong", "The server refused the key."),
        (Reply((b"<html>",), 200, JSON), "", "does not speak OpenAI's protocol"),
    ],
)
async def test_faults_are_explained(server: Server, reply: Reply, key: str, sentence: str) -> None:
    server.by_path = lambda _: reply
    with pytest.raises(ProviderError, match=sentence):
        await check_server(f"{server.url}/v1", key)


async def test_a_server_that_is_not_there() -> None:
    with pytest.raises(ProviderError, match=r"Nothing answers at http://127.0.0.1:1/v1"):
        await check_server("http://127.0.0.1:1/v1", "")
