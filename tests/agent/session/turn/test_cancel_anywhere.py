"""A cancel after any iteration of the event loop leaves everything clean.

Each scenario runs once to count its iterations, then repeatedly in a new session with a cancel at a
chosen one. Afterward the session is idle, every call is in a terminal state, nothing that it
started is left, and the strict server accepts the next prompt.
"""

import asyncio
import random
from pathlib import Path

import pytest

from agent.records.events import SessionIdle
from agent.records.messages import AssistantMessage, Idle
from tests.support.after_turn import assert_left_clean, trial
from tests.support.counting_loop import CountingLoop, run
from tests.support.harness import APIS, Harness, open_harness
from tests.support.scenarios import EACH, LONGEST, SCENARIOS, answer_everything
from tests.support.script import Call, Text, answer


@pytest.mark.timeout(LONGEST)
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("api", APIS)
def test_a_cancel_at_any_iteration_leaves_everything_clean(
    tmp_path: Path, name: str, api: str
) -> None:
    run(_cancel_everywhere(tmp_path, name, api))


async def _cancel_everywhere(tmp_path: Path, name: str, api: str) -> None:
    async with open_harness(tmp_path, api=api, retry={"attempts": 4, "delay": 4}) as harness:
        for number in range(5):
            (harness.folder / f"{number}.txt").write_text(f"{number}\n")
        answering = asyncio.create_task(answer_everything(harness))
        loop = asyncio.get_running_loop()
        assert isinstance(loop, CountingLoop)
        await _attempt(harness, loop, name, None)  # warms caches and imports
        total = await _attempt(harness, loop, name, None)
        points = list(range(1, total + 1))
        if EACH:
            points = sorted(random.Random(name + api).sample(points, min(EACH, len(points))))
        for point in points:
            await _attempt(harness, loop, name, point)
        answering.cancel()


async def _attempt(harness: Harness, loop: CountingLoop, name: str, point: int | None) -> int:
    """Run the scenario, cancelled at *point*; return the number of iterations."""
    session = await harness.session()
    harness.server.replace(SCENARIOS[name])
    before = len(harness.events)
    start = loop.ticks
    if point is not None:
        loop.at_tick = lambda: asyncio.ensure_future(harness.runtime.sessions.cancel(session.id))
        loop.target = start + point
    await harness.send(session, "go")
    idle = await harness.idle(session, after=before)
    took = loop.ticks - start
    loop.target = -1
    if idle.outcome == "cancelled":
        last = (await harness.messages(session))[-1].message
        assert isinstance(last, AssistantMessage), f"{name} {point}: no message of the stop"
        assert last.interrupted or last.finish == "stop", f"{name} {point}: {last}"
    await assert_left_clean(
        harness, session, before, f"cancel at an iteration: {name}", f"{point}: {idle.outcome}"
    )
    return took


@pytest.mark.timeout(LONGEST)
def test_a_message_sent_at_any_iteration_reaches_the_model_once(tmp_path: Path) -> None:
    """Also at the moment in which the turn ends."""
    run(_send_everywhere(tmp_path))


async def _send_everywhere(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, CountingLoop)
        total = await _send_at(harness, loop, None)
        total = await _send_at(harness, loop, None)
        points = list(range(1, total + 10))
        if EACH:
            points = sorted(random.Random(0).sample(points, min(4 * EACH, len(points))))
        for point in points:
            await _send_at(harness, loop, point)


async def _send_at(harness: Harness, loop: CountingLoop, point: int | None) -> int:
    """Run a turn of two steps, with another message sent at *point*."""
    session = await harness.session()
    harness.server.replace((answer(Call("list", {})), *(answer(Text("fine")) for _ in range(3))))
    requests, before, start = len(harness.server.requests), len(harness.events), loop.ticks
    sending: list[asyncio.Task[str]] = []
    if point is not None:
        send = lambda: sending.append(  # noqa: E731 - the loop calls it once
            asyncio.ensure_future(harness.send(session, "the second message"))
        )
        loop.at_tick, loop.target = send, start + point
    await harness.send(session, "the first message")
    await harness.idle(session, after=before)
    took = loop.ticks - start
    if point is not None:
        if not sending:
            loop.target = -1
            send()
        await sending[0]
        service = harness.runtime.sessions

        def delivered(event: object) -> bool:
            ended = isinstance(event, SessionIdle) and service.status(session.id) == Idle()
            return ended and "the second message" in str(harness.server.requests[-1].body)

        await harness.until(delivered, after=before)
        where = f"sent at {point}"
        with trial("message at an iteration"):
            assert (await service.snapshot(session.id)).queued == (), where
            assert service.status(session.id) == Idle(), where
            last = str(harness.server.requests[-1].body["messages"])
            assert last.count("the second message") == 1, where
            assert last.count("the first message") == 1, where
            assert len(harness.server.requests) - requests <= 4, where
    return took
