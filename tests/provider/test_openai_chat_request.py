"""What is sent: messages every server takes, parameters only where wanted (R4, R5)."""

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
from agent.provider.protocols.openai_chat_request import build_body, refused
from agent.provider.protocols.refusals import IMAGES
from agent.provider.protocols.wire_json import encode
from agent.provider.providers import KNOWN, OPENAI_QUIRKS, Quirks
from tests.provider.collecting import request

MODEL = ModelInfo(provider="acme", id="m", name="m", api="openai-chat")
SEEING = ModelInfo(provider="acme", id="m", name="m", api="openai-chat", vision=True)
USER = UserTurn((TextContent("hi"),))


def body(*turns: Turn, quirks: Quirks | None = None, model: ModelInfo = MODEL, **more: Any) -> Any:
    return json.loads(encode(build_body(request(model, *turns, **more), quirks or Quirks())))


def messages(*turns: Turn, **more: Any) -> Any:
    return body(*turns, **more)["messages"][1:]


def calls(*ids: str, model: str = "acme/m") -> AssistantTurn:
    return AssistantTurn(tuple(ToolCallContent(i, "read", {"p": i}) for i in ids), model)


def results(*ids: str) -> ToolTurn:
    return ToolTurn(tuple(ToolResultContent(i, "read", f"of {i}") for i in ids))


def test_system_comes_first_in_one_message() -> None:
    sent = body(system=("Head.", " ", "Rest."))
    assert sent["messages"][0] == {"role": "system", "content": "Head.\n\nRest."}
    assert sent["stream"] is True
    assert sent["stream_options"] == {"include_usage": True}


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


def test_m03_call_without_arguments_carries_an_empty_object() -> None:
    turn = AssistantTurn((ToolCallContent("c1", "read", {}),))
    assert messages(USER, turn)[1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_lost_results_are_filled_in_before_the_next_turn() -> None:
    sent = messages(USER, calls("a", "b"), results("b"), USER, calls("c"), USER)
    assert [m["role"] for m in sent] == [
        "user", "assistant", "tool", "tool", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    assert "lost" in sent[2]["content"]
    assert sent[3]["content"] == "of b"
    assert "lost" in sent[6]["content"]


def test_results_without_their_call_are_dropped_and_order_follows_the_calls() -> None:
    sent = messages(USER, results("x"), calls("a", "b"), results("b", "a", "x"))
    assert [m.get("tool_call_id") for m in sent] == [None, None, "a", "b"]


def test_m13_equal_ids_in_one_message_are_told_apart_and_paired_by_position() -> None:
    answers = (
        ToolResultContent("call_0", "read", "first"),
        ToolResultContent("call_0", "read", "second"),
    )
    sent = messages(USER, calls("call_0", "call_0"), ToolTurn(answers))
    ids = [call["id"] for call in sent[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [(m["tool_call_id"], m["content"]) for m in sent[2:]] == [
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
def test_m19_reasoning_goes_back_under_its_own_name(name: str) -> None:
    thought = ReasoningContent("Hm", name, {"reasoning_opaque": "o", "reasoning_details": [1]})
    turn = AssistantTurn((thought, ToolCallContent("c", "read", {})), "acme/m")
    sent = messages(USER, turn, results("c"))[1]
    assert (sent[name], sent["reasoning_opaque"], sent["reasoning_details"]) == ("Hm", "o", [1])


def test_reasoning_of_another_model_stays_away() -> None:
    thought = ReasoningContent("Hm", "reasoning", {"reasoning_details": [1]})
    sent = messages(USER, AssistantTurn((thought, TextContent("a")), "acme/other"))[1]
    assert sent == {"role": "assistant", "content": "a"}


def test_reasoning_without_a_field_is_kept_as_opaque_only() -> None:
    thought = ReasoningContent("", None, {"reasoning_details": [{"data": "x"}]})
    sent = messages(USER, AssistantTurn((TextContent("a"), thought), "acme/m"))[1]
    assert sent["reasoning_details"] == [{"data": "x"}]


def test_thinking_parts_go_back_as_content_parts() -> None:
    thought = ReasoningContent("Hm", "content")
    sent = messages(USER, AssistantTurn((thought, TextContent("a")), "acme/m"))[1]
    assert [part["type"] for part in sent["content"]] == ["thinking", "text"]


def test_opaque_of_a_call_goes_back_with_it() -> None:
    extra = {"google": {"thought_signature": "x"}}
    item = ToolCallContent("c", "read", {}, {"extra_content": extra, "reasoning_details": [1]})
    sent = messages(USER, AssistantTurn((item,), "acme/m"))[1]
    assert sent["tool_calls"][0]["extra_content"] == extra
    assert sent["reasoning_details"] == [1]


def test_pictures_as_data_urls_only_for_models_that_see() -> None:
    turn = UserTurn((TextContent("see"), MediaContent("image/png", "AAAA", "x.png")))
    seen = messages(turn, model=SEEING)[0]["content"]
    assert seen[1]["image_url"]["url"] == "data:image/png;base64,AAAA"
    blind = messages(turn)[0]["content"]
    assert blind.startswith("see\n\n")
    assert "x.png" in blind


def test_documents_as_files_only_for_models_that_read_them() -> None:
    turn = UserTurn((TextContent("see"), MediaContent("application/pdf", "AAAA", "x.pdf")))
    reading = replace(SEEING, documents=True)
    (_, file) = messages(turn, model=reading)[0]["content"]
    data = {"filename": "x.pdf", "file_data": "data:application/pdf;base64,AAAA"}
    assert file == {"type": "file", "file": data}
    assert "x.pdf" in messages(turn, model=SEEING)[0]["content"]
    body = {"messages": messages(turn, model=reading)}
    assert refused(body, "Invalid file data") == IMAGES


def test_pictures_of_tools_follow_in_a_user_message() -> None:
    picture = MediaContent("image/png", "AAAA")
    turn = ToolTurn((ToolResultContent("a", "read", "done", media=(picture,)),))
    sent = messages(USER, calls("a"), turn, model=SEEING)
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "user"]
    assert sent[3]["content"][1]["image_url"]["url"].endswith("AAAA")
    assert "cannot see" in messages(USER, calls("a"), turn)[2]["content"]


def test_empty_output_is_named() -> None:
    turn = ToolTurn((ToolResultContent("a", "read", ""),))
    assert messages(USER, calls("a"), turn)[2]["content"] == "(no output)"


def test_lone_surrogates_and_numbers_that_json_lacks_are_replaced() -> None:
    item = ToolCallContent("c", "read", {"p": "\ud800", "n": [float("nan")]})
    turns = UserTurn((TextContent("a\udc80b🦉"),)), AssistantTurn((item,))
    sent = messages(*turns)
    assert sent[0]["content"] == "a\ufffdb🦉"
    arguments = json.loads(sent[1]["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"p": "\ufffd", "n": [None]}


@pytest.mark.parametrize(
    ("name", "field"),
    [("gpt-5.4", "max_completion_tokens"), ("o3-mini", "max_completion_tokens"),
     ("gpt-6.1-sol", "max_completion_tokens"), ("gpt-4o", "max_tokens")],
)  # fmt: skip
def test_openai_names_the_limit_by_family(name: str, field: str) -> None:
    model = ModelInfo(provider="openai", id=name, name=name, api="openai-chat")
    sent = body(USER, model=model, quirks=OPENAI_QUIRKS, max_output=9)
    assert {k: v for k, v in sent.items() if k.startswith("max_")} == {field: 9}


def test_limit_effort_and_temperature_are_sent_only_when_asked_for() -> None:
    plain = body(USER)
    assert not {"max_tokens", "reasoning_effort", "temperature", "tools"} & set(plain)
    full = body(USER, max_output=9, effort="low", temperature=0.5)
    assert (full["max_tokens"], full["reasoning_effort"], full["temperature"]) == (9, "low", 0.5)


def test_temperature_stays_away_from_models_that_refuse_it() -> None:
    model = ModelInfo(provider="a", id="m", name="m", api="openai-chat", temperature=False)
    assert "temperature" not in body(USER, model=model, temperature=0.5)


def test_cache_key_only_for_openai() -> None:
    assert body(USER, quirks=OPENAI_QUIRKS, session_id="ses_1")["prompt_cache_key"] == "ses_1"
    assert "prompt_cache_key" not in body(USER, session_id="ses_1")


def test_openrouter_wants_effort_and_usage_its_own_way() -> None:
    sent = body(USER, quirks=KNOWN["openrouter"].quirks, effort="high")
    assert sent["reasoning"] == {"effort": "high"}
    assert sent["usage"] == {"include": True}
    assert "reasoning_effort" not in sent


def test_mistral_ids_are_nine_letters_and_digits_and_stable() -> None:
    turns = (USER, calls("call_very-long", "abcdefghi", "call_very-long"))
    quirks = KNOWN["mistral"].quirks
    first, second = (messages(*turns, quirks=quirks) for _ in range(2))
    ids = [call["id"] for call in first[1]["tool_calls"]]
    assert all(len(i) == 9 and i.isalnum() for i in ids)
    assert len(set(ids)) == 3
    assert ids[1] == "abcdefghi"
    assert first == second
    assert "stream_options" not in body(USER, quirks=quirks)


def test_openai_ids_have_at_most_forty_characters() -> None:
    sent = messages(USER, calls("x" * 90), quirks=OPENAI_QUIRKS)
    assert len(sent[1]["tool_calls"][0]["id"]) <= 40
    assert sent[2]["tool_call_id"] == sent[1]["tool_calls"][0]["id"]


def test_tools_have_an_object_schema_and_the_wire_id_is_sent() -> None:
    model = ModelInfo(provider="a", id="m", name="m", api="openai-chat", wire_id="org/m-1")
    sent = body(USER, model=model, tools=(ToolSchema("ls", "List", {}),))
    assert sent["model"] == "org/m-1"
    assert sent["tools"][0]["function"] == {
        "name": "ls",
        "description": "List",
        "parameters": {"type": "object", "properties": {}},
    }
