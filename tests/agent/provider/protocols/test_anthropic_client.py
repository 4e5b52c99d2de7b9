"""Anthropic's protocol over HTTP: address, key, repairs."""

import json
from typing import Any

from agent.provider.catalog.catalog import Catalog
from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    UserTurn,
)
from agent.provider.client_pool import ClientPool
from agent.provider.transport.errors import error_from_response
from tests.support.provider_events import Response, drain
from tests.support.provider_requests import TOOL, catalog, request
from tests.support.provider_server import Reply, Server

JSON = (("content-type", "application/json"),)
USER = UserTurn((TextContent("hi"),))


def good(text: str = "ok") -> Reply:
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    piece = {"type": "text_delta", "text": text}
    events: list[dict[str, Any]] = [
        block,
        {"type": "content_block_delta", "index": 0, "delta": piece},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    return Reply(("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode(),))


def refusal(message: str) -> Reply:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return Reply((json.dumps(error).encode(),), 400, JSON)


class Connection:
    """A client for one model at a server."""

    def __init__(self, server: Server, name: str = "claude-sonnet-4-5", **more: Any) -> None:
        known = catalog(f"{server.url}/v1", api="anthropic-messages", api_key="sk-x", **more)
        self.clients = ClientPool(known)
        self.model = known.model(f"acme/{name}")

    def request(self, *turns: Any, **more: Any) -> ModelRequest:
        return request(self.model, *turns, **{"tools": (TOOL,), **more})

    async def respond(self, sent: ModelRequest) -> Response:
        return await drain(self.clients.client_for(self.model).stream(sent))


def test_anthropic_uses_its_own_protocol_unless_the_config_says_otherwise() -> None:
    model = Catalog({}, None, {"ANTHROPIC_API_KEY": "k"}).model("anthropic/claude-sonnet-4-5")
    assert model.api == "anthropic-messages"
    assert model.base_url == "https://api.anthropic.com/v1"
    chosen = catalog("http://x/v1", "anthropic", api="openai-chat")
    assert chosen.model("anthropic/claude-sonnet-4-5").api == "openai-chat"


async def test_address_version_and_key(server: Server) -> None:
    server.replies = [good(), good()]
    connection = Connection(server, headers={"X-Team": "a"})
    assert (await connection.respond(connection.request())).text == "ok"
    assert (await connection.respond(connection.request(effort="low"))).text == "ok"
    await connection.clients.aclose()
    first, second = server.requests
    assert first.path == "/v1/messages"
    assert first.headers["x-api-key"] == "sk-x"
    assert first.headers["anthropic-version"] == "2023-06-01"
    assert first.headers["x-team"] == "a"
    assert "authorization" not in first.headers
    assert "anthropic-beta" not in first.headers
    assert "interleaved-thinking" in second.headers["anthropic-beta"]


async def test_a_refused_signature_is_dropped_for_that_session_only(server: Server) -> None:
    words = "messages.1.content.0: Invalid `signature` in `thinking` block"
    server.replies = [refusal(words), good(), good(), good()]
    connection = Connection(server)
    thought = ReasoningContent("Hm", opaque={"signature": "stale"})
    call = AssistantTurn((thought, ToolCallContent("c", "read", {})), "acme/claude-sonnet-4-5")
    turns = (USER, call, ToolTurn((ToolResultContent("c", "read", "x"),)))
    for session in ("one", "one", "two"):
        model_request = connection.request(*turns, effort="low", session_id=session)
        assert (await connection.respond(model_request)).text == "ok"
    await connection.clients.aclose()
    sent = ["stale" in str(seen.json) for seen in server.requests]
    assert sent == [True, False, False, True]
    assert ["thinking" in seen.json for seen in server.requests] == sent


async def test_a_refused_effort_is_omitted_and_remembered(server: Server) -> None:
    words = "This model does not support effort level 'max'. Supported levels: high, low."
    server.replies = [refusal(words), good(), good()]
    connection = Connection(server, "claude-opus-4-6")
    for session in ("one", "two"):
        model_request = connection.request(effort="max", session_id=session)
        assert (await connection.respond(model_request)).text == "ok"
    await connection.clients.aclose()
    assert ["output_config" in seen.json for seen in server.requests] == [True, False, False]
    assert all("thinking" in seen.json for seen in server.requests)


def test_sum_of_input_and_output_above_the_window_is_an_overflow() -> None:
    words = b"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"
    error = error_from_response("anthropic", 400, {}, b'{"error": {"message": "%s"}}' % words)
    assert error.kind.value == "overflow"
