"""A subscriber that is late or falls behind ends in the same state as one that saw everything."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path

import pytest

from agent.bus import Subscription
from agent.records.events import Event
from agent.records.messages import Session
from agent.session.api import SessionSnapshot
from app.session_state.view import SessionView
from tests.support.after_turn import trial
from tests.support.counting_loop import CountingLoop, run
from tests.support.harness import Harness, open_harness
from tests.support.scenarios import (
    EACH,
    LONGEST,
    SCENARIOS,
    answer_everything,
)

ROUNDS = max(4, EACH // 4) if EACH else 100
"""Turns of each scenario, with six subscribers each."""


class Follower:
    """A minimal front end: a view that applies events and rebuilds itself when necessary."""

    def __init__(self, harness: Harness, session: Session, *, limit: int | None = None) -> None:
        self._harness = harness
        self._session = session
        self._limit = limit
        self.view: SessionView | None = None
        self.rebuilt = 0
        self.working = False
        self.subscription: Subscription | None = None

    async def follow(self, *, slow: random.Random | None = None) -> None:
        self.working = True
        await self._attach()
        while self.subscription is not None:
            self.working = False
            await self.subscription.wait()  # at once if an event is queued
            self.working = True
            if slow is not None:
                for _ in range(slow.randrange(80)):
                    await asyncio.sleep(0)
            for event in self.subscription.drain():
                await self._apply(event)

    async def _attach(self) -> None:
        if self.subscription is not None:
            self.subscription.close()
        service = self._harness.runtime.sessions
        subscription, snapshot = await service.attach(self._session.id)
        if self._limit is not None:
            subscription.limit = self._limit
        self.subscription, self.view = subscription, SessionView(snapshot)

    async def _apply(self, event: Event) -> None:
        assert self.view is not None
        if self.view.apply(event).stale:
            self.rebuilt += 1
            await self._attach()

    def seen(self) -> SessionSnapshot:
        assert self.view is not None
        return comparable(self.view.snapshot())


async def until_followed(*followers: Follower) -> None:
    """Wait until *followers* have applied every event that was published so far."""
    waits = 0
    while waits < 3:  # one that an event wakes up is working in the next iteration of the loop
        await asyncio.sleep(0)
        waits = 0 if any(follower.working for follower in followers) else waits + 1


def comparable(snapshot: SessionSnapshot) -> SessionSnapshot:
    return replace(
        snapshot,
        messages=tuple(
            replace(item, parts=tuple(sorted(item.parts, key=lambda part: part.id)))
            for item in sorted(snapshot.messages, key=lambda item: item.message.id)
        ),
    )


@pytest.mark.timeout(LONGEST)
@pytest.mark.parametrize("name", SCENARIOS)
def test_late_and_slow_subscribers_equal_the_store(tmp_path: Path, name: str) -> None:
    run(_compare(tmp_path, name))


async def _compare(tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    async with open_harness(tmp_path, retry={"attempts": 4, "delay": 4}) as harness:
        for number in range(5):
            (harness.folder / f"{number}.txt").write_text(f"{number}\n")
        answering = asyncio.create_task(answer_everything(harness))
        rebuilt = 0
        for _ in range(ROUNDS):
            rebuilt += await _once(harness, name, rng)
        answering.cancel()
    assert rebuilt, "no follower ever fell so far behind that it had to rebuild"


async def _once(harness: Harness, name: str, rng: random.Random) -> int:
    session = await harness.session()
    harness.server.replace(SCENARIOS[name])
    before = len(harness.events)
    first = Follower(harness, session)
    slow = Follower(harness, session, limit=2)
    late = [Follower(harness, session) for _ in range(4)]
    tasks = [asyncio.create_task(first.follow()), asyncio.create_task(slow.follow(slow=rng))]
    loop = asyncio.get_running_loop()
    assert isinstance(loop, CountingLoop)
    starts = sorted(loop.ticks + rng.randrange(1, 250) for _ in late)
    waiting = list(zip(starts, late, strict=True))

    def attach_next() -> None:
        while waiting and waiting[0][0] <= loop.ticks:
            tasks.append(asyncio.ensure_future(waiting.pop(0)[1].follow()))
        if waiting:
            loop.target = waiting[0][0]

    loop.at_tick, loop.target = attach_next, starts[0]
    await harness.send(session, "go")
    await harness.idle(session, after=before)
    loop.target = -1
    followers = (first, slow, *late)
    await until_followed(*followers)
    stored = comparable(await harness.runtime.sessions.snapshot(session.id))
    with trial("late and slow subscribers"):
        for follower in followers:
            if follower.view is not None:
                assert follower.seen() == stored
    for task in tasks:
        task.cancel()
    for follower in followers:
        if follower.subscription is not None:
            follower.subscription.close()
    return slow.rebuilt
