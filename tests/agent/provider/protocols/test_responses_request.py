"""Requests to the Responses API: items, reasoning, tools, refused parts."""

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
from agent.provider.protocols.responses import ResponsesClient
from agent.provider.quirks.reasoning_effort import SUMMARY
from agent.provider.quirks.target import IMAGES, REASONING_REPLAY
from agent.records.json import Json
from tests.support.provider_requests import TOOL, USER, assistant, body, model

SEALED = ReasoningContent(
    "Hm", opaque={"id": "rs_1", "encrypted_content": "x", "summary": [{"text": "Hm"}]}
)
CALL = ToolCallContent("c1", "read", {"p": "ä", "n": float("nan")})
RESULT = ToolTurn((ToolResultContent("c1", "read", ""),))
ITEM = {"type": "reasoning", "id": "rs_1", "summary": [{"text": "Hm"}], "encrypted_content": "x"}


def gpt(name: str = "gpt-5.4", **facts: Any) -> ModelInfo:
    return model(f"openai/{name}", **facts)


def sent(*turns: Turn, of: ModelInfo | None = None, refused: str = "", **fields: Any) -> Any:
    return body(of or gpt(), *turns, refused=refused, **fields)


def items(*turns: Turn, **more: Any) -> Any:
    return sent(*turns, **more)["input"]


def assistant_turn(*content: Any, by: str = "openai/gpt-5.4") -> AssistantTurn:
    return assistant(*content, by=by)


def test_nothing_is_stored_at_the_server_and_reasoning_is_encrypted() -> None:
    made = sent(system=("Head.", " ", "Rest."), session_id="ses")
    assert made["store"] is False
    assert made["stream"] is True
    assert made["include"] == ["reasoning.encrypted_content"]
    assert made["instructions"] == "Head.\n\nRest."
    assert made["prompt_cache_key"] == "ses"
    assert made["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    ]


def test_tools_are_not_strict() -> None:
    assert sent(tools=(TOOL,))["tools"] == [
        {
            "type": "function",
            "name": "read",
            "description": "Read a file",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
    ]


def test_call_and_output_are_paired_by_id_and_an_empty_output_gets_a_text() -> None:
    call, output = items(USER, assistant_turn(CALL), RESULT)[1:]
    assert call["call_id"] == output["call_id"] == "c1"
    assert json.loads(call["arguments"]) == {"p": "ä", "n": None}
    assert output["output"] == "(no output)"


def test_a_lost_output_is_added() -> None:
    output = items(USER, assistant_turn(CALL))[-1]
    assert output["type"] == "function_call_output"
    assert "lost" in output["output"]


def test_reasoning_is_replayed_with_the_item_after_it_to_the_same_model() -> None:
    made = items(USER, assistant_turn(SEALED, CALL), RESULT)
    assert made[1] == ITEM
    assert made[2]["type"] == "function_call"
    alone = items(USER, assistant_turn(TextContent("a"), SEALED), USER)
    for other in (
        alone,
        items(USER, assistant_turn(SEALED, CALL, by="openai/gpt-5.5"), RESULT),
        items(USER, assistant_turn(ReasoningContent("Hm"), CALL), RESULT),
        items(USER, assistant_turn(SEALED, CALL), RESULT, refused=REASONING_REPLAY),
    ):
        assert not any(item["type"] == "reasoning" for item in other)


def test_the_phase_is_replayed_to_the_same_model_only() -> None:
    comment = TextContent("I look.", {"phase": "commentary"})
    assert items(USER, assistant_turn(comment), USER)[1]["phase"] == "commentary"
    assert "phase" not in items(USER, assistant_turn(comment, by="openai/gpt-5.5"), USER)[1]
    assert "phase" not in items(USER, assistant_turn(comment), USER, refused=REASONING_REPLAY)[1]
    assert (
        ResponsesClient.refused_part(
            sent(USER, assistant_turn(comment), USER), "Unknown parameter: input[1].phase"
        )
        == REASONING_REPLAY
    )


def test_unencrypted_reasoning_is_replayed_in_full() -> None:
    shown: list[Json] = [{"type": "reasoning_text", "text": "Hm"}]
    thought = ReasoningContent("Hm", opaque={"id": "rs_1", "summary": [], "content": shown})
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": shown}
    assert items(USER, assistant_turn(thought, CALL), RESULT)[1] == item


def test_parts_of_one_summary_are_replayed_as_one_item() -> None:
    made = items(
        USER, assistant_turn(ReasoningContent("first part"), SEALED, TextContent("a")), USER
    )
    assert [item for item in made if item["type"] == "reasoning"] == [ITEM]


def test_images_of_users_and_tools() -> None:
    picture = MediaContent("image/png", "AAAA", "x.png")
    result = ToolTurn((ToolResultContent("c1", "read", "seen", media=(picture,)),))
    turns = (UserTurn((picture,)), assistant_turn(CALL), result)
    url = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    seen = items(*turns, of=gpt(vision=True))
    assert seen[0]["content"] == [url]
    assert seen[-1]["output"] == [{"type": "input_text", "text": "seen"}, url]
    for blind in (items(*turns), items(*turns, of=gpt(vision=True), refused=IMAGES)):
        assert "x.png" in blind[0]["content"][0]["text"]
        assert "x.png" in blind[-1]["output"]


def test_documents_of_users_and_tools() -> None:
    paper = MediaContent("application/pdf", "AAAA", "x.pdf")
    result = ToolTurn((ToolResultContent("c1", "read", "seen", media=(paper,)),))
    turns = (UserTurn((paper,)), assistant_turn(CALL), result)
    data = "data:application/pdf;base64,AAAA"
    file = {"type": "input_file", "filename": "x.pdf", "file_data": data}
    seen = items(*turns, of=gpt(documents=True))
    assert seen[0]["content"] == [file]
    assert seen[-1]["output"] == [{"type": "input_text", "text": "seen"}, file]
    assert (
        ResponsesClient.refused_part(sent(*turns, of=gpt(documents=True)), "The file is invalid")
        == IMAGES
    )
    assert "x.pdf" in items(*turns, of=gpt(vision=True))[0]["content"][0]["text"]


def test_effort_and_summary() -> None:
    assert sent(effort="high")["reasoning"] == {"effort": "high", "summary": "auto"}
    assert sent()["reasoning"] == {"summary": "auto"}
    assert sent(effort="none")["reasoning"] == {"effort": "none"}
    assert sent(effort="high", refused=SUMMARY)["reasoning"] == {"effort": "high"}
    assert "reasoning" not in sent(refused=SUMMARY)


def test_no_reasoning_is_requested_of_models_without_it() -> None:
    made = sent(of=gpt("gpt-4.1-mini"), temperature=0.2, max_output=8000)
    assert "reasoning" not in made
    assert "include" not in made
    assert made["temperature"] == 0.2
    assert made["max_output_tokens"] == 8000
    assert "temperature" not in sent(temperature=0.2)


def test_the_output_cap_includes_a_reasoning_budget() -> None:
    assert sent(effort="high", max_output=8000)["max_output_tokens"] == 24_000
    small = gpt(output_limit=9000)
    assert sent(of=small, effort="high", max_output=8000)["max_output_tokens"] == 9000
    assert sent(of=gpt("gpt-4o"), max_output=1)["max_output_tokens"] == 16
    assert "max_output_tokens" not in sent()


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
def test_the_refused_part_is_recognized(message: str, gone: str | None) -> None:
    picture = UserTurn((MediaContent("image/png", "AAAA"),))
    turns = (picture, assistant_turn(SEALED, CALL), RESULT)
    made = sent(*turns, of=gpt(vision=True), effort="low", session_id="s")
    assert ResponsesClient.refused_part(made, message) == gone


def test_a_refusal_of_encrypted_reasoning_is_remembered() -> None:
    made = sent(USER)
    assert (
        ResponsesClient.refused_part(made, "Encrypted content is not supported with this model.")
        == "include"
    )
    assert "include" not in sent(USER, refused="include")
