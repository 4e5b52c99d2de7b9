"""The event bus: coalescing, limits, isolation."""

import asyncio
import dataclasses
import inspect
from typing import get_args, get_type_hints

from agent.bus import Bus
from agent.records import events
from agent.records.events import Event, Notice, PartDelta, PartUpdated, Resync
from agent.records.messages import TextPart


def delta(part: str, offset: int, text: str) -> PartDelta:
    return PartDelta("ses", "msg", part, "text", offset, text)


def test_every_event_is_a_frozen_record_with_its_own_tag() -> None:
    union = set(get_args(Event))
    made = {kind for _, kind in inspect.getmembers(events, inspect.isclass)}
    assert union == {kind for kind in made if kind.__module__ == events.__name__}
    tags = []
    for kind in union:
        assert dataclasses.is_dataclass(kind)
        assert kind.__dataclass_params__.frozen, kind
        (tag,) = get_args(get_type_hints(kind)["type"])
        fields = {field.name: field for field in dataclasses.fields(kind)}
        assert fields["type"].default == tag
        tags.append(tag)
    assert len(set(tags)) == len(tags)


def test_adjacent_deltas_of_one_part_merge() -> None:
    subscription = (bus := Bus()).subscribe()
    for event in (
        delta("a", 0, "he"),
        delta("a", 2, "llo"),
        delta("b", 0, "x"),
        delta("a", 5, "!"),
    ):
        bus.publish(event)
    assert subscription.drain() == [delta("a", 0, "hello"), delta("b", 0, "x"), delta("a", 5, "!")]


def test_deltas_with_a_gap_stay_separate() -> None:
    subscription = (bus := Bus()).subscribe()
    bus.publish(delta("a", 0, "he"))
    bus.publish(delta("a", 4, "o"))
    assert len(subscription.drain()) == 2


def test_a_slow_subscriber_gets_a_single_resync() -> None:
    bus = Bus()
    slow, quick = bus.subscribe(limit=10), bus.subscribe(limit=100)
    for number in range(11):
        bus.publish(Notice(str(number)))
    assert slow.drain() == [Resync()]
    assert len(quick.drain()) == 11
    bus.publish(Notice("after"))
    assert slow.drain() == [Notice("after")]


def test_a_subscriber_that_raises_is_isolated() -> None:
    bus = Bus()

    def refuse(_event: Event) -> bool:
        raise RuntimeError("a fault of a subscriber")

    broken, sound = bus.subscribe(refuse), bus.subscribe()
    bus.publish(Notice("one"))
    bus.publish(Notice("two"))
    assert broken.closed
    assert sound.drain() == [Notice("one"), Notice("two")]


def test_a_predicate_selects_events() -> None:
    bus = Bus()
    subscription = bus.subscribe(lambda event: isinstance(event, PartUpdated))
    part = TextPart(id="prt", session_id="ses", message_id="msg")
    bus.publish(Notice("no"))
    bus.publish(PartUpdated(part))
    assert subscription.drain() == [PartUpdated(part)]


async def test_iteration_ends_when_the_subscription_is_closed() -> None:
    bus = Bus()
    subscription = bus.subscribe()
    seen: list[Event] = []

    async def follow() -> None:
        async for event in subscription:
            seen.append(event)  # noqa: PERF401 - a comprehension would hide the order of arrival

    task = asyncio.create_task(follow())
    bus.publish(Notice("one"))
    await asyncio.sleep(0)
    subscription.close()
    await asyncio.wait_for(task, 5)
    bus.publish(Notice("late"))
    assert seen == [Notice("one")]
