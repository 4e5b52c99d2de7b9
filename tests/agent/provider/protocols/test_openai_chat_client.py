"""The chat client over HTTP: live deltas, timeouts, closing, failures, repairs."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelClient,
    ModelRequest,
    ReasoningContent,
    StepFinish,
    StreamEvent,
    TextContent,
    TextDelta,
    ToolCall,
    UserTurn,
)
from agent.provider.client_pool import ClientPool
from agent.provider.transport.http import StreamLimits
from agent.provider.transport.proxies import is_loopback
from agent.records.errors import ProviderErrorKind
from tests.support.provider_events import Response, call, drain, finish, sse
from tests.support.provider_requests import catalog, request
from tests.support.provider_server import Piece, Reply, Server

JSON = (("content-type", "application/json"),)


class Connection:
    """A client for ``acme/m`` at a server, and a plain request."""

    def __init__(self, url: str, limits: StreamLimits | None = None, **settings: Any) -> None:
        known = catalog(url, **settings)
        self.clients = ClientPool(known, limits)
        self.model = known.model("acme/m")
        self.request: ModelRequest = request(self.model)

    @property
    def client(self) -> ModelClient:
        return self.clients.client_for(self.model)

    async def respond(self, sent: ModelRequest | None = None) -> Response:
        return await drain(self.client.stream(sent or self.request))


def good(*pieces: Piece, **more: Any) -> Reply:
    return Reply(pieces or (sse({"content": "ok"}, finish("stop")),), **more)


async def test_deltas_arrive_while_the_stream_is_open(server: Server) -> None:
    resume = asyncio.Event()
    first, rest = sse({"content": "a"}, done=False), sse({"content": "b"}, finish("stop"))
    server.replies = [good(first, resume, rest)]
    connection = Connection(server.url)
    seen: list[StreamEvent] = []
    async with aclosing(connection.client.stream(connection.request)) as events:
        async for event in events:
            seen.append(event)
            if event == TextDelta("a"):
                resume.set()
    await connection.clients.aclose()
    assert TextDelta("b") in seen


async def test_calls_arrive_before_the_stream_ends(server: Server) -> None:
    resume = asyncio.Event()
    calls = sse(call(0, id="a", name="x", arguments="{}"), call(1, id="b", name="y"), done=False)
    server.replies = [good(calls, resume, sse(finish("tool_calls")))]
    connection = Connection(server.url)
    async with aclosing(connection.client.stream(connection.request)) as events:
        async for event in events:
            if isinstance(event, ToolCall):
                resume.set()
    await connection.clients.aclose()
    assert resume.is_set()


async def test_closing_the_generator_closes_the_connection(server: Server) -> None:
    server.replies = [good(sse({"content": "a"}, done=False), hold=True)]
    connection = Connection(server.url)
    async with aclosing(connection.client.stream(connection.request)) as events:
        async for event in events:
            if event == TextDelta("a"):
                break
    await server.gone.wait()
    await connection.clients.aclose()


async def test_cancelling_while_it_waits_closes_the_connection(server: Server) -> None:
    server.replies = [good(b": hello\n\n", hold=True)]
    connection = Connection(server.url)
    task = asyncio.create_task(connection.respond())
    await server.arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.gone.wait()
    await connection.clients.aclose()


async def test_nothing_is_read_after_the_end_mark(server: Server) -> None:
    server.replies = [good(sse({"content": "a"}, finish("stop")), hold=True)]
    connection = Connection(server.url)
    assert (await connection.respond()).text == "a"
    await server.gone.wait()
    await connection.clients.aclose()


async def test_the_next_request_uses_the_same_connection(server: Server) -> None:
    """Also if the caller stops at the last event, as a turn does."""
    server.replies = [good(stays=True), good(stays=True)]
    connection = Connection(server.url, StreamLimits(after_end=5))
    for _ in range(2):
        async with aclosing(connection.client.stream(connection.request)) as events:
            async for event in events:
                if isinstance(event, StepFinish):
                    break
    await connection.clients.aclose()
    assert server.connections == 1


async def test_silence_between_events_breaks_the_stream(server: Server) -> None:
    reply = good(sse({"content": "a"}, done=False), forever=b": keep-alive\n\n")
    server.replies = [reply]
    connection = Connection(server.url, StreamLimits(idle=0.05))
    answer = await connection.respond()
    await connection.clients.aclose()
    assert answer.text == "a"
    assert answer.error.kind is ProviderErrorKind.NETWORK
    assert "0.05 seconds" in str(answer.error)


async def test_first_event_of_a_loopback_server_has_no_limit(server: Server) -> None:
    ready = asyncio.Event()
    server.replies = [good(b": reading\n\n", ready, sse({"content": "a"}, finish("stop")))]
    connection = Connection(server.url, StreamLimits(first_event=0.001, idle=None))
    task = asyncio.create_task(connection.respond())
    await asyncio.sleep(0.05)  # fifty times the limit that must not count
    ready.set()
    assert (await task).text == "a"
    await connection.clients.aclose()


async def test_first_event_of_a_remote_server_has_one(server: Server) -> None:
    """The server seems remote, because it is reached through a proxy."""
    server.replies = [good(b"", forever=b": reading\n\n")]
    connection = Connection(
        "http://model.example/v1", StreamLimits(first_event=0.05), proxy=server.url
    )
    answer = await connection.respond()
    await connection.clients.aclose()
    assert server.requests[0].path == "http://model.example/v1/chat/completions"
    assert answer.error.kind is ProviderErrorKind.NETWORK
    assert "0.05 seconds" in str(answer.error)


async def test_settings_change_the_limits(server: Server) -> None:
    server.replies = [good(sse({"content": "a"}, done=False), hold=True)]
    connection = Connection(server.url, idle_timeout=0.05, timeout=float("inf"))
    assert "0.05 seconds" in str((await connection.respond()).error)
    await connection.clients.aclose()


async def test_finished_answer_does_not_wait_for_an_end_that_never_comes(server: Server) -> None:
    server.replies = [good(sse({"content": "a"}, finish("stop"), done=False), hold=True)]
    connection = Connection(server.url, StreamLimits(after_finish=0.01))
    answer = await connection.respond()
    await connection.clients.aclose()
    assert (answer.text, answer.finish, answer.error) == ("a", "stop", None)


async def test_cut_connection_is_a_network_error(server: Server) -> None:
    server.replies = [good(b": ping\n\n" + sse({"content": "part one"}, done=False), cut=True)]
    connection = Connection(server.url)
    answer = await connection.respond()
    await connection.clients.aclose()
    assert answer.text == "part one"
    assert answer.error.kind is ProviderErrorKind.NETWORK


async def test_a_missing_server_is_a_network_error_with_a_hint(server: Server) -> None:
    connection = Connection("http://127.0.0.1:9")
    answer = await connection.respond()
    await connection.clients.aclose()
    assert answer.error.kind is ProviderErrorKind.NETWORK
    assert "127.0.0.1:9" in str(answer.error)
    assert "running" in str(answer.error)


@pytest.mark.parametrize("url", ["ftp://x/v1", "http://[bad/v1", "nonsense"])
async def test_an_invalid_base_url_is_an_invalid_request(url: str, server: Server) -> None:
    connection = Connection(url)
    answer = await connection.respond()
    await connection.clients.aclose()
    assert answer.error.kind is ProviderErrorKind.INVALID_REQUEST
    assert "base URL" in str(answer.error)


async def test_redirect_is_not_followed_with_the_key(server: Server) -> None:
    target = f"{server.url}/other"
    server.replies = [Reply(status=308, headers=(("location", target),))]
    connection = Connection(server.url, api_key="sk-secret")
    answer = await connection.respond()
    await connection.clients.aclose()
    assert len(server.requests) == 1
    assert target in str(answer.error)


async def test_key_and_headers_are_sent_and_the_key_is_never_shown(server: Server) -> None:
    server.replies = [Reply((b'{"error": "bad key sk-secret"}',), 401, JSON)]
    connection = Connection(
        f"{server.url}/v1/?v=2", api_key=" sk-secret\n", headers={"X-Team": "a"}
    )
    answer = await connection.respond()
    await connection.clients.aclose()
    seen = server.requests[0]
    assert seen.path == "/v1/chat/completions?v=2"
    assert seen.headers["authorization"] == "Bearer sk-secret"
    assert seen.headers["x-team"] == "a"
    assert answer.error.kind is ProviderErrorKind.AUTH
    assert "sk-secret" not in str(answer.error)


async def test_error_body_that_breaks_off_still_classifies_by_status(server: Server) -> None:
    server.replies = [Reply((b'{"error": {"mess',), 503, JSON, cut=True)]
    connection = Connection(server.url)
    answer = await connection.respond()
    await connection.clients.aclose()
    assert answer.error.kind is ProviderErrorKind.OVERLOADED


@pytest.mark.parametrize(
    ("message", "gone"),
    [("Extra inputs are not permitted: stream_options", "stream_options"),
     ("Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature"),
     ("Unrecognized request argument supplied: reasoning_effort", "reasoning_effort")],
)  # fmt: skip
async def test_a_refused_parameter_is_omitted_and_remembered(
    server: Server, message: str, gone: str
) -> None:
    refusal = Reply((b'{"error": {"message": "%s"}}' % message.encode(),), 400, JSON)
    server.replies = [refusal, good(), good()]
    connection = Connection(server.url)
    full = request(connection.model, temperature=0.2, effort="low")
    assert (await connection.respond(full)).text == "ok"
    assert (await connection.respond(full)).text == "ok"
    await connection.clients.aclose()
    assert [gone in seen.json for seen in server.requests] == [True, False, False]


async def test_max_tokens_is_renamed_when_refused(server: Server) -> None:
    text = b'{"error": {"message": "Unsupported parameter: \'max_tokens\' is not supported"}}'
    server.replies = [Reply((text,), 400, JSON), good()]
    connection = Connection(server.url)
    assert (await connection.respond(request(connection.model, max_output=100))).text == "ok"
    await connection.clients.aclose()
    assert server.requests[0].json["max_tokens"] == 100
    assert server.requests[1].json["max_completion_tokens"] == 100
    assert "max_tokens" not in server.requests[1].json


async def test_reasoning_is_not_sent_to_a_server_that_refuses_it(server: Server) -> None:
    text = b'{"error": {"message": "Unknown field reasoning_content in messages[2]"}}'
    server.replies = [Reply((text,), 400, JSON), good()]
    connection = Connection(server.url)
    thought = ReasoningContent("Hm", "reasoning_content")
    turn = AssistantTurn((thought, TextContent("a")), model="acme/m")
    user = UserTurn((TextContent("b"),))
    assert (await connection.respond(request(connection.model, user, turn, user))).text == "ok"
    await connection.clients.aclose()
    replayed = [seen.json["messages"][2].get("reasoning_content") for seen in server.requests]
    assert replayed == ["Hm", None]


async def test_a_refused_image_is_dropped_for_that_request(server: Server) -> None:
    text = b'{"error": {"message": "Invalid image data"}}'
    server.replies = [Reply((text,), 400, JSON), good()]
    connection = Connection(server.url)
    sees = type(connection.model)(provider="acme", id="m", name="m", api="openai-chat", vision=True)
    picture = UserTurn((TextContent("see"), MediaContent("image/png", "AAAA", "x.png")))
    assert (await connection.respond(request(sees, picture))).text == "ok"
    await connection.clients.aclose()
    first, second = (seen.json["messages"][1]["content"] for seen in server.requests)
    assert first[1]["image_url"]["url"] == "data:image/png;base64,AAAA"
    assert "x.png" in second


async def test_an_unknown_refusal_is_reported_without_a_retry(server: Server) -> None:
    server.replies = [Reply((b'{"error": {"message": "unsupported model"}}',), 400, JSON)]
    connection = Connection(server.url)
    answer = await connection.respond()
    await connection.clients.aclose()
    assert len(server.requests) == 1
    assert "unsupported model" in str(answer.error)


@pytest.mark.parametrize(
    ("url", "expected"),
    [("http://localhost:1/v1", True), ("http://127.9.9.9/", True), ("http://[::1]:8080", True),
     ("https://api.openai.com/v1", False), ("http://localhost.example/", False), ("", False)],
)  # fmt: skip
def test_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected
