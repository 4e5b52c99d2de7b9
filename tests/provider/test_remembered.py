"""What comes again with each request of a session is not made again."""

import gc
from dataclasses import dataclass, replace

import pytest

from agent.provider.client import (
    AssistantTurn,
    ModelInfo,
    ModelRequest,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.openai_chat_messages import messages_of
from agent.provider.quirks.same import Remembered
from agent.provider.quirks.table import prepared


@dataclass(frozen=True)
class Record:
    text: str


def test_the_same_object_is_made_once_and_an_equal_one_again() -> None:
    made: list[Record] = []

    def make(record: Record) -> str:
        made.append(record)
        return record.text.upper()

    remembered = Remembered(make)
    first, equal = Record("a"), Record("a")
    assert [remembered(first), remembered(first), remembered(equal)] == ["A", "A", "A"]
    assert len(made) == 2


def test_q1_what_was_made_is_forgotten_with_the_record() -> None:
    remembered = Remembered(lambda record: record.text.upper())
    records = [Record(str(number)) for number in range(100)]
    assert [remembered(record) for record in records] == [record.text for record in records]
    assert len(remembered) == 100
    del records[10:]
    gc.collect()
    assert len(remembered) == 10


def test_q1_a_step_converts_only_the_answers_that_are_new() -> None:
    model = ModelInfo(provider="p", id="m", name="M", api="openai-chat")
    turns: list[Turn] = [UserTurn((TextContent("go"),))]
    for number in range(50):
        call = ToolCallContent(f"c{number}", "read", {"path": f"{number}.txt"})
        turns += [
            AssistantTurn((call,), "p/m"),
            ToolTurn((ToolResultContent(call.call_id, "read", "text"),)),
        ]
    request = ModelRequest(model=model, system=("s",), turns=tuple(turns), tools=())
    first = messages_of(prepared(replace(request, turns=request.turns[:-2])))
    again = messages_of(prepared(request))
    assert again[: len(first)] == first
    calls = [m["tool_calls"] for m in first if isinstance(m, dict) and "tool_calls" in m]
    later = [m["tool_calls"] for m in again if isinstance(m, dict) and "tool_calls" in m]
    assert len(later) == len(calls) + 1 == 50
    assert all(one is other for one, other in zip(calls, later, strict=False))
    for message in again:
        assert isinstance(message, dict)
        message["mark"] = True
    third = messages_of(prepared(request))
    assert not any("mark" in m for m in third if isinstance(m, dict)), (
        "a request may add to its own"
    )


@pytest.mark.parametrize("api", ["openai-chat", "anthropic-messages", "gemini"])
def test_tools_are_prepared_once_for_a_session(api: str) -> None:
    model = ModelInfo(provider="p", id="gemini-x", name="M", api=api)
    schema = {"type": "object", "properties": {"a": {"type": "array"}}, "$schema": "x"}
    request = ModelRequest(
        model=model, system=("s",), turns=(), tools=(ToolSchema("a.b", "d", schema),)
    )
    tools, again = prepared(request).tools, prepared(request).tools
    assert tools == again
    assert tools[0].parameters is again[0].parameters or tools[0].name != "a.b"
    assert schema == {"type": "object", "properties": {"a": {"type": "array"}}, "$schema": "x"}
