"""Each reason for another step, with its limit."""

import json
from pathlib import Path

from agent.records.events import Compacted
from agent.records.messages import AssistantMessage, CompactionPart, Completed
from tests.support.harness import Harness, open_harness
from tests.support.reading import well_read
from tests.support.script import Answer, Call, Failure, Text, Tokens, answer

OVERFLOW = Failure(
    400,
    '{"error": {"message": "maximum context length is 100000 tokens", '
    '"code": "context_length_exceeded"}}',
)


def request_text(harness: Harness, number: int) -> str:
    return json.dumps(harness.server.requests[number].body["messages"])


async def test_an_overflow_prunes_old_output_then_retries(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        session = await well_read(harness)
        before = len(harness.server.requests)
        harness.server.script(OVERFLOW, answer(Text("fits")))
        assert (await harness.turn(session, "and now?")).outcome == "completed"
        assert len(request_text(harness, before + 1)) < len(request_text(harness, before)) - 40_000
        tools = await harness.tools(session)
        assert [t.state.compacted is not None for t in tools][:2] == [True, True]
        assert all(isinstance(t.state, Completed) and "000899" in t.state.output for t in tools)
        assert [t.state.compacted for t in tools][-1] is None


async def test_an_overflow_that_pruning_does_not_help_compacts_once(harness: Harness) -> None:
    session = await harness.session()
    for number in range(4):
        harness.server.script(answer(Text(f"answer {number}")))
        await harness.turn(session, f"question {number}")
    harness.server.script(OVERFLOW, answer(Text("## Goal\nthe summary")), answer(Text("fits")))
    assert (await harness.turn(session, "the last question")).outcome == "completed"
    retried = request_text(harness, -1)
    assert "the summary" in retried
    assert "the last question" in retried
    assert "question 0" in retried, "the first request is pinned"
    assert any(isinstance(e, Compacted) for e in harness.events)
    stored = await harness.parts(session)
    assert sum(isinstance(p, CompactionPart) for p in stored) == 1
    assert "answer 0" in str(stored), "nothing is deleted"


async def test_still_overflowing_after_a_compaction_is_a_clear_error(harness: Harness) -> None:
    session = await harness.session()
    harness.server.script(OVERFLOW, answer(Text("summary")), OVERFLOW)
    idle = await harness.turn(session, "hello")
    assert idle.outcome == "failed"
    assert idle.error is not None
    assert "even after compaction" in idle.error.message
    assert len(harness.server.requests) == 3


async def test_a_full_window_is_compacted_before_the_next_step(harness: Harness) -> None:
    session = await harness.session()
    harness.server.script(answer(Text("long"), Tokens(85_000, 100)))
    await harness.turn(session, "first")
    harness.server.script(answer(Text("the summary")), answer(Text("short")))
    assert (await harness.turn(session, "second")).outcome == "completed"
    assert "Summarize" in request_text(harness, 1)
    assert "the summary" in request_text(harness, 2)


async def test_without_auto_compaction_the_turn_ends_before_it_sends_more(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, compaction={"auto": False}) as harness:
        session = await harness.session()
        harness.server.script(answer(Text("long"), Tokens(85_000, 100)))
        await harness.turn(session, "first")
        idle = await harness.turn(session, "second")
        assert idle.outcome == "limit_reached"
        assert idle.error is not None
        assert "/compact" in idle.error.message
        assert len(harness.server.requests) == 1


async def test_an_overflowing_compaction_request_is_shortened(harness: Harness) -> None:
    session = await harness.session()
    for number in range(4):
        harness.server.script(answer(Text(f"answer {number}")))
        await harness.turn(session, f"question {number}")
    harness.server.script(OVERFLOW, OVERFLOW, answer(Text("summary")), answer(Text("fits")))
    assert (await harness.turn(session, "last")).outcome == "completed"
    assert len(request_text(harness, -2)) < len(request_text(harness, -3))


async def test_a_stop_hook_keeps_the_turn_going_three_times_at_most(tmp_path: Path) -> None:
    async def object_always(_message: AssistantMessage) -> str:
        return "The tests were not run."

    async with open_harness(tmp_path, stop_hooks=(object_always,)) as harness:
        harness.server.always(answer(Text("done")))
        assert (await harness.turn(await harness.session(), "go")).outcome == "completed"
        assert len(harness.server.requests) == 4
        assert "The tests were not run." in request_text(harness, 1)


async def test_a_token_target_nudges_until_it_is_reached(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"target_tokens": 3_000}) as harness:
        harness.server.always(answer(Text("more"), Tokens(100, 1_000)))
        assert (await harness.turn(await harness.session(), "go")).outcome == "completed"
        assert len(harness.server.requests) == 3
        assert "Do not summarize" in request_text(harness, 1)


async def test_a_token_target_ends_after_three_lean_steps(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"target_tokens": 50_000}) as harness:
        harness.server.always(answer(Text("nothing"), Tokens(100, 10)))
        assert (await harness.turn(await harness.session(), "go")).outcome == "completed"
        assert len(harness.server.requests) == 3


async def test_the_last_step_of_a_limited_turn_summarizes_without_tools(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"steps": 2}) as harness:
        for number in range(3):
            (harness.folder / f"{number}.txt").write_text("x\n")

        def step(body: dict) -> Answer:
            if "tools" not in body:
                return answer(Text("summed up"))
            done = sum(m["role"] == "tool" for m in body["messages"])
            return answer(Call("read", {"file_path": f"{done}.txt"}))

        harness.server.always(step)
        idle = await harness.turn(await harness.session(), "go")
        assert idle.outcome == "limit_reached"
        assert idle.error is not None
        assert "after 2 steps" in idle.error.message
        assert len(harness.server.requests) == 3
        assert "tools are off" in request_text(harness, 2)


async def test_a_token_limit_ends_the_turn_with_a_sentence(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"tokens": 200}) as harness:
        harness.server.always(answer(Call("list", {}), Tokens(100, 10)))
        idle = await harness.turn(await harness.session(), "go")
        assert idle.outcome == "limit_reached"
        assert idle.error is not None
        assert "of 200 tokens" in idle.error.message
