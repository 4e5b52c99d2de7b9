"""Requests to Anthropic: messages, thinking, cache marks, refused parts."""

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
from agent.provider.protocols.anthropic import AnthropicClient
from agent.provider.quirks.target import IMAGES, REASONING_REPLAY
from tests.support import strict_anthropic
from tests.support.provider_requests import RESULT, TOOL, USER, assistant, body, model

SIGNED = ReasoningContent("Hm", opaque={"signature": "s"})
CALL = ToolCallContent("c1", "read", {"p": "ä"})


def claude(name: str = "claude-sonnet-4-5", **facts: Any) -> ModelInfo:
    return model(f"anthropic/{name}", **facts)


def sent(*turns: Turn, of: ModelInfo | None = None, refused: str = "", **fields: Any) -> Any:
    return body(of or claude(), *turns, refused=refused, **{"tools": (TOOL,), **fields})


def messages(*turns: Turn, **more: Any) -> Any:
    """Return the messages without their cache marks."""
    made = sent(*turns, **more)["messages"]
    for message in made:
        for block in message["content"]:
            block.pop("cache_control", None)
    return made


def assistant_turn(*content: Any, by: str = "anthropic/claude-sonnet-4-5") -> AssistantTurn:
    return assistant(*content, by=by)


def test_the_system_prompt_is_blocks_and_max_tokens_is_always_set() -> None:
    made = sent(system=("Head.", " ", "Rest."))
    assert [block["text"] for block in made["system"]] == ["Head.", "Rest."]
    assert made["max_tokens"] == 8192
    assert made["stream"] is True
    assert sent(system=()).get("system") is None
    assert sent(max_output=500)["max_tokens"] == 500
    assert sent(of=claude(output_limit=4096), max_output=8000)["max_tokens"] == 4096


def test_cache_marks_are_on_the_system_prompt_and_the_last_two_user_messages() -> None:
    turns = (
        USER,
        assistant_turn(TextContent("a"), CALL),
        RESULT,
        assistant_turn(TextContent("b")),
        USER,
    )
    made = sent(*turns, system=("Head.", "Rest."))
    assert ["cache_control" in block for block in made["system"]] == [True, True]
    marked = ["cache_control" in message["content"][-1] for message in made["messages"]]
    assert marked == [False, False, True, False, True]
    assert json.dumps(made).count("cache_control") == 4


def test_a_request_starts_with_the_previous_one_up_to_its_last_cache_mark() -> None:
    turns = (USER, assistant_turn(TextContent("a"), CALL), RESULT)
    before = sent(*turns)["messages"]
    after = sent(*turns, assistant_turn(TextContent("b")), USER)["messages"]
    assert after[2] == before[2]


def test_results_come_first_in_the_next_user_message() -> None:
    made = messages(USER, assistant_turn(TextContent("Look. "), CALL), RESULT, USER)
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


def test_a_lost_result_is_added_and_an_unrelated_one_dropped() -> None:
    other = ToolTurn((ToolResultContent("else", "read", "x"),))
    made = messages(USER, assistant_turn(CALL), other)
    assert [block["tool_use_id"] for block in made[2]["content"]] == ["c1"]
    assert made[2]["content"][0]["is_error"] is True


def test_thinking_comes_first_and_is_replayed_only_signed_to_the_same_model() -> None:
    redacted = ReasoningContent("", opaque={"redacted": "xyz"})
    turn = (TextContent("a"), SIGNED, redacted, ReasoningContent("unsigned"))
    assert messages(USER, assistant_turn(*turn), USER)[1]["content"] == [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "a"},
    ]
    for other in (
        messages(USER, assistant_turn(*turn, by="openai/gpt-5"), USER),
        messages(USER, assistant_turn(*turn), USER, refused=REASONING_REPLAY),
    ):
        assert other[1]["content"] == [{"type": "text", "text": "a"}]


def test_hidden_thinking_is_replayed_by_its_signature() -> None:
    hidden = ReasoningContent("", opaque={"signature": "s"})
    block = messages(USER, assistant_turn(hidden, TextContent("a")), USER)[1]["content"][0]
    assert block == {"type": "thinking", "thinking": "", "signature": "s"}


def test_images_are_sent_to_vision_models_and_named_to_others() -> None:
    picture = MediaContent("image/png", "AAAA", "x.png")
    result = ToolTurn((ToolResultContent("c1", "read", "", media=(picture,)),))
    turns = (UserTurn((picture,)), assistant_turn(CALL), result)
    seen = messages(*turns, of=claude(vision=True))
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert seen[0]["content"] == [{"type": "image", "source": source}]
    assert seen[2]["content"][0]["content"][1] == {"type": "image", "source": source}
    for blind in (messages(*turns), messages(*turns, of=claude(vision=True), refused=IMAGES)):
        assert "x.png" in blind[0]["content"][0]["text"]
        assert "x.png" in blind[2]["content"][0]["content"]


def test_documents_are_sent_to_models_that_take_them() -> None:
    paper = MediaContent("application/pdf", "AAAA", "x.pdf")
    turns = (
        UserTurn((paper,)),
        assistant_turn(CALL),
        ToolTurn((ToolResultContent("c1", "read", "", media=(paper,)),)),
    )
    source = {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}
    seen = messages(*turns, of=claude(documents=True))
    assert seen[0]["content"] == [{"type": "document", "source": source}]
    assert seen[2]["content"][0]["content"][1] == {"type": "document", "source": source}
    made = sent(*turns, of=claude(documents=True))
    assert AnthropicClient.refused_part(made, "The PDF specified was not valid.") == IMAGES
    for blind in (
        messages(*turns, of=claude(vision=True)),
        messages(*turns, of=claude(documents=True), refused=IMAGES),
    ):
        assert "x.pdf" in blind[0]["content"][0]["text"]


def test_thinking_budgets_leave_tokens_for_the_text() -> None:
    made = sent(effort="low", max_output=8000, temperature=0.5)
    assert made["thinking"] == {"type": "enabled", "budget_tokens": 4000}
    assert made["max_tokens"] == 12_000
    assert "temperature" not in made
    tight = sent(effort="high", max_output=8000, of=claude(output_limit=8192))
    assert tight["max_tokens"] == 8192
    assert tight["thinking"]["budget_tokens"] == 8192 - 1024
    assert "thinking" not in sent(effort="high", of=claude(output_limit=1500))
    for none in (None, "none"):
        assert "thinking" not in sent(effort=none)
    assert sent(temperature=0.5)["temperature"] == 0.5


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
def test_newer_models_take_an_effort_instead_of_a_budget(name: str, adaptive: bool) -> None:
    made = sent(of=claude(name), effort="high")
    if adaptive:
        assert made["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert made["output_config"] == {"effort": "high"}
    else:
        assert made["thinking"]["type"] == "enabled"
        assert "output_config" not in made


def test_models_since_4_7_are_sent_no_temperature() -> None:
    assert "temperature" in sent(of=claude("claude-opus-4-6"), temperature=0.2)
    assert "temperature" not in sent(of=claude("claude-opus-4-7"), temperature=0.2)
    assert sent(temperature=1.5)["temperature"] == 1.0


def test_no_budget_after_calls_without_thinking() -> None:
    """The API refuses thinking then: the response is of another model, or was interrupted."""
    for turn in (assistant_turn(CALL), assistant_turn(SIGNED, CALL, by="openai/gpt-5")):
        assert "thinking" not in sent(USER, turn, RESULT, effort="low")
        assert "thinking" in sent(
            USER, turn, RESULT, assistant_turn(TextContent("a")), USER, effort="low"
        )
    assert "thinking" in sent(USER, assistant_turn(SIGNED, CALL), RESULT, effort="low")
    newer = assistant_turn(CALL, by="anthropic/claude-opus-4-6")
    assert "thinking" in sent(USER, newer, RESULT, effort="low", of=claude("claude-opus-4-6"))


def test_a_history_with_calls_declares_its_tools_even_when_none_are_offered() -> None:
    made = sent(USER, assistant_turn(CALL), RESULT, tools=())
    assert [tool["name"] for tool in made["tools"]] == ["read"]
    assert made["tool_choice"] == {"type": "none"}
    assert strict_anthropic.violations(made, {"anthropic-version": "x"}) == []
    assert "tools" not in sent(USER, tools=())


def test_tool_names_are_sanitized_and_unique() -> None:
    tools = tuple(ToolSchema(name, "", {}) for name in ("a.b", "a_b", "x" * 70))
    turn = assistant_turn(ToolCallContent("c1", "a_b", {}), ToolCallContent("c2", "made up", {}))
    made = sent(USER, turn, tools=tools)
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
def test_the_refused_part_is_recognized(message: str, gone: str | None) -> None:
    seeing = claude("claude-opus-4-6", vision=True)
    picture = UserTurn((MediaContent("image/png", "AAAA"),))
    turn = assistant_turn(SIGNED, TextContent("a"), by=seeing.full_name)
    made = sent(picture, turn, USER, of=seeing, effort="xhigh")
    assert AnthropicClient.refused_part(made, message) == gone
    if gone in ("thinking", "output_config"):
        assert gone not in sent(of=seeing, effort="xhigh", refused=gone)
