"""Requests through the real litellm in its child process."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.provider_settings import ModelSettings, ProviderSettings
from agent.provider.client import Api, ModelRequest
from agent.provider.client_pool import ClientPool
from agent.provider.litellm.process import LitellmProcess
from agent.records.errors import ProviderErrorKind
from agent.records.messages import Completed
from tests.agent.provider.switched_models import ORDER, SERVED, providers
from tests.support.harness import environment, open_harness
from tests.support.provider_events import Response, drain
from tests.support.provider_requests import TOOL, request
from tests.support.provider_server import Reply, Server
from tests.support.script import Call, Reason, Text, answer

pytestmark = [pytest.mark.litellm, pytest.mark.timeout(600)]  # it loads for long on a busy machine


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[LitellmProcess]:
    made = LitellmProcess(environment(tmp_path))
    yield made
    await made.aclose()


def through(url: str, provider: str, api: Api, **more: Any) -> tuple[Catalog, ModelRequest]:
    settings = ProviderSettings(
        id=provider,
        api=api,
        base_url=url,
        api_key="sk-test-0001",
        transport="litellm",
        models={"model-1": ModelSettings(tools=True)},
        **more,
    )
    known = Catalog({provider: settings}, None, {})
    return known, request(known.model(f"{provider}/model-1"), tools=(TOOL,))


async def ask(process: LitellmProcess, url: str, provider: str, api: Api, **more: Any) -> Response:
    known, model_request = through(url, provider, api, **more)
    clients = ClientPool(known, litellm=process)
    try:
        return await drain(clients.client_for(model_request.model).stream(model_request))
    finally:
        await clients.aclose()


def sse(*chunks: object) -> bytes:
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()


def delta(reason: str | None = None, **fields: object) -> dict[str, object]:
    choice = {"index": 0, "delta": fields, "finish_reason": reason}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "model-1",
            "choices": [choice]}  # fmt: skip


async def test_a_session_changes_its_model_between_protocols(tmp_path: Path) -> None:
    """Reasoning is replayed only to the same model, signed, and the strict server accepts each
    request that litellm makes."""

    def litellm_providers(url: str) -> dict[str, Any]:
        found: dict[str, Any] = providers(url)
        for settings in found.values():
            settings["transport"] = "litellm"
        return found

    async with open_harness(tmp_path, provider=litellm_providers) as harness:
        (harness.folder / "a.txt").write_text("one\n", "utf-8")
        read = Call("read", {"file_path": str(harness.folder / "a.txt")})
        harness.server.always(answer(Text("A title")))
        session = await harness.session()
        for number, model in enumerate(ORDER):
            assert harness.runtime.catalog.model(model).api == "litellm"
            thoughts = (Reason(f"<thought {number} of {model}>"), Text(f"I look, {number}."))
            harness.server.script(answer(*thoughts, read, read), answer(Text("Done.")))
            await harness.runtime.sessions.repository.set_model(session.id, model, None)
            assert (await harness.turn(session, f"look {number}")).outcome == "completed"
            said = str(harness.server.requests[-1].body)
            for before, other in enumerate(ORDER[: number + 1]):
                assert f"I look, {before}." in said
                sent = f"<thought {before} of {other}>" in said
                assert sent <= (other == model)
                if SERVED[model] == "anthropic-messages":
                    assert sent == (other == model)
        tools = await harness.tools(session)
        assert len(tools) == 2 * len(ORDER)
        assert all(isinstance(tool.state, Completed) for tool in tools)


async def test_data_that_litellm_drops_or_invents_is_corrected(
    process: LitellmProcess, server: Server
) -> None:
    # A refusal, which the wrapper drops; and no usage, for which it invents some.
    server.replies = [Reply((sse(delta(refusal="I can't."), delta("stop")) + b"data: [DONE]\n\n",))]
    answered = await ask(process, server.url, "acme", "openai-chat")
    assert (answered.refusal, answered.finish, answered.usage) == ("I can't.", "stop", None)
    sent = server.requests[-1]
    assert sent.path == "/chat/completions"
    assert sent.json["stream_options"] == {"include_usage": True}
    assert sent.headers["authorization"] == "Bearer sk-test-0001"

    # Copilot's name for reasoning, and two calls under one index.
    calls = [
        {"index": 0, "id": f"call_{n}", "type": "function",
         "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
        for n in range(2)
    ]  # fmt: skip
    chunks = sse(
        delta(reasoning_text="Hm."), *(delta(tool_calls=[c]) for c in calls), delta("tool_calls")
    )
    server.replies = [Reply((chunks + b"data: [DONE]\n\n",))]
    answered = await ask(process, server.url, "acme", "openai-chat")
    assert answered.reasoning == "Hm."
    assert [call.call_id for call in answered.calls] == ["call_0", "call_1"]
    assert answered.parsed_inputs == [{"city": "Rome"}] * 2

    # Gemini's signature, which litellm appends to the id of the call.
    part = {"functionCall": {"name": "get_weather", "args": {"city": "Rome"}, "id": "own1"},
            "thoughtSignature": "c2lnbmVk"}  # fmt: skip
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    server.replies = [Reply((sse({"candidates": [candidate]}),))]
    answered = await ask(process, server.url, "gem", "gemini")
    (call,) = answered.calls
    assert (call.call_id, call.opaque) == ("own1", {"thoughtSignature": "c2lnbmVk"})


async def test_errors_are_classified_by_the_servers_own_message(
    process: LitellmProcess, server: Server
) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    json_type = (("content-type", "application/json"),)
    server.replies = [Reply((json.dumps(overloaded).encode(),), 529, json_type)]
    answered = await ask(process, server.url, "acme", "anthropic-messages")
    assert answered.error.kind is ProviderErrorKind.OVERLOADED
    assert answered.error.status == 529
    assert len(server.requests) == 1, "litellm repeats nothing"

    body = {"error": {"message": "Rate limit reached for sk-test-0001", "type": "requests"}}
    limited = (*json_type, ("retry-after", "7"))
    server.replies = [Reply((json.dumps(body).encode(),), 429, limited)]
    answered = await ask(process, server.url, "acme", "openai-chat")
    assert answered.error.kind is ProviderErrorKind.RATE_LIMIT
    assert answered.error.retry_after == 7
    assert "sk-test-0001" not in answered.error.message
    assert len(server.requests) == 2

    # An error inside the stream, and a connection that breaks.
    error = sse(delta(content="So"), {"error": {"message": "Server error", "type": "server_error"}})
    for reply, kind in (
        (Reply((error,)), ProviderErrorKind.OVERLOADED),
        (Reply((sse(delta(content="So")),), cut=True), ProviderErrorKind.NETWORK),
        (Reply((sse(delta(content="So")),)), ProviderErrorKind.NETWORK),
    ):
        server.replies = [reply]
        answered = await ask(process, server.url, "acme", "openai-chat")
        assert (answered.text, answered.error.kind) == ("So", kind)


async def test_a_cancelled_call_closes_its_connection_at_once(
    process: LitellmProcess, server: Server
) -> None:
    server.replies = [Reply((sse(delta(content="So")),), hold=True)]
    known, model_request = through(server.url, "acme", "openai-chat")
    clients = ClientPool(known, litellm=process)
    stream = clients.client_for(model_request.model).stream(model_request)
    await anext(stream)
    await stream.aclose()
    await server.gone.wait()
    # The process continues to run and serves the next call.
    server.replies = [Reply((sse(delta(content="Hi"), delta("stop")),))]
    answered = await ask(process, server.url, "acme", "openai-chat")
    assert answered.text == "Hi"


async def test_a_provider_of_the_project_gets_no_key_of_the_environment(
    tmp_path: Path, server: Server
) -> None:
    settings = ProviderSettings(
        id="anthropic", base_url=server.url, transport="litellm", user_keys=False
    )
    env = {**environment(tmp_path), "ANTHROPIC_API_KEY": "sk-ant-secret"}
    known = Catalog({"anthropic": settings}, None, env)
    clients = ClientPool(known)
    server.replies = [Reply((), 401)]
    model_request = request(known.model("anthropic/claude-sonnet-4-5"))
    await drain(clients.client_for(model_request.model).stream(model_request))
    await clients.aclose()
    (seen,) = server.requests
    assert seen.path == "/v1/messages"
    assert "secret" not in json.dumps(seen.headers)
