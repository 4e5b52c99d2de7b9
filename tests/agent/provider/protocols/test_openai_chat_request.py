"""Chat-completions requests: messages for every server, parameters only on request."""

import json
from dataclasses import replace
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
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.openai_chat import ChatClient
from agent.provider.quirks.target import IMAGES
from tests.support.provider_requests import USER, body
from tests.support.provider_requests import model as model_named

MODEL = model_named("acme/m")
SEEING = model_named("acme/m", vision=True)


def sent(*turns: Turn, model: ModelInfo = MODEL, **fields: Any) -> Any:
    return body(model, *turns, **fields)


def messages(*turns: Turn, **more: Any) -> Any:
    return sent(*turns, **more)["messages"][1:]


def calls(*ids: str, model: str = "acme/m") -> AssistantTurn:
    return AssistantTurn(tuple(ToolCallContent(i, "read", {"p": i}) for i in ids), model)


def results(*ids: str) -> ToolTurn:
    return ToolTurn(tuple(ToolResultContent(i, "read", f"of {i}") for i in ids))


def test_the_system_prompt_is_the_first_message() -> None:
    made = sent(system=("Head.", " ", "Rest."))
    assert made["messages"][0] == {"role": "system", "content": "Head.\n\nRest."}
    assert made["stream"] is True
    assert made["stream_options"] == {"include_usage": True}


def test_assistant_text_calls_and_results() -> None:
    turn = AssistantTurn((TextContent("Look."), ToolCallContent("c1", "read", {"p": "ä"})))
    assert messages(USER, turn, results("c1"))[1:] == [
        {
            "role": "assistant",
            "content": "Look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"p": "ä"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "of c1"},
    ]


def test_call_without_arguments_carries_an_empty_object() -> None:
    turn = AssistantTurn((ToolCallContent("c1", "read", {}),))
    assert messages(USER, turn)[1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_lost_results_are_added_before_the_next_turn() -> None:
    made = messages(USER, calls("a", "b"), results("b"), USER, calls("c"), USER)
    assert [m["role"] for m in made] == [
        "user", "assistant", "tool", "tool", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    assert "lost" in made[2]["content"]
    assert made[3]["content"] == "of b"
    assert "lost" in made[6]["content"]


def test_results_without_their_call_are_dropped_and_order_follows_the_calls() -> None:
    made = messages(USER, results("x"), calls("a", "b"), results("b", "a", "x"))
    assert [m.get("tool_call_id") for m in made] == [None, None, "a", "b"]


def test_equal_ids_in_one_message_become_unique_and_are_paired_by_position() -> None:
    answers = (
        ToolResultContent("call_0", "read", "first"),
        ToolResultContent("call_0", "read", "second"),
    )
    made = messages(USER, calls("call_0", "call_0"), ToolTurn(answers))
    ids = [call["id"] for call in made[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [(m["tool_call_id"], m["content"]) for m in made[2:]] == [
        (ids[0], "first"),
        (ids[1], "second"),
    ]


@pytest.mark.parametrize(
    "content", [(), (TextContent(" \n"),), (ReasoningContent("Hm", "reasoning"),)]
)
def test_no_empty_assistant_message(content: tuple[Any, ...]) -> None:
    roles = [m["role"] for m in messages(USER, AssistantTurn(content, "acme/m"), USER)]
    assert roles == ["user", "user"]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_is_replayed_in_its_own_field(name: str) -> None:
    thought = ReasoningContent("Hm", name, {"reasoning_opaque": "o", "reasoning_details": [1]})
    turn = AssistantTurn((thought, ToolCallContent("c", "read", {})), "acme/m")
    made = messages(USER, turn, results("c"))[1]
    assert (made[name], made["reasoning_opaque"], made["reasoning_details"]) == ("Hm", "o", [1])


def test_reasoning_of_another_model_is_not_sent() -> None:
    thought = ReasoningContent("Hm", "reasoning", {"reasoning_details": [1]})
    made = messages(USER, AssistantTurn((thought, TextContent("a")), "acme/other"))[1]
    assert made == {"role": "assistant", "content": "a"}


def test_reasoning_without_a_field_is_replayed_as_opaque_data_only() -> None:
    thought = ReasoningContent("", None, {"reasoning_details": [{"data": "x"}]})
    made = messages(USER, AssistantTurn((TextContent("a"), thought), "acme/m"))[1]
    assert made["reasoning_details"] == [{"data": "x"}]


def test_thinking_parts_are_replayed_as_content_parts() -> None:
    thought = ReasoningContent("Hm", "content")
    made = messages(USER, AssistantTurn((thought, TextContent("a")), "acme/m"))[1]
    assert [part["type"] for part in made["content"]] == ["thinking", "text"]


def test_opaque_data_of_a_call_is_replayed_with_it() -> None:
    extra = {"google": {"thought_signature": "x"}}
    item = ToolCallContent("c", "read", {}, {"extra_content": extra, "reasoning_details": [1]})
    made = messages(USER, AssistantTurn((item,), "acme/m"))[1]
    assert made["tool_calls"][0]["extra_content"] == extra
    assert made["reasoning_details"] == [1]


def test_images_are_data_urls_for_vision_models_only() -> None:
    turn = UserTurn((TextContent("see"), MediaContent("image/png", "AAAA", "x.png")))
    seen = messages(turn, model=SEEING)[0]["content"]
    assert seen[1]["image_url"]["url"] == "data:image/png;base64,AAAA"
    blind = messages(turn)[0]["content"]
    assert blind.startswith("see\n\n")
    assert "x.png" in blind


def test_documents_are_files_for_models_that_take_them_only() -> None:
    turn = UserTurn((TextContent("see"), MediaContent("application/pdf", "AAAA", "x.pdf")))
    reading = replace(SEEING, documents=True)
    (_, file) = messages(turn, model=reading)[0]["content"]
    data = {"filename": "x.pdf", "file_data": "data:application/pdf;base64,AAAA"}
    assert file == {"type": "file", "file": data}
    assert "x.pdf" in messages(turn, model=SEEING)[0]["content"]
    answered = {"messages": messages(turn, model=reading)}
    assert ChatClient.refused_part(answered, "Invalid file data") == IMAGES


def test_images_of_results_follow_in_a_user_message() -> None:
    picture = MediaContent("image/png", "AAAA")
    turn = ToolTurn((ToolResultContent("a", "read", "done", media=(picture,)),))
    made = messages(USER, calls("a"), turn, model=SEEING)
    assert [m["role"] for m in made] == ["user", "assistant", "tool", "user"]
    assert made[3]["content"][1]["image_url"]["url"].endswith("AAAA")
    assert "cannot see" in messages(USER, calls("a"), turn)[2]["content"]


def test_an_empty_output_gets_a_text() -> None:
    turn = ToolTurn((ToolResultContent("a", "read", ""),))
    assert messages(USER, calls("a"), turn)[2]["content"] == "(no output)"


def test_lone_surrogates_and_numbers_that_json_lacks_are_replaced() -> None:
    item = ToolCallContent("c", "read", {"p": "\ud800", "n": [float("nan")]})
    turns = UserTurn((TextContent("a\udc80b🦉"),)), AssistantTurn((item,))
    made = messages(*turns)
    assert made[0]["content"] == "a\ufffdb🦉"
    arguments = json.loads(made[1]["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"p": "\ufffd", "n": [None]}


def test_limit_effort_and_temperature_are_sent_only_on_request() -> None:
    plain = sent(USER)
    assert not {"max_tokens", "reasoning_effort", "temperature", "tools"} & set(plain)
    full = sent(USER, max_output=9, effort="low", temperature=0.5)
    assert (full["reasoning_effort"], full["temperature"]) == ("low", 0.5)
    assert full["max_tokens"] == 4009, "with room for the reasoning"


def test_no_temperature_for_models_that_refuse_it() -> None:
    model = model_named("a/m", temperature=False)
    assert "temperature" not in sent(USER, model=model, temperature=0.5)


def test_tools_have_an_object_schema_and_the_wire_id_is_sent() -> None:
    model = model_named("a/m", wire_id="org/m-1")
    made = sent(USER, model=model, tools=(ToolSchema("ls", "List", {}),))
    assert made["model"] == "org/m-1"
    assert made["tools"][0]["function"] == {
        "name": "ls",
        "description": "List",
        "parameters": {"type": "object", "properties": {}},
    }
