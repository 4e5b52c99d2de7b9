"""Parts of a session that each request reuses are converted only once."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, replace

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
from agent.provider.protocols.cohere import CohereClient
from agent.provider.protocols.messages import ContentBlocks, alternating_messages
from agent.provider.protocols.ollama import OllamaClient
from agent.provider.protocols.openai_chat import chat_messages
from agent.provider.protocols.responses import input_items
from agent.provider.quirks.structural_sharing import Content, IdentityCache
from agent.provider.quirks.table import prepare_request
from agent.provider.transport.wire_json import get_objects
from agent.records.json import Json, JsonObject


@dataclass(frozen=True)
class Record:
    text: str


def test_the_cache_is_by_identity_and_not_by_equality() -> None:
    made: list[Record] = []

    def make(record: Record) -> str:
        made.append(record)
        return record.text.upper()

    remembered = IdentityCache(make)
    first, equal = Record("a"), Record("a")
    assert [remembered(first), remembered(first), remembered(equal)] == ["A", "A", "A"]
    assert len(made) == 2


def test_a_cached_result_is_dropped_with_its_argument() -> None:
    remembered = IdentityCache(lambda record: record.text.upper())
    records = [Record(str(number)) for number in range(100)]
    assert [remembered(record) for record in records] == [record.text for record in records]
    assert len(remembered) == 100
    del records[10:]
    gc.collect()
    assert len(remembered) == 10


def test_a_step_converts_only_new_assistant_turns() -> None:
    model = ModelInfo(provider="p", id="m", name="M", api="openai-chat")
    turns: list[Turn] = [UserTurn((TextContent("go"),))]
    for number in range(50):
        call = ToolCallContent(f"c{number}", "read", {"path": f"{number}.txt"})
        turns += [
            AssistantTurn((call,), "p/m"),
            ToolTurn((ToolResultContent(call.call_id, "read", "text"),)),
        ]
    request = ModelRequest(model=model, system=("s",), turns=tuple(turns), tools=())
    first = chat_messages(prepare_request(replace(request, turns=request.turns[:-2])))
    again = chat_messages(prepare_request(request))
    assert again[: len(first)] == first
    calls = [m["tool_calls"] for m in first if isinstance(m, dict) and "tool_calls" in m]
    later = [m["tool_calls"] for m in again if isinstance(m, dict) and "tool_calls" in m]
    assert len(later) == len(calls) + 1 == 50
    assert all(one is other for one, other in zip(calls, later, strict=False))
    for message in again:
        assert isinstance(message, dict)
        message["mark"] = True
    third = chat_messages(prepare_request(request))
    assert not any("mark" in m for m in third if isinstance(m, dict)), (
        "a request can add fields to its copies"
    )


def text_block(content: Content) -> JsonObject | None:
    return {"text": content.text} if isinstance(content, TextContent) else None


def test_alternating_messages_convert_an_assistant_turn_once() -> None:
    converted: list[Content] = []

    def convert(content: Content) -> JsonObject | None:
        converted.append(content)
        return text_block(content)

    blocks = ContentBlocks(
        lambda said: {"said": said.mime if isinstance(said, MediaContent) else ""},
        convert,
        lambda result: {"result": result.call_id},
    )
    turns: list[Turn] = [
        UserTurn((TextContent("go"),)),
        AssistantTurn((TextContent("one"), ReasoningContent("left out")), "p/m"),
    ]
    first = alternating_messages(turns, blocks)
    turns += [UserTurn((TextContent("on"),)), AssistantTurn((TextContent("two"),), "p/m")]
    second = alternating_messages(turns, blocks)
    assert second[:2] == first
    assert [getattr(content, "text", "") for content in converted] == ["one", "left out", "two"]
    second[1]["content"][0]["mark"] = True
    assert alternating_messages(turns, blocks)[:2] == first, (
        "a request can add fields to its copies"
    )


CALLS: dict[str, Callable[[ModelRequest], list[Json]]] = {
    "responses": lambda request: [
        item["arguments"] for item in input_items(request.turns) if "arguments" in item
    ],
    "cohere": lambda request: [
        message["tool_calls"]
        for message in get_objects(CohereClient.build_body(request), "messages")
        if "tool_calls" in message
    ],
    "ollama": lambda request: [
        message["tool_calls"]
        for message in get_objects(OllamaClient.build_body(request), "messages")
        if "tool_calls" in message
    ],
}


@pytest.mark.parametrize("protocol", CALLS)
def test_every_protocol_converts_an_assistant_turn_once(protocol: str) -> None:
    model = ModelInfo(provider="p", id="m", name="M", api="openai-chat")
    call = ToolCallContent("c1", "read", {"path": "a.txt"})
    turns = (UserTurn((TextContent("go"),)), AssistantTurn((call,), "p/m"))
    request = ModelRequest(model=model, system=(), turns=turns, tools=())
    (first,), (again,) = CALLS[protocol](request), CALLS[protocol](request)
    assert first is again


@pytest.mark.parametrize("api", ["openai-chat", "anthropic-messages", "gemini"])
def test_tools_are_prepared_once_for_a_session(api: str) -> None:
    model = ModelInfo(provider="p", id="gemini-x", name="M", api=api)
    schema = {"type": "object", "properties": {"a": {"type": "array"}}, "$schema": "x"}
    request = ModelRequest(
        model=model, system=("s",), turns=(), tools=(ToolSchema("a.b", "d", schema),)
    )
    tools, again = prepare_request(request).tools, prepare_request(request).tools
    assert tools == again
    assert tools[0].parameters is again[0].parameters or tools[0].name != "a.b"
    assert schema == {"type": "object", "properties": {"a": {"type": "array"}}, "$schema": "x"}
