"""Gemini, Bedrock, Cohere and Ollama: events beyond the recorded ones, and requests."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelInfo,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.bedrock import BedrockDecoder
from agent.provider.protocols.cohere import CohereDecoder
from agent.provider.protocols.gemini import GeminiClient, GeminiDecoder
from agent.provider.protocols.ollama import OllamaClient, OllamaDecoder
from agent.provider.protocols.stream_decoder import StreamDecoder
from agent.provider.quirks.reasoning_replay import SKIP_SIGNATURE
from agent.provider.quirks.target import IMAGES, REASONING_REPLAY, UNSIGNED_CALLS
from agent.provider.quirks.tool_schemas import reduce_schema
from agent.provider.transport.framing import BODY, SseEvent
from agent.records.errors import ProviderErrorKind
from tests.support.provider_events import Response, decode_all
from tests.support.provider_requests import sent_body

ARGUMENTS = {"type": "object", "properties": {"p": {"type": "string"}}}
TOOL = ToolSchema("read", "Read a file.", ARGUMENTS)


def response(decoder: StreamDecoder, *events: object) -> Response:
    named = (one if isinstance(one, SseEvent) else SseEvent(json.dumps(one)) for one in events)
    return decode_all(decoder, *named)


def gemini(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}}
    return {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}], **more}


def test_gemini_without_a_finish_reason_is_incomplete() -> None:
    found = response(GeminiDecoder("google"), gemini({"text": "half"}))
    assert found.error is not None
    assert found.error.kind is ProviderErrorKind.NETWORK


def test_gemini_a_blocked_prompt_is_filtered() -> None:
    found = response(GeminiDecoder("google"), {"promptFeedback": {"blockReason": "SAFETY"}})
    assert (found.finish, found.raw) == ("content-filter", "SAFETY")


def test_gemini_an_error_in_a_list_is_read() -> None:
    body = [
        {"error": {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED"}}
    ]
    found = response(GeminiDecoder("google"), SseEvent(json.dumps(body), BODY))
    assert found.error is not None
    assert found.error.kind is ProviderErrorKind.RATE_LIMIT


def test_gemini_an_answer_that_was_not_streamed_is_read() -> None:
    body = gemini({"text": "all"}, finish="STOP", usageMetadata={"promptTokenCount": 3})
    found = response(GeminiDecoder("google"), SseEvent(json.dumps(body), BODY))
    assert (found.text, found.finish) == ("all", "stop")


@pytest.mark.parametrize("junk", [7, None, {"parts": 3}, {"parts": [None, {"text": 5}]}])
def test_gemini_odd_shapes_do_no_harm(junk: Any) -> None:
    odd = {"candidates": [{"content": junk}], "usageMetadata": "x"}
    found = response(GeminiDecoder("google"), odd, gemini({"text": "ok"}, finish="STOP"))
    assert (found.text, found.error) == ("ok", None)


def test_gemini_parts_that_the_provider_ran_are_skipped() -> None:
    ran = {"executableCode": {"code": "1+1"}}
    found = response(GeminiDecoder("google"), gemini(ran, {"text": "2"}, finish="STOP"))
    assert (found.text, found.calls) == ("2", [])


def test_a_cohere_call_without_end_is_not_emitted() -> None:
    start = {
        "type": "tool-call-start",
        "index": 0,
        "delta": {"message": {"tool_calls": {"id": "a", "function": {"name": "read"}}}},
    }
    found = response(CohereDecoder("cohere"), start)
    assert found.calls == []
    assert found.error is not None


def test_a_cohere_call_truncated_by_the_limit_is_marked() -> None:
    call = {"id": "a", "function": {"name": "read", "arguments": '{"p'}}
    start = {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}}
    end = {"type": "message-end", "delta": {"finish_reason": "MAX_TOKENS"}}
    found = response(CohereDecoder("cohere"), start, end)
    assert [call.truncated for call in found.calls] == [True]


def test_ollama_without_its_last_line_is_incomplete() -> None:
    found = response(OllamaDecoder("ollama"), {"message": {"content": "half"}, "done": False})
    assert found.error is not None


def test_bedrock_exceptions_are_classified() -> None:
    slow = SseEvent('{"message": "Too many requests"}', "throttlingException")
    found = response(BedrockDecoder("bedrock"), slow)
    assert found.error is not None
    assert found.error.kind is ProviderErrorKind.RATE_LIMIT


def test_bedrock_error_frames_are_errors() -> None:
    failed = SseEvent('{"type": "InternalFailure", "message": "server error"}', "error")
    found = response(BedrockDecoder("bedrock"), failed)
    assert found.error is not None
    assert found.error.kind is ProviderErrorKind.OVERLOADED


def test_a_bedrock_call_truncated_by_the_limit_is_marked() -> None:
    started = {"start": {"toolUse": {"name": "read", "toolUseId": "a"}}}
    found = response(
        BedrockDecoder("bedrock"),
        SseEvent(json.dumps(started), "contentBlockStart"),
        SseEvent(json.dumps({"delta": {"toolUse": {"input": '{"p'}}}), "contentBlockDelta"),
        SseEvent(json.dumps({"stopReason": "max_tokens"}), "messageStop"),
    )
    assert [call.truncated for call in found.calls] == [True]


def conversation(model: str, opaque: dict[str, Any] | None = None) -> tuple[Turn, ...]:
    thought = ReasoningContent("hm", None, {"signature": "sig"} if opaque is None else None)
    image = MediaContent("image/png", "aGk=", "a.png")
    calls = (
        ToolCallContent("c1", "read", {"p": "a"}, opaque),
        ToolCallContent("c2", "read", {"p": "b"}),
    )
    return (
        UserTurn((TextContent("look"), image)),
        AssistantTurn((thought, TextContent("I read."), *calls), model),
        ToolTurn((ToolResultContent("c1", "read", "inside a"),)),
        UserTurn((TextContent("and?"),)),
    )


def request(name: str, *, opaque: dict[str, Any] | None = None, **more: Any) -> ModelRequest:
    facts: dict[str, Any] = {"api": "gemini", "vision": True, **more}
    model = ModelInfo(provider="p", id=name, name=name, **facts)
    return ModelRequest(
        model=model,
        system=("Be brief.", ""),
        turns=conversation(model.full_name, opaque),
        tools=(TOOL,),
    )


def test_gemini_results_are_together_and_complete() -> None:
    body = sent_body(request("gemini-2.5-flash"))
    roles = [content["role"] for content in body["contents"]]
    assert roles == ["user", "model", "user"]
    parts = body["contents"][2]["parts"]
    assert [next(iter(part)) for part in parts] == ["functionResponse", "functionResponse", "text"]
    assert parts[1]["functionResponse"]["response"] == {
        "error": "The result of this call was lost; it may or may not have run."
    }
    image = {"mimeType": "image/png", "data": "aGk="}
    assert body["contents"][0]["parts"][1] == {"inlineData": image}


def test_gemini_signatures_are_replayed_with_their_call() -> None:
    mine = {"thoughtSignature": "c2ln"}
    body = sent_body(request("gemini-3-pro", opaque=mine))
    calls = [p for p in body["contents"][1]["parts"] if "functionCall" in p]
    assert [call.get("thoughtSignature") for call in calls] == ["c2ln", None]


def test_gemini_3_accepts_calls_of_other_models() -> None:
    model_request = request("gemini-3-pro")
    turns = conversation("anthropic/claude")
    model_request = ModelRequest(model=model_request.model, system=(), turns=turns, tools=(TOOL,))
    parts = sent_body(model_request)["contents"][1]["parts"]
    calls = [part for part in parts if "functionCall" in part]
    assert [call.get("thoughtSignature") for call in calls] == [SKIP_SIGNATURE, None]
    assert "sig" not in str([part for part in parts if "text" in part])


@pytest.mark.parametrize(
    ("name", "effort", "thinking"),
    [
        ("gemini-2.5-flash", None, {"includeThoughts": True}),
        ("gemini-2.5-flash", "none", {"includeThoughts": False, "thinkingBudget": 0}),
        ("gemini-2.5-pro", "low", {"includeThoughts": True, "thinkingBudget": 4000}),
        ("gemini-3-pro", "high", {"includeThoughts": True, "thinkingLevel": "high"}),
    ],
)
def test_gemini_effort(name: str, effort: str | None, thinking: dict[str, Any]) -> None:
    model_request = request(name, reasoning=True)
    model_request = ModelRequest(
        model=model_request.model, system=(), turns=model_request.turns, effort=effort
    )
    body = sent_body(model_request)
    assert body["generationConfig"]["thinkingConfig"] == thinking


@pytest.mark.parametrize(
    ("message", "gone"),
    [
        ("Function call is missing a thought_signature in functionCall parts.", UNSIGNED_CALLS),
        ("Corrupted thought signature.", REASONING_REPLAY),
        ("Thinking level is not supported for this model.", "thinkingConfig"),
        ("Unable to process input image. Invalid.", IMAGES),
        ("Unknown name \"$ref\" at 'tools[0]': Cannot find field.", None),
    ],
)
def test_the_part_that_gemini_refuses_is_recognized(message: str, gone: str | None) -> None:
    model_request = request("gemini-x", opaque={"thoughtSignature": "c2ln"}, reasoning=True)
    assert GeminiClient.refused_part(sent_body(model_request), message) == gone
    if gone == UNSIGNED_CALLS:
        foreign = replace(model_request, turns=conversation("other/m"))
        assert SKIP_SIGNATURE not in str(sent_body(foreign))
        assert str(sent_body(foreign, UNSIGNED_CALLS)).count(SKIP_SIGNATURE) == 1


def test_gemini_schemas_are_reduced() -> None:
    schema = {
        "type": "object",
        "$defs": {"Kind": {"type": "string", "enum": ["a", "b"]}},
        "additionalProperties": False,
        "properties": {
            "kind": {"$ref": "#/$defs/Kind", "description": "Which"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "level": {"type": "integer", "enum": [1, 2]},
            "many": {"type": ["string", "null"]},
            "list": {"type": "array"},
            "open": {"type": "object", "additionalProperties": True},
            "one": {"const": "x"},
        },
        "required": ["kind", "gone"],
    }
    assert reduce_schema(schema) == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["a", "b"], "description": "Which"},
            "maybe": {"type": "integer", "nullable": True},
            "level": {"type": "integer", "description": "One of 1, 2."},
            "many": {"type": "string", "nullable": True},
            "list": {"type": "array", "items": {"type": "string"}},
            "open": {"type": "object"},
            "one": {"type": "string", "enum": ["x"]},
        },
        "required": ["kind"],
    }


def test_bedrock_roles_alternate() -> None:
    body = sent_body(request("claude", api="bedrock"))
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    thought, text, first, second = body["messages"][1]["content"]
    assert thought == {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}}
    assert text == {"text": "I read."}
    results = [block["toolResult"] for block in body["messages"][2]["content"][:2]]
    assert [r["toolUseId"] for r in results] == [
        first["toolUse"]["toolUseId"],
        second["toolUse"]["toolUseId"],
    ]
    assert [r["status"] for r in results] == ["success", "error"]


def test_cohere_text_beside_calls_is_the_plan() -> None:
    messages = sent_body(request("command", api="cohere"))["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert messages[2]["tool_plan"] == "I read."
    assert "content" not in messages[2]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": 'the field "images"'},
        {"tool_calls": [{"function": {"name": "show", "arguments": {"images": ["a.png"]}}}]},
    ],
)
def test_ollama_text_and_arguments_are_no_refused_images(message: dict[str, Any]) -> None:
    refusal = "this model does not support images"
    with_image = {"role": "user", "content": "", "images": ["aGk="]}
    assert OllamaClient.refused_part({"messages": [message]}, refusal) is None
    assert OllamaClient.refused_part({"messages": [message, with_image]}, refusal) == IMAGES


def test_ollama_arguments_are_objects_and_images_are_separate() -> None:
    messages = sent_body(request("qwen", api="ollama"))["messages"]
    assert messages[1]["images"] == ["aGk="]
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == {"p": "a"}
    assert [m["tool_name"] for m in messages if m["role"] == "tool"] == ["read", "read"]
