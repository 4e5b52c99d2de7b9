"""What comes again with each request of a session is not made again."""

from dataclasses import dataclass

import pytest

from agent.provider.client import ModelInfo, ModelRequest, ToolSchema
from agent.provider.quirks import same
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


def test_the_oldest_is_forgotten_first() -> None:
    made: list[int] = []

    def make(record: Record) -> int:
        made.append(id(record))
        return len(made)

    remembered = Remembered(make)
    records = [Record(str(number)) for number in range(same.MOST_HELD + 1)]
    for record in records:
        remembered(record)
    remembered(records[-1])
    assert len(made) == len(records)
    remembered(records[0])
    assert len(made) == len(records) + 1


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
