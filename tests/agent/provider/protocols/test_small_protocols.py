"""Gemini, Bedrock, Cohere and Ollama: shapes beyond the recorded ones, and their requests
(R4, R5, R9, L12)."""

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
    StreamEvent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.bedrock_decode import BedrockDecoder
from agent.provider.protocols.cohere_decode import CohereDecoder
from agent.provider.protocols.gemini import GeminiWire
from agent.provider.protocols.gemini_decode import GeminiDecoder
from agent.provider.protocols.ollama_decode import OllamaDecoder
from agent.provider.protocols.wire_client import Decoder
from agent.provider.quirks.gemini_schema import reduce_schema
from agent.provider.quirks.reasoning_replay import SKIP_SIGNATURE
from agent.provider.quirks.refused_parts import IMAGES, REASONING_REPLAY, UNSIGNED_CALLS
from agent.provider.transport.sse import BODY, SseEvent
from agent.records.errors import ProviderErrorKind
from tests.agent.provider.collecting import Answer, collect, sent

ARGUMENTS = {"type": "object", "properties": {"p": {"type": "string"}}}
TOOL = ToolSchema("read", "Read a file.", ARGUMENTS)


def answer(decoder: Decoder, *events: object) -> Answer:
    out: list[StreamEvent] = []
    for one in events:
        if not decoder.done:
            sent = one if isinstance(one, SseEvent) else SseEvent(json.dumps(one))
            out += decoder.feed(sent)
    return collect([*out, *decoder.close()])


def gemini(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}}
    return {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}], **more}


def test_l12_gemini_without_a_finish_reason_is_cut() -> None:
    told = answer(GeminiDecoder("google"), gemini({"text": "half"}))
    assert told.error is not None
    assert told.error.kind is ProviderErrorKind.NETWORK


def test_gemini_a_blocked_prompt_is_filtered() -> None:
    told = answer(GeminiDecoder("google"), {"promptFeedback": {"blockReason": "SAFETY"}})
    assert (told.finish, told.raw) == ("content-filter", "SAFETY")


def test_gemini_an_error_in_a_list_is_read() -> None:
    body = [
        {"error": {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED"}}
    ]
    told = answer(GeminiDecoder("google"), SseEvent(json.dumps(body), BODY))
    assert told.error is not None
    assert told.error.kind is ProviderErrorKind.RATE_LIMIT


def test_gemini_an_answer_that_was_not_streamed_is_read() -> None:
    body = gemini({"text": "all"}, finish="STOP", usageMetadata={"promptTokenCount": 3})
    told = answer(GeminiDecoder("google"), SseEvent(json.dumps(body), BODY))
    assert (told.text, told.finish) == ("all", "stop")


@pytest.mark.parametrize("junk", [7, None, {"parts": 3}, {"parts": [None, {"text": 5}]}])
def test_gemini_odd_shapes_do_no_harm(junk: Any) -> None:
    odd = {"candidates": [{"content": junk}], "usageMetadata": "x"}
    told = answer(GeminiDecoder("google"), odd, gemini({"text": "ok"}, finish="STOP"))
    assert (told.text, told.error) == ("ok", None)


def test_gemini_parts_of_the_provider_itself_are_passed_over() -> None:
    ran = {"executableCode": {"code": "1+1"}}
    told = answer(GeminiDecoder("google"), gemini(ran, {"text": "2"}, finish="STOP"))
    assert (told.text, told.calls) == ("2", [])


def test_l12_cohere_call_that_was_not_ended_is_not_given_out() -> None:
    start = {
        "type": "tool-call-start",
        "index": 0,
        "delta": {"message": {"tool_calls": {"id": "a", "function": {"name": "read"}}}},
    }
    told = answer(CohereDecoder("cohere"), start)
    assert told.calls == []
    assert told.error is not None


def test_l2a_cohere_call_cut_by_the_limit_is_marked() -> None:
    call = {"id": "a", "function": {"name": "read", "arguments": '{"p'}}
    start = {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}}
    end = {"type": "message-end", "delta": {"finish_reason": "MAX_TOKENS"}}
    told = answer(CohereDecoder("cohere"), start, end)
    assert [call.truncated for call in told.calls] == [True]


def test_l12_ollama_without_its_last_line_is_cut() -> None:
    told = answer(OllamaDecoder("ollama"), {"message": {"content": "half"}, "done": False})
    assert told.error is not None


def test_r6_bedrock_exceptions_are_classified() -> None:
    slow = SseEvent('{"message": "Too many requests"}', "throttlingException")
    told = answer(BedrockDecoder("bedrock"), slow)
    assert told.error is not None
    assert told.error.kind is ProviderErrorKind.RATE_LIMIT


def test_r6_bedrock_error_frames_are_errors() -> None:
    failed = SseEvent('{"type": "InternalFailure", "message": "server error"}', "error")
    told = answer(BedrockDecoder("bedrock"), failed)
    assert told.error is not None
    assert told.error.kind is ProviderErrorKind.OVERLOADED


def test_l2a_bedrock_call_cut_by_the_limit_is_marked() -> None:
    started = {"start": {"toolUse": {"name": "read", "toolUseId": "a"}}}
    told = answer(
        BedrockDecoder("bedrock"),
        SseEvent(json.dumps(started), "contentBlockStart"),
        SseEvent(json.dumps({"delta": {"toolUse": {"input": '{"p'}}}), "contentBlockDelta"),
        SseEvent(json.dumps({"stopReason": "max_tokens"}), "messageStop"),
    )
    assert [call.truncated for call in told.calls] == [True]


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


def test_r4_gemini_results_stand_together_and_none_is_missing() -> None:
    body = sent(request("gemini-2.5-flash"))
    roles = [content["role"] for content in body["contents"]]
    assert roles == ["user", "model", "user"]
    parts = body["contents"][2]["parts"]
    assert [next(iter(part)) for part in parts] == ["functionResponse", "functionResponse", "text"]
    assert parts[1]["functionResponse"]["response"] == {
        "error": "The result of this call was lost; it may or may not have run."
    }
    image = {"mimeType": "image/png", "data": "aGk="}
    assert body["contents"][0]["parts"][1] == {"inlineData": image}


def test_r4_gemini_a_signature_goes_back_to_its_call() -> None:
    mine = {"thoughtSignature": "c2ln"}
    body = sent(request("gemini-3-pro", opaque=mine))
    calls = [p for p in body["contents"][1]["parts"] if "functionCall" in p]
    assert [call.get("thoughtSignature") for call in calls] == ["c2ln", None]


def test_r4_gemini_3_takes_calls_of_other_models() -> None:
    asked = request("gemini-3-pro")
    turns = conversation("anthropic/claude")
    asked = ModelRequest(model=asked.model, system=(), turns=turns, tools=(TOOL,))
    parts = sent(asked)["contents"][1]["parts"]
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
def test_r5_gemini_effort(name: str, effort: str | None, thinking: dict[str, Any]) -> None:
    asked = request(name, reasoning=True)
    asked = ModelRequest(model=asked.model, system=(), turns=asked.turns, effort=effort)
    body = sent(asked)
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
def test_what_gemini_objects_to(message: str, gone: str | None) -> None:
    asked = request("gemini-x", opaque={"thoughtSignature": "c2ln"}, reasoning=True)
    assert GeminiWire("google").refused(sent(asked), message) == gone
    if gone == UNSIGNED_CALLS:
        foreign = replace(asked, turns=conversation("other/m"))
        assert SKIP_SIGNATURE not in str(sent(foreign))
        assert str(sent(foreign, UNSIGNED_CALLS)).count(SKIP_SIGNATURE) == 1


def test_r4_gemini_schemas_are_reduced() -> None:
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


def test_r4_bedrock_answers_and_results_alternate() -> None:
    body = sent(request("claude", api="bedrock"))
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


def test_r4_cohere_words_beside_calls_are_the_plan() -> None:
    messages = sent(request("command", api="cohere"))["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert messages[2]["tool_plan"] == "I read."
    assert "content" not in messages[2]


def test_r4_ollama_arguments_are_objects_and_images_apart() -> None:
    messages = sent(request("qwen", api="ollama"))["messages"]
    assert messages[1]["images"] == ["aGk="]
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == {"p": "a"}
    assert [m["tool_name"] for m in messages if m["role"] == "tool"] == ["read", "read"]
