"""Quirks of the order of turns, and of the results that follow calls."""

import pytest

from agent.provider.client import (
    Api,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    UserTurn,
)
from agent.provider.quirks.target import ALTERNATING_ROLES
from agent.provider.quirks.turn_order import ACKNOWLEDGEMENT, CONTINUE_TEXT, LOST_RESULT, NO_OUTPUT
from tests.support.provider_requests import (
    CALL,
    RESULT,
    USER,
    WIRE_APIS,
    assistant,
    body,
    chat,
    model,
    text,
)

EMPTY = UserTurn((TextContent(" \n"),))
CLAUDE = "anthropic/claude-sonnet-4-5"


@pytest.mark.parametrize("api", WIRE_APIS)
def test_drop_empty_text(api: Api) -> None:
    blank = assistant(text(" "), text("word"))
    made = body(model("acme/m", api), EMPTY, USER, blank, EMPTY, USER, system=("", "Head."))
    assert made == body(
        model("acme/m", api), USER, assistant(text("word")), USER, system=("Head.",)
    )


def test_drop_reasoning_only_turns() -> None:
    alone = assistant(ReasoningContent("Hm", "reasoning", {"signature": "s"}))
    for api in WIRE_APIS:
        of = model("acme/m", api)
        assert body(of, USER, alone, USER) == body(of, USER, USER)


def test_split_text_after_calls() -> None:
    second = ToolCallContent("c2", "read", {})
    results = ToolTurn((*RESULT.content, ToolResultContent("c2", "read", "second")))
    mixed = assistant(
        text("a"), CALL, text("b"), second, ReasoningContent("Hm", "reasoning"), text("c")
    )
    messages = chat("acme/m", USER, mixed, results, USER)
    assert [(m["role"], m["content"]) for m in messages[1:]] == [
        ("assistant", "a"), ("tool", "text"),
        ("assistant", "b"), ("tool", "second"),
        ("assistant", "c"), ("user", "hi"),
    ]  # fmt: skip
    whole = assistant(text("a"), CALL, second)
    roles = [m["role"] for m in chat("acme/m", USER, whole, results)]
    assert roles == ["user", "assistant", "tool", "tool"]


def test_pair_calls_with_results() -> None:
    calls = assistant(CALL, ToolCallContent("c2", "read", {}))
    stray = ToolResultContent("x", "read", "stray")
    results = ToolTurn((stray, ToolResultContent("c2", "read", "second")))
    messages = chat("acme/m", USER, calls, results, USER, assistant(CALL), USER)
    assert [m["content"] for m in messages if m["role"] == "tool"] == [
        LOST_RESULT, "second", LOST_RESULT,
    ]  # fmt: skip


def test_fill_empty_results() -> None:
    empty = ToolTurn((ToolResultContent("c1", "read", " "),))
    assert chat("acme/m", USER, assistant(CALL), empty)[-1]["content"] == NO_OUTPUT


def test_start_with_user() -> None:
    assert chat("acme/m", assistant(text("a")), USER)[0] == {
        "role": "user",
        "content": CONTINUE_TEXT,
    }
    assert chat("acme/m", USER, assistant(text("a")), USER)[0]["content"] == "hi"


def test_end_with_user() -> None:
    for turns in ((USER, assistant(text("a"))), (EMPTY,)):
        assert chat("acme/m", *turns)[-1] == {"role": "user", "content": CONTINUE_TEXT}
    assert chat("acme/m", USER, assistant(CALL), RESULT)[-1]["role"] == "tool"


@pytest.mark.parametrize("name", [CLAUDE, "google/gemini-3-pro", "llama.cpp/m", "mistral/m"])
def test_merge_same_roles(name: str) -> None:
    thought = ReasoningContent("Hm", "reasoning", {"signature": "s"})
    turns = (USER, USER, assistant(text("a")), assistant(thought, text("b"), CALL), RESULT)
    made = body(name, *turns)
    roles = [m["role"] for m in made.get("messages") or made["contents"] if m["role"] != "system"]
    assert roles in (["user", "assistant", "user"], ["user", "assistant", "tool"],
                     ["user", "model", "user"])  # fmt: skip
    assert "Hm" not in str(made), "thoughts can only lead"
    plain = [m["role"] for m in chat("acme/m", *turns)]
    assert plain == ["user", "user", "assistant", "assistant", "tool"]
    repaired = [m["role"] for m in chat("acme/m", *turns, refused=ALTERNATING_ROLES)]
    assert repaired == ["user", "assistant", "tool"]


def test_insert_reply_before_user() -> None:
    turns = (USER, assistant(CALL), RESULT, USER)
    assert [m["role"] for m in chat("mistral/m", *turns)][-3:] == ["tool", "assistant", "user"]
    assert chat("mistral/m", *turns)[-2]["content"] == ACKNOWLEDGEMENT
    assert [m["role"] for m in chat("acme/m", *turns)][-2:] == ["tool", "user"]
