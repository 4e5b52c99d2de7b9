"""Prompts that are repeated while the program runs."""

import asyncio
from pathlib import Path

import pytest

from agent.records.errors import NothingToDo
from agent.records.events import Notice
from agent.session.repeated_prompts import RepeatedPrompt, RepeatedPrompts, parse_loop
from tests.support.harness import open_harness
from tests.support.script import Failure, Text, answer


class Clock:
    """An interval that passes when a test says so."""

    def __init__(self) -> None:
        self.waits: asyncio.Queue[float] = asyncio.Queue()
        self.passed: asyncio.Queue[None] = asyncio.Queue()

    async def sleep(self, seconds: float) -> None:
        self.waits.put_nowait(seconds)
        await self.passed.get()


async def test_a_prompt_is_sent_at_every_interval_until_it_is_stopped(tmp_path: Path) -> None:
    async with open_harness(tmp_path, small_model="none") as harness:
        harness.server.always(answer(Text("ok")))
        clock = Clock()
        repeated = RepeatedPrompts(harness.runtime.sessions, harness.runtime.bus, clock.sleep)
        session = await harness.session()
        repeated.start(session.id, parse_loop("10m Look at the build"))
        seen = 0
        for number in range(3):
            if number:
                clock.passed.put_nowait(None)
            assert await clock.waits.get() == 600.0
            await harness.idle(session, after=seen)
            seen = len(harness.events)
        assert len(harness.server.requests) == 3
        repeated.stop(session.id)
        assert repeated.find(session.id) is None


async def test_a_turn_that_fails_ends_the_loop(tmp_path: Path) -> None:
    async with open_harness(tmp_path, small_model="none") as harness:
        harness.server.script(Failure(401))
        clock = Clock()
        repeated = RepeatedPrompts(harness.runtime.sessions, harness.runtime.bus, clock.sleep)
        session = await harness.session()
        repeated.start(session.id, RepeatedPrompt(60.0, "Look"))
        await clock.waits.get()
        await harness.idle(session)
        clock.passed.put_nowait(None)
        found = await harness.until(lambda e: isinstance(e, Notice))
        assert isinstance(found, Notice)
        assert "The loop has ended" in found.message
        assert repeated.find(session.id) is None


def test_arguments() -> None:
    assert parse_loop("90s Look\nat it") == RepeatedPrompt(90.0, "Look\nat it")
    assert parse_loop("2 hours Look") == RepeatedPrompt(7_200.0, "Look")


@pytest.mark.parametrize("text", ["", "10m", "Look", "0m Look", "5s Look", "-1m Look", "10d Look"])
def test_arguments_that_are_refused(text: str) -> None:
    with pytest.raises(NothingToDo, match=r"/loop 10m PROMPT|shortest interval"):
        parse_loop(text)
