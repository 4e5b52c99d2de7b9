"""Faults of the stream and of the calls in it, over each wire protocol.

Each case has the expected end of the turn and the calls that must have run; afterward everything is
clean and the strict server accepts the next prompt.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.records.messages import Completed, Failed
from tests.support.after_turn import assert_left_clean
from tests.support.harness import APIS, TEXT_APIS, Harness, open_harness
from tests.support.script import (
    Answer,
    Call,
    Cut,
    Done,
    Failure,
    Finish,
    Hold,
    Piece,
    Raw,
    Reason,
    StreamFailure,
    Text,
    Tokens,
    answer,
)

HALF = Call("bash", '{"comm')
"""Its arrival makes the call before it whole in chat completions, which has no other mark."""

OK = answer(Text("done"))
EMPTY = b'data: {"id": "1", "object": "chat.completion.chunk", "choices": []}\n\n'
LOG = {"permission": {"bash": "allow", "edit": "allow"}, "retry": {"attempts": 3, "delay": 2}}


def add(word: str, **more: object) -> Call:
    """Return a call that writes *word* to ``log.txt``."""
    return Call("bash", {"command": f"echo {word} >> log.txt"}, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    """*answers* of the server; *ran* is what ``log.txt`` holds after the turn; *failed* counts
    the calls that ended in an error; *apis* are the protocols in which the fault exists."""

    answers: tuple[Answer, ...]
    ran: str = ""
    failed: int = 0
    outcome: str = "completed"
    requests: int | None = None
    apis: tuple[str, ...] = APIS


def unfinished(*pieces: Piece) -> tuple[Piece, ...]:
    """Return a response without finish reason and end mark, after which the connection is
    closed."""
    return pieces


CASES: dict[str, Case] = {
    "finish stop with calls": Case(
        (answer(add("a"), Finish("end")), OK), ran="a", requests=2, apis=APIS[:1]
    ),
    "no finish reason": Case((unfinished(Text("part")), OK), requests=2),
    "no finish reason after a call": Case(
        (unfinished(add("a"), HALF), OK), ran="a", failed=1, requests=2, apis=TEXT_APIS
    ),
    "end mark alone": Case(((Text("whole"), Done()),), requests=1, apis=APIS[:1]),
    "nothing at all": Case(((), OK), requests=2),
    "garbage for data": Case(((Text("x"), Raw(b"data: {{{\n\n"), Done()), OK), requests=2),
    "garbage for the protocol": Case(((Raw(b"\x00\xff\xfe<html>"), Cut()), OK), requests=2),
    "signs of life before a cut": Case(
        ((Raw(b": ping\n\n"), Text("part"), Raw(b": ping\n\n\n"), Cut()), OK), requests=2
    ),
    "no choices before a cut": Case(
        ((Raw(EMPTY), Text("part"), Raw(EMPTY), Cut()), OK), requests=2, apis=APIS[:1]
    ),
    "signs of life are no fault": Case(
        (answer(Raw(b": ping\n\n"), add("a"), Raw(b": ping\n\n")), OK), ran="a", requests=2
    ),
    "broken forever": Case(
        tuple(answer(Text("x"), Cut()) for _ in range(3)), outcome="failed", requests=3
    ),
    "error event in mid-stream": Case(
        ((Text("x"), StreamFailure("server_error", "boom")), OK), requests=2
    ),
    "error event after a call": Case(
        ((add("a"), HALF, StreamFailure("server_error", "boom")), OK),
        ran="a",
        failed=1,
        requests=2,
        apis=TEXT_APIS,
    ),
    "overloaded, then fine": Case((Failure(529), Failure(503), OK), requests=3),
    "unknown tool": Case((answer(Call("frobnicate", {"x": 1})), OK), failed=1),
    "case of a name": Case((answer(Call("BASH", {"command": "echo a >> log.txt"})), OK), ran="a"),
    "arguments are no JSON": Case(
        (answer(Call("bash", '{"command": "ec')), OK), failed=1, apis=TEXT_APIS
    ),
    "arguments are no object": Case(
        (answer(Call("bash", '["echo"]')), OK), failed=1, apis=TEXT_APIS
    ),
    "arguments are empty": Case((answer(Call("bash", "")), OK), failed=1),
    "arguments are empty and that is fine": Case((answer(Call("list", "")), OK)),
    "arguments miss a field": Case((answer(Call("write", {"content": "x"})), OK), failed=1),
    "arguments twice over": Case(
        (answer(Call("bash", '{"command": "echo a >> log.txt"}{"command": "echo b"}')), OK),
        failed=1,
        apis=TEXT_APIS,
    ),
    "ids are missing": Case(
        (answer(add("a", id=None), add("b", id=None)), OK), ran="ab", apis=APIS[:1]
    ),
    "ids are the same": Case(
        (answer(add("a", id="call_1"), add("b", id="call_1", index=1)), OK), ran="ab"
    ),
    "ids are used again in the next step": Case(
        (answer(add("a", id="call_1")), answer(add("b", id="call_1")), OK), ran="ab"
    ),
    "indices with gaps": Case(
        (answer(add("a", index=3), add("b", index=7)), OK), ran="ab", apis=APIS[:1]
    ),
    "text between calls": Case(
        (answer(add("a"), Text("and"), add("b"), Reason("hm")), OK), ran="ab"
    ),
    "reasoning only": Case((answer(Reason("I think.")),), requests=1),
    "usage twice": Case((answer(Text("x"), Tokens(), Tokens(), Finish("end")),), requests=1),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("api", APIS)
async def test_faults_of_the_stream(tmp_path: Path, api: str, name: str) -> None:
    case = CASES[name]
    if api not in case.apis:
        return
    async with open_harness(tmp_path, api=api, **LOG) as harness:
        harness.server.script(*case.answers)
        harness.server.always(OK)
        session = await harness.session()
        idle = await harness.turn(session, "go")
        assert idle.outcome == case.outcome
        assert ran(harness) == case.ran
        tools = await harness.tools(session)
        assert sum(isinstance(tool.state, Failed) for tool in tools) == case.failed
        # However often it is retried, the user's message appears once.
        assert json.dumps(harness.server.requests[-1].body).count('"go"') == 1
        if case.requests is not None:
            assert len(harness.server.requests) == case.requests
        for failure in (tool.state for tool in tools):
            assert isinstance(failure, Completed) or failure.error
        await assert_left_clean(harness, session, 0, f"stream: {name}")


def ran(harness: Harness) -> str:
    log = harness.folder / "log.txt"
    return "".join(log.read_text("utf-8").split()) if log.exists() else ""


async def test_interleaved_calls_keep_their_arguments(tmp_path: Path) -> None:
    """Two calls whose arguments arrive in turns."""

    def chunk(*calls: dict[str, object]) -> Raw:
        body = {"choices": [{"index": 0, "delta": {"tool_calls": list(calls)}}]}
        return Raw(f"data: {json.dumps(body)}\n\n".encode())

    def piece(index: int, text: str, **more: object) -> dict[str, object]:
        return {"index": index, **more, "function": {"arguments": text, **name_of(index, more)}}

    def name_of(index: int, more: dict[str, object]) -> dict[str, object]:
        return {"name": "bash"} if "id" in more else {}

    mixed = (
        chunk(piece(0, '{"comm', id="call_a", type="function")),
        chunk(piece(1, '{"command": ', id="call_b", type="function")),
        chunk(piece(0, 'and": "echo a >> log.txt"}'), piece(1, '"echo b')),
        chunk(piece(1, ' >> log.txt"}')),
        Finish("calls"),
        Done(),
    )
    async with open_harness(tmp_path, **LOG) as harness:
        harness.server.script(mixed, OK)
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        assert ran(harness) == "ab"
        await assert_left_clean(harness, session, 0, "stream: interleaved indices")


@pytest.mark.parametrize("api", APIS)
async def test_silence_after_a_call_closes_the_step(tmp_path: Path, api: str) -> None:
    hold = Hold()
    options = {"chunkTimeout": 300}
    async with open_harness(tmp_path, api=api, options=options, **LOG) as harness:
        harness.server.script((add("a"), HALF, hold), OK)
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        assert ran(harness) == "a"
        hold.gate.set()
        await assert_left_clean(harness, session, 0, "stream: silence")


@pytest.mark.parametrize("api", APIS)
async def test_silence_from_the_start_is_retried(tmp_path: Path, api: str) -> None:
    hold = Hold()
    options = {"chunkTimeout": 300}
    async with open_harness(tmp_path, api=api, options=options, **LOG) as harness:
        harness.server.script((hold,), OK)
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        assert len(harness.server.requests) == 2
        hold.gate.set()
