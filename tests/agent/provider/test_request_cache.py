"""Parts of a session that each request reuses are converted only once."""

import gc
from dataclasses import dataclass

import pytest

from agent.provider.client import (
    ModelInfo,
    ModelRequest,
    ToolSchema,
)
from agent.provider.quirks.structural_sharing import IdentityCache
from agent.provider.quirks.table import prepare_request


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
