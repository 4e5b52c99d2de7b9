"""Deltas: in memory and published at once, durable soon after."""

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.bus import Bus
from agent.records.errors import StoreError
from agent.records.events import MessageUpdated, PartDelta, PartUpdated
from agent.records.messages import Pending, ReasoningPart, TextPart, ToolPart
from agent.store.store import Store
from agent.store.write_behind import OpenParts
from tests.agent.store.samples import (
    STATES,
    make_assistant,
    make_session,
    make_text,
    make_tool,
    own,
    reopened,
    rows,
    stored_turn,
)

MESSAGE = make_assistant(make_session())


async def until_durable(path: Path, part_id: str, text: str) -> None:
    while await durable_text(path, part_id) != text:  # noqa: ASYNC110 - a file has no event
        await asyncio.sleep(0.01)


async def durable_text(path: Path, part_id: str) -> str:
    found = rows(path, "SELECT data FROM part WHERE id = ?", part_id)
    return json.loads(found[0][0])["text"] if found else ""


async def test_deltas_are_published_with_their_offsets_and_read_from_memory(store: Store, bus: Bus):
    session, message, _ = await stored_turn(store)
    text = make_text(message, "ab")
    reasoning = ReasoningPart(**own(message), started=1.0)
    call = make_tool(message, Pending())
    with bus.subscribe() as events:
        for part in (text, reasoning, call):
            store.stage(part)
        store.append(text.id, "text", "c😀")
        store.append(reasoning.id, "text", "hm")
        store.append(call.id, "raw", "{")
        store.append(text.id, "text", "d")
        assert events.drain() == [
            PartUpdated(text),
            PartUpdated(reasoning),
            PartUpdated(call),
            PartDelta(session.id, message.id, text.id, "text", 2, "c😀"),
            PartDelta(session.id, message.id, reasoning.id, "text", 0, "hm"),
            PartDelta(session.id, message.id, call.id, "raw", 0, "{"),
            PartDelta(session.id, message.id, text.id, "text", 4, "d"),
        ]
    grown = (
        replace(text, text="abc😀d"),
        replace(reasoning, text="hm"),
        replace(call, state=Pending(raw="{")),
    )
    assert (await store.messages(session.id))[0].parts == grown
    found = await store.message(message.id)
    assert found is not None
    assert found.parts == grown


async def test_text_becomes_durable_by_itself(store: Store, path: Path):
    _, message, _ = await stored_turn(store)
    text = make_text(message)
    store.stage(text)
    store.append(text.id, "text", "one ")
    await until_durable(path, text.id, "one ")
    store.append(text.id, "text", "two")
    await until_durable(path, text.id, "one two")
    await asyncio.gather(*(t for t in asyncio.all_tasks() if t.get_name() == "store flush"))


async def test_flush_and_close_make_everything_durable(store: Store, path: Path):
    session, message, _ = await stored_turn(store)
    text = make_text(message)
    store.stage(text)
    store.append(text.id, "text", "one")
    await store.flush()
    assert await durable_text(path, text.id) == "one"
    store.append(text.id, "text", " two")
    await store.close()
    again = await reopened(path)
    assert (await again.messages(session.id))[0].parts == (replace(text, text="one two"),)
    await again.close()


async def handed_over() -> None:
    """Let new tasks hand their work to the database's threads."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_late_flush_does_not_undo_a_save(store: Store, path: Path):
    """The open state that waits to be written must not overtake the closed one."""
    session, message, _ = await stored_turn(store)
    text = make_text(message)
    store.stage(text)
    store.append(text.id, "text", "draft")
    closed = replace(text, text="final", ended=20.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # the commit waits for this
        saving = asyncio.create_task(store.save(closed))
        await handed_over()
        store.append(text.id, "text", "!")
        flushing = asyncio.create_task(store.flush())
        await handed_over()
        other.execute("COMMIT")
    await asyncio.gather(saving, flushing)
    await store.flush()
    assert await durable_text(path, text.id) == "final"
    assert (await store.messages(session.id))[0].parts == (closed,)
    with pytest.raises(StoreError):
        store.append(text.id, "text", "late")


async def test_reads_never_miss_a_part_that_closes_meanwhile(store: Store):
    """The read starts on the state before the commit, and ends when memory has let go."""
    session, message, _ = await stored_turn(store)
    await store.save(*(make_text(message, "x" * 500, ended=1.0) for _ in range(3000)))
    for _ in range(5):
        text = make_text(message)
        store.stage(text)
        store.append(text.id, "text", "last")
        closed = replace(text, text="last", ended=20.0)
        reading = asyncio.create_task(store.messages(session.id))
        await handed_over()
        await store.save(closed)
        last = (await reading)[0].parts[-1]
        assert isinstance(last, TextPart)
        assert (last.id, last.text) == (text.id, "last")


async def test_a_part_staged_closed_leaves_memory_once_durable(store: Store):
    session, message, _ = await stored_turn(store)
    text = make_text(message, "whole", ended=1.0)
    store.stage(text)
    await store.flush()
    with pytest.raises(StoreError):
        store.append(text.id, "text", "more")
    assert (await store.messages(session.id))[0].parts == (text,)


async def test_a_flush_skips_records_that_another_process_deleted(store: Store, path: Path):
    gone, message, _ = await stored_turn(store)
    kept, other, _ = await stored_turn(store)
    second = await reopened(path)
    await second.delete_session(gone.id)
    await second.close()
    store.stage(make_text(message, "lost"))
    store.stage(text := make_text(other, "kept"))
    await store.flush()
    assert await store.messages(gone.id) == []
    assert (await store.messages(kept.id))[0].parts == (text,)


def test_only_an_open_part_accepts_deltas():
    parts = OpenParts()
    with pytest.raises(StoreError, match="not open"):
        parts.append("prt_none", "text", "x")
    running = make_tool(MESSAGE, STATES[1])
    parts.put(running)
    with pytest.raises(StoreError, match="takes no raw"):
        parts.append(running.id, "raw", "x")
    parts.put(text := make_text(MESSAGE))
    with pytest.raises(StoreError, match="takes no raw"):
        parts.append(text.id, "raw", "x")


@given(st.lists(st.one_of(st.text(max_size=4), st.none()), max_size=30))
def test_chunks_are_joined_whenever_they_are_read(steps: list[str | None]):
    """None is a read between two deltas."""
    parts = OpenParts()
    call = ToolPart(**own(MESSAGE), call_id="c", tool="read", state=Pending(raw="{"))
    parts.put(call)
    raw = "{"
    for step in steps:
        if step is None:
            assert parts.get(call.id) == replace(call, state=Pending(raw=raw))
        else:
            assert parts.append(call.id, "raw", step).offset == len(raw)
            raw += step
    assert parts.of_session(call.session_id) == [replace(call, state=Pending(raw=raw))]


async def test_an_unsaved_message_is_published_now_and_stored_later(store: Store, bus: Bus):
    session, message, _ = await stored_turn(store)
    ended = replace(message, completed=9.0, finish="error")
    with bus.subscribe() as events:
        store.stage(ended)
        assert events.drain() == [MessageUpdated(ended)]
    await store.flush()
    assert (await store.messages(session.id))[0].message == ended


async def test_a_newer_state_of_an_unsaved_message_counts(store: Store):
    session, message, _ = await stored_turn(store)
    newer = replace(message, completed=9.0)
    store.stage(replace(message, completed=9.0, finish="error"))
    await store.save(newer)
    await store.flush()
    assert (await store.messages(session.id))[0].message == newer


async def test_an_unsaved_message_of_a_deleted_session_is_forgotten(store: Store):
    session, message, _ = await stored_turn(store)
    store.stage(replace(message, completed=9.0))
    await store.delete_session(session.id)
    other, kept, _ = await stored_turn(store)
    store.stage(text := make_text(kept, "ab"))
    await store.flush()
    assert (await store.messages(other.id))[0].parts[-1] == text
