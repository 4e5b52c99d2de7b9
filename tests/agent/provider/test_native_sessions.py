"""Whole turns in Anthropic's and OpenAI's own protocols, on servers as strict as theirs."""

from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from pathlib import Path

import pytest

from agent.records.messages import Completed, ReasoningPart, TextPart
from agent.session.subagents.subagents import last_response
from tests.support.harness import APIS, MODEL, TEXT_APIS, Harness, open_harness
from tests.support.script import (
    Call,
    Cut,
    Finish,
    Hold,
    Opaque,
    Reason,
    StreamFailure,
    Text,
    Tokens,
    answer,
)

each_api = pytest.mark.parametrize("api", APIS[1:])


def opened(tmp_path: Path, api: str) -> AbstractAsyncContextManager[Harness]:
    return open_harness(tmp_path, api=api, chunk=11)


@pytest.mark.parametrize("api", TEXT_APIS[1:])  # Gemini's thoughts do not go back
async def test_reasoning_and_calls_are_replayed(tmp_path: Path, api: str) -> None:
    async with opened(tmp_path, api) as harness:
        (harness.folder / "a.txt").write_text("one\n", "utf-8")
        read = Call("read", {"file_path": str(harness.folder / "a.txt")})
        harness.server.always(answer(Text("A title")))
        harness.server.script(
            answer(Reason("Hm, "), Reason("read."), Text("I look."), read, read),
            answer(Opaque("c2VjcmV0"), Text("Done."), Tokens(prompt=70, cached=30, completion=5)),
        )
        session = await harness.session()
        await harness.runtime.sessions.repository.set_model(session.id, MODEL, "low")
        idle = await harness.turn(session, "read it")
        assert idle.outcome == "completed"
        await harness.turn(session, "again")
        tools = await harness.tools(session)
        assert [type(tool.state) for tool in tools] == [Completed, Completed]
        assert len({tool.call_id for tool in tools}) == 2
        parts = await harness.parts(session)
        thoughts = [part for part in parts if isinstance(part, ReasoningPart)]
        assert thoughts[0].text == "Hm, read."
        assert all(thought.opaque for thought in thoughts)
        said = str(harness.server.requests[-1].body)
        assert "Hm, read." in said
        assert "c2VjcmV0" in said
        assert ("final_answer" in said) == (api == "openai-responses"), "the phase of a message"


async def test_a_paused_response_is_continued_as_one_response(tmp_path: Path) -> None:
    """Each request contains the previous one unchanged, and the caller gets the whole response."""
    async with opened(tmp_path, "anthropic-messages") as harness:
        harness.server.always(answer(Text("ok")))
        harness.server.script(
            answer(Reason("Hm."), Text("the first "), Finish("pause_turn")),
            answer(Text("half, "), Call("list", {}), Finish("pause_turn")),
            answer(Text("and the "), Finish("pause_turn")),
            answer(Text("second.")),
        )
        session = await harness.session()
        assert (await harness.turn(session, "hi")).outcome == "completed"
        assert last_response(await harness.messages(session)) == "and the second."
        assert [type(tool.state) for tool in await harness.tools(session)] == [Completed]
        await harness.turn(session, "more")
        sent = [_unmarked(r.body["messages"]) for r in harness.server.requests if r.body["tools"]]
        assert len(sent) == 5
        for earlier, later in pairwise(sent):
            assert later[: len(earlier)] == earlier
        assert str(sent[1]).count("The server paused your response") == 1
        assert str(sent[-1]).count("The server paused your response") == 2, (
            "a call needs no such text"
        )


async def test_a_response_that_is_paused_forever_reaches_the_limit(tmp_path: Path) -> None:
    async with opened(tmp_path, "anthropic-messages") as harness:
        harness.server.always(answer(Text("half, "), Finish("pause_turn")))
        session = await harness.session()
        idle = await harness.turn(session, "for ever")
        assert (idle.outcome, idle.finish) == ("limit_reached", "paused")
        assert idle.error is not None
        assert "paused the response 4 times" in idle.error.message
        assert len(await harness.messages(session)) == 8, "requested, and continued three times"
        harness.server.replace((answer(Text("whole.")),))
        assert (await harness.turn(session, "go on")).outcome == "completed"


def _unmarked(messages: list[dict]) -> list[dict]:
    """Return *messages* without cache marks."""
    return [
        {**each, "content": [{k: v for k, v in b.items() if k != "cache_control"} for b in blocks]}
        for each in messages
        if (blocks := each["content"])
    ]


@each_api
async def test_a_cancel_during_thinking_leaves_a_valid_history(tmp_path: Path, api: str) -> None:
    async with opened(tmp_path, api) as harness:
        hold = Hold()
        harness.server.always(answer(Text("ok")))
        harness.server.script((Reason("never signed"), hold))
        session = await harness.session()
        before = len(harness.events)
        await harness.send(session, "think")
        await hold.reached.wait()
        await harness.until(lambda e: getattr(e, "delta", "") == "never signed")
        assert await harness.runtime.sessions.cancel(session.id)
        assert (await harness.idle(session, after=before)).outcome == "cancelled"
        hold.gate.set()
        assert (await harness.turn(session, "go on")).outcome == "completed"
        assert "never signed" not in str(harness.server.requests[-1].body)


@each_api
async def test_repeated_call_ids_keep_their_own_results(tmp_path: Path, api: str) -> None:
    async with opened(tmp_path, api) as harness:
        harness.server.always(answer(Text("ok")))
        names = ("a.txt", "b.txt", "c.txt")
        for name in names:
            (harness.folder / name).write_text(f"inside {name}\n", "utf-8")
        paths = [str(harness.folder / name) for name in names]
        harness.server.script(
            *(answer(Call("read", {"file_path": path}, id="call_0")) for path in paths)
        )
        session = await harness.session()
        assert (await harness.turn(session, "read all")).outcome == "completed"
        tools = await harness.tools(session)
        outputs = [tool.state.output for tool in tools if isinstance(tool.state, Completed)]
        assert [f"inside {name}" in text for name, text in zip(names, outputs, strict=True)] == [
            True, True, True,
        ]  # fmt: skip


@each_api
async def test_a_stream_that_breaks_after_a_call_continues_with_its_result(
    tmp_path: Path, api: str
) -> None:
    async with opened(tmp_path, api) as harness:
        (harness.folder / "a.txt").write_text("one\n", "utf-8")
        read = Call("read", {"file_path": str(harness.folder / "a.txt")})
        harness.server.always(answer(Text("ok")))
        harness.server.script((read, Text("and"), Cut()))
        session = await harness.session()
        assert (await harness.turn(session, "read it")).outcome == "completed"
        assert [type(tool.state) for tool in await harness.tools(session)] == [Completed]


@each_api
async def test_a_call_truncated_by_the_output_limit_is_not_run(tmp_path: Path, api: str) -> None:
    async with opened(tmp_path, api) as harness:
        harness.server.always(answer(Text("ok")))
        cut = Call("write", '{"file_path": "x.txt", "content": "ha', pieces=4)
        harness.server.script(answer(cut, Finish("limit")), answer(cut, Finish("limit")))
        session = await harness.session()
        assert (await harness.turn(session, "write")).outcome == "completed"
        assert not (harness.folder / "x.txt").exists()


@each_api
async def test_a_refusal_in_mid_stream_ends_the_turn_with_its_message(
    tmp_path: Path, api: str
) -> None:
    async with opened(tmp_path, api) as harness:
        harness.server.always(answer(Text("fine")))
        failing = StreamFailure("invalid_request_error", "unsupported thing")
        harness.server.script((Text("part"), failing))
        session = await harness.session()
        idle = await harness.turn(session, "hi")
        assert idle.outcome == "failed"
        assert "unsupported thing" in str(idle.error)
        assert (await harness.turn(session, "again")).outcome == "completed"
        texts = [p.text for p in await harness.parts(session) if isinstance(p, TextPart)]
        assert "fine" in texts
