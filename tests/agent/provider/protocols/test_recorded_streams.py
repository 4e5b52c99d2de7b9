"""Recorded streams of every protocol give the expected response, cut at any byte."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.provider.client import ModelRequest, StreamEvent
from agent.provider.client_pool import ClientPool
from agent.provider.protocols.anthropic import AnthropicDecoder
from agent.provider.protocols.bedrock import BedrockDecoder
from agent.provider.protocols.cohere import CohereDecoder
from agent.provider.protocols.gemini import GeminiDecoder
from agent.provider.protocols.ollama import OllamaDecoder
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.protocols.responses import ResponsesDecoder
from agent.provider.protocols.stream_decoder import StreamDecoder
from agent.provider.transport.framing import AwsFrames, BodyDecoder, Framing, JsonLines
from agent.provider.transport.retry import is_retryable
from tests.support.provider_events import Response, collect, drain, parse_arguments
from tests.support.provider_requests import TOOL, catalog, request
from tests.support.provider_server import Reply, Server

ROOT = Path(__file__).parents[4]
OWN = ROOT / "tests" / "data" / "streams"
SHARED = Path(os.environ.get("OPENCODE_PY_SHARED", ROOT.parent / "shared")) / "provider-streams"

DECODERS: dict[str, tuple[Callable[[str], StreamDecoder], Callable[[], Framing]]] = {
    "openai-chat": (ChatDecoder, BodyDecoder),
    "openai-responses": (ResponsesDecoder, BodyDecoder),
    "anthropic-messages": (AnthropicDecoder, BodyDecoder),
    "gemini": (GeminiDecoder, BodyDecoder),
    "ollama": (OllamaDecoder, JsonLines),
    "cohere": (CohereDecoder, JsonLines),
    "bedrock": (BedrockDecoder, AwsFrames),
}


@dataclass(frozen=True)
class Case:
    name: str
    facts: dict[str, Any]
    body: bytes

    @property
    def cut_after(self) -> int | None:
        return self.facts.get("transport", {}).get("abort_after_bytes")


def cases() -> Iterator[Case]:
    for folder in (OWN, SHARED):
        for facts in sorted(folder.glob("*/*.json")):
            case = json.loads(facts.read_text(encoding="utf-8"))
            stream = facts.with_suffix(".sse")
            if case.get("api") in DECODERS and stream.exists():
                yield Case(f"{facts.parent.name}/{facts.stem}", case, stream.read_bytes())


CASES = list(cases())
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def pieces(data: bytes, size: int) -> tuple[bytes, ...]:
    return tuple(data[start : start + size] for start in range(0, len(data), size))


def check(case: Case, answer: Response) -> None:
    want = case.facts.get("expect", {})
    error = case.facts.get("expect_error")
    if error is None:
        assert answer.error is None
    elif "none" not in error.get("class_accept", []) or answer.error:
        assert answer.error is not None
        assert answer.error.kind.value in [error["class"], *error.get("class_accept", [])]
        assert is_retryable(answer.error) == error["retryable"]
    assert answer.text == want.get("text", "")
    assert answer.reasoning == want.get("reasoning", "")
    assert answer.refusal == (want.get("refusal") or "")
    if want.get("run_tools", True):
        check_calls(answer, want.get("tool_calls", []))
        assert answer.order == [kind for kind in want["order"] if kind != "redacted"]
    if error is None:
        assert answer.finish in want.get("finish_accept", [want["finish"]])
        assert answer.raw == want["finish_raw"]
    check_opaque(answer, want.get("opaque", []))
    if "usage" in want:
        usage = answer.usage
        got = usage and {name: getattr(usage, name) for name in want["usage"] or usage.__slots__}
        assert got == want["usage"]


def check_calls(answer: Response, expected: list[dict[str, Any]]) -> None:
    assert [call.name for call in answer.calls] == [call["name"] for call in expected]
    for call, want in zip(answer.calls, expected, strict=True):
        assert want["id"] in (None, call.call_id)
        if want.get("invalid_json") is None:
            assert parse_arguments(call.arguments) == want["input"]
            assert not call.truncated
        else:
            assert call.arguments == want["invalid_json"]
            assert call.truncated


def check_opaque(answer: Response, expected: list[dict[str, Any]]) -> None:
    """Check that data for replay is kept, in the form that the request builder takes."""
    forms: list[Any] = []
    for item in expected:
        match item["kind"]:
            case "thinking":
                forms.append({"signature": item["signature"]})
            case "redacted_thinking":
                forms.append({"redacted": item["data"]})
            case "responses_reasoning" if item["encrypted_content"]:
                sealed = item["encrypted_content"]
                summary = [{"text": t, "type": "summary_text"} for t in item["summary"]]
                forms.append({"id": item["id"], "encrypted_content": sealed, "summary": summary})
            case "signature":
                forms.append({"signature": item["signature"]})
            case "redacted":
                forms.append({"redacted": item["data"]})
            case "thoughtSignature" if item["on"] == "text":
                forms.append({"thoughtSignature": item["data"]})
            case _:
                pass  # of chat completions (kept by the server's own names), or not kept
    if forms:
        assert [kept for kept in answer.opaque if "phase" not in kept] == forms


def decode(case: Case, cut: tuple[bytes, ...]) -> Response:
    """Decode as the client does, but without HTTP, with the end that the case's connection has."""
    decoder, framing = DECODERS[case.facts["api"]]
    sse, chat = framing(), decoder(case.facts["provider"])
    events: list[StreamEvent] = []
    for piece in cut:
        for event in sse.feed(piece):
            if not chat.done:
                events.extend(chat.feed(event))
    for event in sse.close() if case.cut_after is None else ():
        if not chat.done:
            events.extend(chat.feed(event))
    events.extend(chat.close())
    return collect(events)


async def ask(server: Server, case: Case, size: int) -> Response:
    body = case.body[: case.cut_after]
    headers = tuple(case.facts.get("headers", {"content-type": "text/event-stream"}).items())
    server.replies = [
        Reply(pieces(body, size), case.facts["status"], headers, cut=case.cut_after is not None)
    ]
    known = catalog(f"{server.url}/v1", case.facts["provider"], api=case.facts["api"])
    clients = ClientPool(known)
    model = known.model(f"{case.facts['provider']}/{case.facts['model']}")
    model_request: ModelRequest = request(model, tools=(TOOL,))
    try:
        return await drain(clients.client_for(model).stream(model_request))
    finally:
        await clients.aclose()


@each_case
async def test_whole_over_http(case: Case, server: Server) -> None:
    check(case, await ask(server, case, len(case.body)))


@each_case
async def test_seven_byte_pieces_over_http(case: Case, server: Server) -> None:
    check(case, await ask(server, case, 7))


@each_case
def test_byte_by_byte(case: Case) -> None:
    check(case, decode(case, pieces(case.body[: case.cut_after], 1)))


@each_case
def test_each_single_cut(case: Case) -> None:
    """All cuts of a small body, and 200 evenly spread ones of a larger one."""
    body = case.body[: case.cut_after]
    step = 1 if len(body) < 4096 else max(1, len(body) // 200)
    for at in range(1, len(body), step):
        check(case, decode(case, (body[:at], body[at:])))


def test_own_recordings_exist() -> None:
    assert [case for case in CASES if case.facts.get("source") == "written for this project"]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared recordings are not here")
async def test_recorded_http_errors(server: Server) -> None:
    for path in sorted((SHARED / "errors").glob("*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        headers = tuple(facts["headers"].items())
        server.replies = [Reply((facts["body"].encode(),), facts["status"], headers)]
        api = facts["api"] if facts["api"] in DECODERS else "openai-chat"
        known = catalog(server.url, facts["provider"], api=api)
        clients = ClientPool(known)
        model = known.model(f"{facts['provider']}/some-model")
        answer = await drain(clients.client_for(model).stream(request(model)))
        await clients.aclose()
        want = facts["expect_error"]
        assert answer.error.kind.value in [want["class"], *want.get("class_accept", [])], path.name
        assert is_retryable(answer.error) == want["retryable"], path.name
        if (wait := want.get("retry_after_s")) is not None:
            assert answer.error.retry_after == pytest.approx(wait, abs=0.99), path.name
