"""What is made to Anthropic: messages, thinking, cache marks, repairs (R4, R5, C10)."""

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
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.anthropic import refused
from agent.provider.quirks.refused_parts import IMAGES, REASONING_REPLAY
from tests.agent.provider.collecting import TOOL, request, sent
from tests.support import strict_anthropic

USER = UserTurn((TextContent("hi"),))
SIGNED = ReasoningContent("Hm", opaque={"signature": "s"})
CALL = ToolCallContent("c1", "read", {"p": "ä"})
RESULT = ToolTurn((ToolResultContent("c1", "read", "text"),))


def model(name: str = "claude-sonnet-4-5", **more: Any) -> ModelInfo:
    return ModelInfo(provider="anthropic", id=name, name=name, api="anthropic-messages", **more)


def body(*turns: Turn, of: ModelInfo | None = None, without: str = "", **more: Any) -> Any:
    asked = request(of or model(), *turns, **{"tools": (TOOL,), **more})
    return sent(asked, *([without] if without else []))


def messages(*turns: Turn, **more: Any) -> Any:
    """The messages without their marks."""
    made = body(*turns, **more)["messages"]
    for message in made:
        for block in message["content"]:
            block.pop("cache_control", None)
    return made


def said(*content: Any, by: str = "anthropic/claude-sonnet-4-5") -> AssistantTurn:
    return AssistantTurn(content, by)


def test_system_is_blocks_and_max_tokens_is_always_set() -> None:
    made = body(system=("Head.", " ", "Rest."))
    assert [block["text"] for block in made["system"]] == ["Head.", "Rest."]
    assert made["max_tokens"] == 8192
    assert made["stream"] is True
    assert body(system=()).get("system") is None
    assert body(max_output=500)["max_tokens"] == 500
    assert body(of=model(output_limit=4096), max_output=8000)["max_tokens"] == 4096


def test_c10_marks_are_head_and_rest_and_the_last_two_that_end_a_request() -> None:
    turns = (USER, said(TextContent("a"), CALL), RESULT, said(TextContent("b")), USER)
    made = body(*turns, system=("Head.", "Rest."))
    assert ["cache_control" in block for block in made["system"]] == [True, True]
    marked = ["cache_control" in message["content"][-1] for message in made["messages"]]
    assert marked == [False, False, True, False, True]
    assert json.dumps(made).count("cache_control") == 4


def test_c9_a_request_begins_with_the_one_before_up_to_its_last_mark() -> None:
    turns = (USER, said(TextContent("a"), CALL), RESULT)
    before = body(*turns)["messages"]
    after = body(*turns, said(TextContent("b")), USER)["messages"]
    assert after[2] == before[2]


def test_answers_of_calls_come_first_in_the_next_message_with_what_the_user_says() -> None:
    made = messages(USER, said(TextContent("Look. "), CALL), RESULT, USER)
    assert made[1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"p": "ä"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "text"},
                {"type": "text", "text": "hi"},
            ],
        },
    ]


def test_lost_result_is_filled_in_and_a_foreign_one_left_out() -> None:
    other = ToolTurn((ToolResultContent("else", "read", "x"),))
    made = messages(USER, said(CALL), other)
    assert [block["tool_use_id"] for block in made[2]["content"]] == ["c1"]
    assert made[2]["content"][0]["is_error"] is True


def test_thinking_leads_and_goes_back_only_signed_and_to_its_maker() -> None:
    redacted = ReasoningContent("", opaque={"redacted": "xyz"})
    turn = (TextContent("a"), SIGNED, redacted, ReasoningContent("unsigned"))
    assert messages(USER, said(*turn), USER)[1]["content"] == [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "a"},
    ]
    for other in (
        messages(USER, said(*turn, by="openai/gpt-5"), USER),
        messages(USER, said(*turn), USER, without=REASONING_REPLAY),
    ):
        assert other[1]["content"] == [{"type": "text", "text": "a"}]


def test_thinking_that_was_not_shown_goes_back_by_its_signature() -> None:
    hidden = ReasoningContent("", opaque={"signature": "s"})
    block = messages(USER, said(hidden, TextContent("a")), USER)[1]["content"][0]
    assert block == {"type": "thinking", "thinking": "", "signature": "s"}


def test_pictures_are_sent_to_models_that_see_and_named_to_others() -> None:
    picture = MediaContent("image/png", "AAAA", "x.png")
    result = ToolTurn((ToolResultContent("c1", "read", "", media=(picture,)),))
    turns = (UserTurn((picture,)), said(CALL), result)
    seen = messages(*turns, of=model(vision=True))
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert seen[0]["content"] == [{"type": "image", "source": source}]
    assert seen[2]["content"][0]["content"][1] == {"type": "image", "source": source}
    for blind in (messages(*turns), messages(*turns, of=model(vision=True), without=IMAGES)):
        assert "x.png" in blind[0]["content"][0]["text"]
        assert "x.png" in blind[2]["content"][0]["content"]


def test_documents_are_sent_to_models_that_read_them() -> None:
    paper = MediaContent("application/pdf", "AAAA", "x.pdf")
    turns = (
        UserTurn((paper,)),
        said(CALL),
        ToolTurn((ToolResultContent("c1", "read", "", media=(paper,)),)),
    )
    source = {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}
    seen = messages(*turns, of=model(documents=True))
    assert seen[0]["content"] == [{"type": "document", "source": source}]
    assert seen[2]["content"][0]["content"][1] == {"type": "document", "source": source}
    made = body(*turns, of=model(documents=True))
    assert refused(made, "The PDF specified was not valid.") == IMAGES
    for blind in (
        messages(*turns, of=model(vision=True)),
        messages(*turns, of=model(documents=True), without=IMAGES),
    ):
        assert "x.pdf" in blind[0]["content"][0]["text"]


def test_r5_budgets_of_older_models_leave_room_for_the_answer() -> None:
    made = body(effort="low", max_output=8000, temperature=0.5)
    assert made["thinking"] == {"type": "enabled", "budget_tokens": 4000}
    assert made["max_tokens"] == 12_000
    assert "temperature" not in made
    tight = body(effort="high", max_output=8000, of=model(output_limit=8192))
    assert tight["max_tokens"] == 8192
    assert tight["thinking"]["budget_tokens"] == 8192 - 1024
    assert "thinking" not in body(effort="high", of=model(output_limit=1500))
    for none in (None, "none"):
        assert "thinking" not in body(effort=none)
    assert body(temperature=0.5)["temperature"] == 0.5


@pytest.mark.parametrize(
    ("name", "adaptive"),
    [
        ("claude-opus-4-6", True), ("claude-sonnet-5-5", True), ("claude-mythos-preview", True),
        ("claude-fable-5", True), ("claude-opus-4-10", True),
        ("claude-3-7-sonnet-20250219", False), ("claude-sonnet-4-20250514", False),
        ("claude-opus-4-5-20251101", False), ("claude-haiku-4-5@20251001", False),
        ("minimax-m2", False),
    ],
)  # fmt: skip
def test_r5_newer_models_think_by_effort(name: str, adaptive: bool) -> None:
    made = body(of=model(name), effort="high")
    if adaptive:
        assert made["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert made["output_config"] == {"effort": "high"}
    else:
        assert made["thinking"]["type"] == "enabled"
        assert "output_config" not in made


def test_models_since_4_7_are_sent_no_temperature() -> None:
    assert "temperature" in body(of=model("claude-opus-4-6"), temperature=0.2)
    assert "temperature" not in body(of=model("claude-opus-4-7"), temperature=0.2)
    assert body(temperature=1.5)["temperature"] == 1.0


def test_budget_is_off_while_calls_are_answered_that_were_not_thought_out() -> None:
    """The API refuses thinking then: the answer comes from elsewhere, or was cut off."""
    for turn in (said(CALL), said(SIGNED, CALL, by="openai/gpt-5")):
        assert "thinking" not in body(USER, turn, RESULT, effort="low")
        assert "thinking" in body(USER, turn, RESULT, said(TextContent("a")), USER, effort="low")
    assert "thinking" in body(USER, said(SIGNED, CALL), RESULT, effort="low")
    newer = said(CALL, by="anthropic/claude-opus-4-6")
    assert "thinking" in body(USER, newer, RESULT, effort="low", of=model("claude-opus-4-6"))


def test_history_with_calls_is_sent_with_tools_even_where_none_may_be_called() -> None:
    made = body(USER, said(CALL), RESULT, tools=())
    assert [tool["name"] for tool in made["tools"]] == ["read"]
    assert made["tool_choice"] == {"type": "none"}
    assert strict_anthropic.violations(made, {"anthropic-version": "x"}) == []
    assert "tools" not in body(USER, tools=())


def test_names_of_tools_fit_the_alphabet_and_differ() -> None:
    tools = tuple(ToolSchema(name, "", {}) for name in ("a.b", "a_b", "x" * 70))
    turn = said(ToolCallContent("c1", "a_b", {}), ToolCallContent("c2", "made up", {}))
    made = body(USER, turn, tools=tools)
    names = [tool["name"] for tool in made["tools"]]
    assert names == ["a_b", "a_b_2", "x" * 64]
    assert [block["name"] for block in made["messages"][1]["content"]] == ["a_b_2", "made_up"]


@pytest.mark.parametrize(
    ("message", "gone"),
    [
        ("messages.1.content.0: Invalid `signature` in `thinking` block", REASONING_REPLAY),
        ("thinking blocks in the latest message cannot be modified", REASONING_REPLAY),
        ("This model does not support effort level 'xhigh'.", "output_config"),
        ("adaptive thinking is not supported on this model", "thinking"),
        ("Could not process image", IMAGES),
        ("max_tokens: 9 > 8", None),
        ("tools.0.custom.input_schema: JSON schema is invalid.", None),
    ],
)
def test_what_a_refusal_objects_to(message: str, gone: str | None) -> None:
    seeing = model("claude-opus-4-6", vision=True)
    picture = UserTurn((MediaContent("image/png", "AAAA"),))
    turn = said(SIGNED, TextContent("a"), by=seeing.full_name)
    made = body(picture, turn, USER, of=seeing, effort="xhigh")
    assert refused(made, message) == gone
    if gone in ("thinking", "output_config"):
        assert gone not in body(of=seeing, effort="xhigh", without=gone)
