"""What is made to the Responses API: items, reasoning, tools, repairs (R4, R5)."""

import json
from typing import Any

import pytest

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelInfo,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.responses import refused
from agent.provider.quirks.reasoning_effort import SUMMARY
from agent.provider.quirks.refused_parts import IMAGES, REASONING_REPLAY
from agent.records.json import Json
from tests.agent.provider.collecting import TOOL, request, sent

USER = UserTurn((TextContent("hi"),))
SEALED = ReasoningContent(
    "Hm", opaque={"id": "rs_1", "encrypted_content": "x", "summary": [{"text": "Hm"}]}
)
CALL = ToolCallContent("c1", "read", {"p": "ä", "n": float("nan")})
RESULT = ToolTurn((ToolResultContent("c1", "read", ""),))
ITEM = {"type": "reasoning", "id": "rs_1", "summary": [{"text": "Hm"}], "encrypted_content": "x"}


def model(name: str = "gpt-5.4", **more: Any) -> ModelInfo:
    return ModelInfo(provider="openai", id=name, name=name, api="openai-responses", **more)


def body(*turns: Turn, of: ModelInfo | None = None, without: str = "", **more: Any) -> Any:
    asked = request(of or model(), *turns, **more)
    return sent(asked, *([without] if without else []))


def items(*turns: Turn, **more: Any) -> Any:
    return body(*turns, **more)["input"]


def said(*content: Any, by: str = "openai/gpt-5.4") -> AssistantTurn:
    return AssistantTurn(content, by)


def test_nothing_is_kept_at_the_server_and_reasoning_comes_sealed() -> None:
    made = body(system=("Head.", " ", "Rest."), session_id="ses")
    assert made["store"] is False
    assert made["stream"] is True
    assert made["include"] == ["reasoning.encrypted_content"]
    assert made["instructions"] == "Head.\n\nRest."
    assert made["prompt_cache_key"] == "ses"
    assert made["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    ]


def test_tools_are_not_strict() -> None:
    assert body(tools=(TOOL,))["tools"] == [
        {
            "type": "function",
            "name": "read",
            "description": "Read a file",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]


def test_call_and_output_pair_by_id_and_empty_output_is_named() -> None:
    call, output = items(USER, said(CALL), RESULT)[1:]
    assert call["call_id"] == output["call_id"] == "c1"
    assert json.loads(call["arguments"]) == {"p": "ä", "n": None}
    assert output["output"] == "(no output)"


def test_lost_output_is_filled_in() -> None:
    output = items(USER, said(CALL))[-1]
    assert output["type"] == "function_call_output"
    assert "lost" in output["output"]


def test_reasoning_goes_back_with_what_followed_it_to_its_maker() -> None:
    made = items(USER, said(SEALED, CALL), RESULT)
    assert made[1] == ITEM
    assert made[2]["type"] == "function_call"
    alone = items(USER, said(TextContent("a"), SEALED), USER)
    for other in (
        alone,
        items(USER, said(SEALED, CALL, by="openai/gpt-5.5"), RESULT),
        items(USER, said(ReasoningContent("Hm"), CALL), RESULT),
        items(USER, said(SEALED, CALL), RESULT, without=REASONING_REPLAY),
    ):
        assert not any(item["type"] == "reasoning" for item in other)


def test_phase_goes_back_to_its_model_alone() -> None:
    told = TextContent("I look.", {"phase": "commentary"})
    assert items(USER, said(told), USER)[1]["phase"] == "commentary"
    assert "phase" not in items(USER, said(told, by="openai/gpt-5.5"), USER)[1]
    assert "phase" not in items(USER, said(told), USER, without=REASONING_REPLAY)[1]
    assert (
        refused(body(USER, said(told), USER), "Unknown parameter: input[1].phase")
        == REASONING_REPLAY
    )


def test_reasoning_that_a_server_shows_in_full_goes_back_in_full() -> None:
    shown: list[Json] = [{"type": "reasoning_text", "text": "Hm"}]
    thought = ReasoningContent("Hm", opaque={"id": "rs_1", "summary": [], "content": shown})
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": shown}
    assert items(USER, said(thought, CALL), RESULT)[1] == item


def test_parts_of_one_summary_go_back_as_one_item() -> None:
    made = items(USER, said(ReasoningContent("first part"), SEALED, TextContent("a")), USER)
    assert [item for item in made if item["type"] == "reasoning"] == [ITEM]


def test_pictures_of_users_and_tools() -> None:
    picture = MediaContent("image/png", "AAAA", "x.png")
    result = ToolTurn((ToolResultContent("c1", "read", "seen", media=(picture,)),))
    turns = (UserTurn((picture,)), said(CALL), result)
    url = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    seen = items(*turns, of=model(vision=True))
    assert seen[0]["content"] == [url]
    assert seen[-1]["output"] == [{"type": "input_text", "text": "seen"}, url]
    for blind in (items(*turns), items(*turns, of=model(vision=True), without=IMAGES)):
        assert "x.png" in blind[0]["content"][0]["text"]
        assert "x.png" in blind[-1]["output"]


def test_documents_of_users_and_tools() -> None:
    paper = MediaContent("application/pdf", "AAAA", "x.pdf")
    result = ToolTurn((ToolResultContent("c1", "read", "seen", media=(paper,)),))
    turns = (UserTurn((paper,)), said(CALL), result)
    data = "data:application/pdf;base64,AAAA"
    file = {"type": "input_file", "filename": "x.pdf", "file_data": data}
    seen = items(*turns, of=model(documents=True))
    assert seen[0]["content"] == [file]
    assert seen[-1]["output"] == [{"type": "input_text", "text": "seen"}, file]
    assert refused(body(*turns, of=model(documents=True)), "The file is invalid") == IMAGES
    assert "x.pdf" in items(*turns, of=model(vision=True))[0]["content"][0]["text"]


def test_r5_effort_and_summary() -> None:
    assert body(effort="high")["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body()["reasoning"] == {"summary": "auto"}
    assert body(effort="none")["reasoning"] == {"effort": "none"}
    assert body(effort="high", without=SUMMARY)["reasoning"] == {"effort": "high"}
    assert "reasoning" not in body(without=SUMMARY)


def test_models_without_reasoning_are_asked_for_none() -> None:
    made = body(of=model("gpt-4.1-mini"), temperature=0.2, max_output=8000)
    assert "reasoning" not in made
    assert "include" not in made
    assert made["temperature"] == 0.2
    assert made["max_output_tokens"] == 8000
    assert "temperature" not in body(temperature=0.2)


def test_cap_leaves_room_for_the_reasoning_within_it() -> None:
    assert body(effort="high", max_output=8000)["max_output_tokens"] == 24_000
    small = model(output_limit=9000)
    assert body(of=small, effort="high", max_output=8000)["max_output_tokens"] == 9000
    assert body(of=model("gpt-4o"), max_output=1)["max_output_tokens"] == 16
    assert "max_output_tokens" not in body()


@pytest.mark.parametrize(
    ("message", "gone"),
    [
        ("Item 'rs_1' of type 'reasoning' was provided without its required following item.",
         REASONING_REPLAY),
        ("The encrypted content for item rs_1 could not be verified.", REASONING_REPLAY),
        ("Your organization must be verified to generate reasoning summaries.", SUMMARY),
        ("Unsupported parameter: 'reasoning.summary' is not supported with this model.", SUMMARY),
        ("Unsupported parameter: 'reasoning.effort' is not supported with this model.",
         "reasoning"),
        ("Unknown parameter: 'prompt_cache_key'.", "prompt_cache_key"),
        ("Invalid image data", IMAGES),
        ("No tool call found for function call output with call_id c1.", None),
    ],
)  # fmt: skip
def test_what_a_refusal_objects_to(message: str, gone: str | None) -> None:
    picture = UserTurn((MediaContent("image/png", "AAAA"),))
    turns = (picture, said(SEALED, CALL), RESULT)
    made = body(*turns, of=model(vision=True), effort="low", session_id="s")
    assert refused(made, message) == gone


def test_sealed_reasoning_that_a_model_cannot_give_is_not_asked_for_again() -> None:
    made = body(USER)
    assert refused(made, "Encrypted content is not supported with this model.") == "include"
    assert "include" not in body(USER, without="include")
