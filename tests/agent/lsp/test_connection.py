"""Messages of the protocol: complete and in pieces, valid and invalid."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.lsp.client import (
    parse_diagnostics,
    parse_hover,
    parse_locations,
    parse_symbols,
    path_of,
)
from agent.lsp.connection import (
    Connection,
    Location,
    ProtocolError,
    ServerGone,
    ServerProcess,
    encode,
    read_message,
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
def test_messages_are_read_as_they_were_written(messages: list, size: int) -> None:
    data = b"".join(encode(message) for message in messages)
    assert asyncio.run(read_all(data, size)) == messages


async def test_headers_are_read_in_any_case_and_unknown_ones_ignored() -> None:
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
async def test_invalid_data_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        await read_all(data, 100)


@pytest.mark.parametrize("data", [b"", b"Content-Le", b"Content-Length: 9\r\n\r\n{}"])
async def test_an_end_inside_a_message_ends_the_stream(data: bytes) -> None:
    assert await read_all(data, 100) == []


@given(VALUES)
def test_responses_of_any_shape_raise_nothing(value) -> None:
    parse_diagnostics(value)
    parse_locations(value)
    parse_symbols(value, "/a")
    parse_hover(value)


def test_symbols_have_qualified_names() -> None:
    start = {"start": {"line": 3, "character": 8}}
    inner = {"name": "run", "kind": 6, "selectionRange": start}
    outer = {"name": "Job", "kind": 5, "selectionRange": start, "children": [inner]}
    found = parse_symbols([outer], "/a.py")
    assert [place.name for place in found] == ["class Job", "method Job.run"]
    assert found[1] == Location("/a.py", 4, 9, "method Job.run")


def test_file_uris_become_paths() -> None:
    assert path_of("file:///a%20b/c%23.py") == "/a b/c#.py"
    assert path_of("jdt://x") == "jdt://x"


NODE = "/x.js:3\nTypeError: no is not a function\n    at run (/x.js:3:1)\n\nNode.js v22.1.0"
PYTHON = "Traceback (most recent call last):\n  File x\nValueError: bad"
RUST = "thread 'main' panicked at src/a.rs:1:2:\nnote: run with `RUST_BACKTRACE=1`"


@pytest.mark.parametrize(
    ("errors", "end", "reason"),
    [
        (NODE, "exit 1", "TypeError: no is not a function"),
        (PYTHON, "exit 1", "ValueError: bad"),
        (RUST, "exit 101", "thread 'main' panicked at src/a.rs:1:2:"),
        ("out of ideas", "exit 1", "out of ideas"),
        ("", "exit 7", "it ended with code 7"),
        ("INFO ready", "kill -SEGV $$", "it was ended by SIGSEGV"),
    ],
)
async def test_the_reason_of_a_crash_is_the_error_or_the_signal(
    tmp_path: Path, errors: str, end: str, reason: str
) -> None:
    script = f"cat <<'END' >&2\n{errors}\nEND\n{end}"
    env = {"PATH": "/usr/bin:/bin"}
    program = await ServerProcess.start(("sh", "-c", script), str(tmp_path), env)
    assert await program.stdout.read() == b""
    await program.settle()
    assert program.crash_reason == reason
    await program.end()


async def test_the_reason_is_known_once_a_request_has_failed(tmp_path: Path) -> None:
    """A server can refuse its input before it has said why."""
    script = "exec <&-; echo; sleep 0.2; echo 'boom: no licence' >&2; exit 3"
    program = await ServerProcess.start(("sh", "-c", script), str(tmp_path), dict(os.environ))
    assert await program.stdout.readline() == b"\n"
    connection = Connection(program, {}, lambda *_: None, lambda _: None)
    with pytest.raises(ServerGone):
        await connection.request("initialize", {}, 60)
    assert program.crash_reason == "boom: no licence"
    await connection.close()
    await program.end()
