"""Messages of the protocol, whole and in pieces, good and bad."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.lsp.connection import ProtocolError, encode, read_message
from agent.lsp.records import Location
from agent.lsp.responses import (
    parse_diagnostics,
    parse_hover,
    parse_locations,
    parse_symbols,
    path_of,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


async def read_all(data: bytes, size: int) -> list:
    reader = asyncio.StreamReader()
    for start in range(0, len(data), size):
        reader.feed_data(data[start : start + size])
    reader.feed_eof()
    found = []
    while (message := await read_message(reader)) is not None:
        found.append(message)
    return found


@settings(max_examples=40)
@given(st.lists(st.dictionaries(st.text(), VALUES), max_size=4), st.integers(1, 50))
def test_what_is_written_is_read(messages: list, size: int) -> None:
    data = b"".join(encode(message) for message in messages)
    assert asyncio.run(read_all(data, size)) == messages


async def test_headers_in_any_case_and_others_are_passed_over() -> None:
    data = b"\r\ncontent-TYPE: x\r\ncontent-length:  2\r\n\r\n{}"
    assert await read_all(data, 7) == [{}]


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: many\r\n\r\n{}",
        b"Content-Length: -2\r\n\r\n{}",
        b"Content-Length: 99999999999\r\n\r\n{}",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n{x",
    ],
)
async def test_what_is_no_message_is_told(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        await read_all(data, 100)


@pytest.mark.parametrize("data", [b"", b"Content-Le", b"Content-Length: 9\r\n\r\n{}"])
async def test_an_end_in_the_middle_is_an_end(data: bytes) -> None:
    assert await read_all(data, 100) == []


@given(VALUES)
def test_answers_of_any_shape_break_nothing(value) -> None:
    parse_diagnostics(value)
    parse_locations(value)
    parse_symbols(value, "/a")
    parse_hover(value)


def test_symbols_are_named_whole() -> None:
    start = {"start": {"line": 3, "character": 8}}
    inner = {"name": "run", "kind": 6, "selectionRange": start}
    outer = {"name": "Job", "kind": 5, "selectionRange": start, "children": [inner]}
    found = parse_symbols([outer], "/a.py")
    assert [place.name for place in found] == ["class Job", "method Job.run"]
    assert found[1] == Location("/a.py", 4, 9, "method Job.run")


def test_addresses_become_paths() -> None:
    assert path_of("file:///a%20b/c%23.py") == "/a b/c#.py"
    assert path_of("jdt://x") == "jdt://x"
