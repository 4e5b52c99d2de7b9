"""Conversations that exceed the window: retries, compaction, clear errors."""

import json
from pathlib import Path

import pytest

from agent.records.events import SessionStatusChanged
from agent.records.messages import (
    Retry,
)
from tests.support.harness import open_harness, tool_names
from tests.support.script import Answer, Call, Failure, Text, Tokens, answer

OVERFLOW = Failure(400, '{"error": {"code": "context_length_exceeded", "message": "too long"}}')
SUMMARY = answer(Text("## Goal\nthe summary"), Tokens(1_000, 10))
FULL = Tokens(85_000, 100)
DONE = answer(Text("done"), Tokens(5_000, 10))


async def test_a_summary_is_tried_again_and_counted(tmp_path: Path) -> None:
    async with open_harness(tmp_path, retry={"delay": 2}) as harness:
        session = await harness.session()
        harness.server.script(answer(Text("a"), Tokens(100, 10)))
        await harness.turn(session, "first")
        summary = answer(Text("summary"), Tokens(1_000, 100))
        harness.server.script(OVERFLOW, Failure(503), summary, answer(Text("b"), Tokens(10, 1)))
        assert (await harness.turn(session, "second")).outcome == "completed"
        statuses = [e.status for e in harness.events if isinstance(e, SessionStatusChanged)]
        assert any(isinstance(status, Retry) for status in statuses)
        usage = (await harness.runtime.store.session(session.id)).usage
        assert (usage.input, usage.output) == (1_110, 111)


def asks_for_a_summary(body: dict) -> bool:
    return not tool_names(body)


async def test_the_answers_share_of_the_window_is_counted(tmp_path: Path) -> None:
    """8,000 tokens of input and 3,000 of output exceed 10,000: no request is repeated unchanged."""
    limit = {"context": 10_000, "output": 3_000}

    def strict(body: dict) -> Answer:
        if asks_for_a_summary(body):
            return SUMMARY
        if "the summary" in json.dumps(body) or 8_000 + body.get("max_tokens", 0) <= 10_000:
            return DONE
        return OVERFLOW

    async with open_harness(tmp_path, abilities={"limit": limit}) as harness:
        session = await harness.session()
        harness.server.script(answer(Text("so far"), Tokens(8_000, 10)))
        await harness.turn(session, "first")
        harness.server.always(strict)
        assert (await harness.turn(session, "second")).outcome == "completed"
        bodies = [json.dumps(request.body) for request in harness.server.requests]
        assert len(set(bodies)) == len(bodies)


async def test_without_auto_compaction_an_overflow_is_not_compacted(tmp_path: Path) -> None:
    async with open_harness(tmp_path, compaction={"auto": False}) as harness:
        session = await harness.session()
        harness.server.always(OVERFLOW)
        idle = await harness.turn(session, "go")
        assert idle.outcome in {"failed", "limit_reached"}
        assert idle.error is not None
        assert "/compact" in idle.error.message
        assert not any(asks_for_a_summary(request.body) for request in harness.server.requests)
        assert len(harness.server.requests) <= 2


async def test_instructions_that_fill_the_window_are_named(tmp_path: Path) -> None:
    async with open_harness(tmp_path, compaction={"auto": True}) as harness:
        config = harness.home / "config" / "AGENTS.md"
        config.write_text("many words of instruction\n" * 1_000)
        harness.server.always(lambda body: SUMMARY if asks_for_a_summary(body) else OVERFLOW)
        idle = await harness.turn(await harness.session(), "go")
        assert idle.outcome == "failed"
        assert idle.error is not None
        assert "Shorten the instructions" in idle.error.message
        assert sum(asks_for_a_summary(r.body) for r in harness.server.requests) <= 3


@pytest.mark.parametrize("size", [10, 4_000, 40_000])
async def test_calls_and_results_stay_together_wherever_a_summary_cuts(
    tmp_path: Path, size: int
) -> None:
    """Two compactions in a row, after each possible step, with outputs that move the cut; the
    strict server checks every request."""
    async with open_harness(tmp_path) as harness:
        (harness.folder / "a").write_text("x y\n" * (size // 4))

        def step(*more: object) -> Answer:
            calls = [Call("read", {"file_path": "a", "offset": n}) for n in (1, 2)]
            return answer(*calls, *more)  # type: ignore[arg-type]

        for at in range(1, 6):
            session = await harness.session()
            await harness.turn(session, "a turn before")
            harness.server.script(*(step() for _ in range(at - 1)), step(FULL), SUMMARY)
            harness.server.script(step(), step(FULL), SUMMARY, step(), DONE)
            idle = await harness.turn(session, "go")
            assert idle.outcome == "completed", at
            assert (await harness.turn(session, "and on")).outcome == "completed", at


async def test_instructions_role_and_skill_outlive_a_summary(tmp_path: Path) -> None:
    skill = tmp_path / "home" / "config" / "skills" / "marked" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: marked\ndescription: A skill\n---\nSKILL-MARK here\n")
    (tmp_path / "home" / "config" / "AGENTS.md").write_text("INSTRUCTION-MARK\n")
    agent = {"build": {"prompt": "ROLE-MARK"}}
    async with open_harness(tmp_path, agent=agent) as harness:
        session = await harness.session()
        harness.server.script(answer(Call("skill", {"name": "marked"})), answer(Text("ok"), FULL))
        await harness.turn(session, "use the skill")
        harness.server.script(SUMMARY, DONE)
        await harness.turn(session, "go on")
        before, after = (harness.server.requests[n].body["messages"] for n in (1, -1))
        for mark in ("INSTRUCTION-MARK", "ROLE-MARK"):
            assert [mark in str(m) for m in before[:3]] == [mark in str(m) for m in after[:3]]
            assert str(after).count(mark) == 1
        assert "SKILL-MARK" in str(after)
