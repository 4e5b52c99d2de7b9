"""Leases, and closing what a crash left open."""

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.records.events import MessageUpdated, PartUpdated
from agent.records.messages import (
    AssistantMessage,
    Failed,
    Pending,
    ReasoningPart,
    Running,
    TextPart,
    ToolPart,
    is_open,
)
from agent.store import search
from agent.store.lease import STALE, Lease, machine, process_start
from agent.store.store import Store
from tests.agent.store.samples import (
    INPUT,
    STATES,
    make_assistant,
    make_session,
    make_text,
    make_tool,
    make_user,
    own,
    reopened,
    rows,
    start_child,
    stored_turn,
)

HOLDER = """
import asyncio, sys
from pathlib import Path
from agent.bus import Bus
from agent.store.store import Store

async def main(path, session_id):
    store = await Store.open(path, Bus())
    print(await store.acquire_lease(session_id), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await store.close()

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


async def test_a_lease_is_held_once_and_released(store: Store, path: Path):
    session, _, _ = await stored_turn(store)
    other = await reopened(path)
    assert await store.acquire_lease(session.id)
    assert await store.acquire_lease(session.id)
    assert not await other.acquire_lease(session.id)
    assert await other.foreign_lease(session.id)
    assert not await store.foreign_lease(session.id)
    await other.release_lease(session.id)
    assert not await other.acquire_lease(session.id)
    await store.release_lease(session.id)
    assert await other.acquire_lease(session.id)
    await other.close()
    assert await store.acquire_lease(session.id)
    await store.close()
    assert rows(path, "SELECT * FROM lease") == []


async def test_a_living_process_keeps_its_turn_and_a_dead_one_loses_it(store: Store, path: Path):
    session, _, (text,) = await stored_turn(store, lambda m: make_text(m, "so far"))
    await store.close()
    child = await start_child(HOLDER, path, session.id)
    assert child.stdout is not None
    assert await child.stdout.readline() == b"True\n"
    store = await reopened(path)
    assert not await store.acquire_lease(session.id)
    assert await store.recover() == []
    assert (await store.messages(session.id))[0].parts == (text,)
    # Even a process that was stopped for long keeps it: its next write would collide.
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE lease SET heartbeat = 1.0")
    assert await store.foreign_lease(session.id)
    child.kill()
    await child.wait()
    assert not await store.foreign_lease(session.id)
    assert await store.recover() == [session.id]
    assert await store.recover() == []
    assert rows(path, "SELECT * FROM lease") == []
    assert await store.acquire_lease(session.id)
    await store.close()


def test_owners_that_cannot_be_looked_up_are_judged_by_their_heartbeat():
    here = Lease("ses", "t", 1, process_start(1), machine(), 100.0)
    assert process_start(1)
    assert here.is_alive(1e9)
    assert not replace(here, started="0").is_alive(100.0)
    for far in (replace(here, machine="another"), replace(here, machine="another", started="")):
        assert far.is_alive(100.0 + STALE - 1)
        assert not far.is_alive(100.0 + STALE + 1)
    unknown = replace(here, started="")
    assert unknown.is_alive(101.0)
    assert not unknown.is_alive(100.0 + STALE + 1)
    assert not replace(unknown, pid=2**22 + 1).is_alive(101.0)


async def crashed(path: Path, *records) -> None:
    """Leave *records* in the file as a process that died at the time 50 did."""
    store = await reopened(path)
    await store.save(*records)
    await store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO lease VALUES (?, 'gone', 1, '0', ?, 50.0)", (records[0].id, machine())
        )


async def test_recovery_closes_everything_that_was_open(path: Path):
    session = make_session()
    user = make_user(session)
    message = make_assistant(session)
    text = make_text(message, "so far")
    reasoning = ReasoningPart(**own(message), text="hm", started=60.0)
    pending = make_tool(message, Pending(raw='{"a'))
    running = make_tool(message, STATES[1])
    done = make_tool(message, STATES[2])
    closed = make_text(message, "whole", ended=14.0)
    queued = make_text(user, "a question")
    finished = make_assistant(session, completed=12.5)
    await crashed(
        path, session, user, queued, message, text, reasoning, pending, running, done, closed
    )
    bus = Bus()
    store = await Store.open(path, bus)
    await store.save(finished)
    with bus.subscribe() as events:
        assert await store.recover() == [session.id]
        published = events.drain()
    entries = await store.messages(session.id)
    assert [entry.message for entry in entries] == [
        user,
        replace(message, completed=50.0, interrupted=True),
        finished,
    ]
    assert entries[0].parts == (queued,)
    parts = {part.id: part for part in entries[1].parts}
    assert parts[text.id] == replace(text, ended=50.0, interrupted=True)
    assert parts[reasoning.id] == replace(reasoning, ended=60.0, interrupted=True)
    assert parts[done.id] == done
    assert parts[closed.id] == closed
    first, second = parts[pending.id], parts[running.id]
    assert isinstance(first, ToolPart)
    assert isinstance(first.state, Failed)
    assert (first.state.kind, first.state.raw) == ("interrupted", '{"a')
    assert isinstance(second, ToolPart)
    assert isinstance(second.state, Failed)
    assert isinstance(running.state, Running)
    assert second.state.kind == "interrupted"
    assert second.state.input == INPUT
    assert second.state.output == "tail"
    assert second.state.blocks == running.state.blocks
    assert (second.state.started, second.state.ended) == (1.5, 50.0)
    assert published[0] == MessageUpdated(entries[1].message)
    changed = [parts[part.id] for part in (text, reasoning, pending, running)]
    assert [event.part for event in published if isinstance(event, PartUpdated)] == changed
    assert [hit.part_id for hit in await store.read(search.find_hits, "so far", 50)] == [text.id]
    await store.close()


async def test_recovery_leaves_turns_of_this_process_alone(store: Store):
    session, _, (text,) = await stored_turn(store, lambda m: make_text(m, "growing"))
    assert await store.acquire_lease(session.id)
    assert await store.recover() == []
    store.append(text.id, "text", " on")
    assert (await store.messages(session.id))[0].parts == (replace(text, text="growing on"),)
    await store.release_lease(session.id)
    assert await store.recover() == []


async def test_open_work_without_a_lease_is_closed(store: Store, path: Path):
    session, _, (text,) = await stored_turn(store, lambda m: make_text(m, "left"))
    await store.close()
    again = await reopened(path)
    assert await again.recover() == [session.id]
    ended = (await again.messages(session.id))[0].parts
    assert ended == (replace(text, ended=13.0, interrupted=True),)
    await again.close()


async def test_a_dead_owner_without_open_work_is_forgotten(path: Path):
    session = make_session()
    await crashed(path, session)
    store = await reopened(path)
    assert await store.recover() == []
    assert rows(path, "SELECT * FROM lease") == []
    await store.close()


WORKER = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from agent.bus import Bus
from agent.store.store import Store
from tests.agent.store.samples import STATES, make_assistant, make_session, make_text, make_tool

def done(*ids):
    print("done", *ids, flush=True)

async def main(path):
    store = await Store.open(path, Bus())
    session = make_session()
    await store.save(session)
    done(session.id)
    assert await store.acquire_lease(session.id)
    for _ in range(100_000):
        message = make_assistant(session)
        await store.save(message)
        text = make_text(message)
        call = make_tool(message, STATES[0])
        store.stage(text)
        store.stage(call)
        for _ in range(20):
            store.append(text.id, "text", "some words ")
            store.append(call.id, "raw", "...")
            await asyncio.sleep(0)
        ended = replace(text, text="some words " * 20, ended=20.0)
        await store.save(ended)
        done(ended.id)
        await store.save(replace(call, state=STATES[1]))
        finished = replace(call, state=STATES[2])
        await store.save(finished, replace(message, completed=21.0, finish="tool-calls"))
        done(finished.id, message.id)

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("seed", range(6))
async def test_nothing_completed_is_lost_by_kill_9(path: Path, seed: int):
    """A child is killed at a random moment; the records that it reported as saved are there, and
    after recovery nothing is open."""
    child = await start_child(WORKER, path)
    assert child.stdout is not None
    saved: list[str] = []
    for _ in range(random.Random(seed).randint(1, 60)):
        saved += (await child.stdout.readline()).decode().split()[1:]
    child.kill()
    lines = (await child.stdout.read()).decode().split("\n")[:-1]
    saved += [word for line in lines for word in line.split()[1:]]
    await child.wait()
    assert saved
    store = await reopened(path)
    assert store.notices == ()
    await store.recover()
    entries = await store.messages(saved[0])
    parts = [part for entry in entries for part in entry.parts]
    present = {saved[0], *(entry.message.id for entry in entries), *(part.id for part in parts)}
    assert set(saved) <= present
    assert not any(is_open(part) for part in parts)
    for entry in entries:
        assert isinstance(entry.message, AssistantMessage)
        assert entry.message.completed is not None
        # The last save can be committed and not yet reported.
        assert entry.message.interrupted == (entry.message.id not in saved) or entry is entries[-1]
    for part in parts:
        if part.id in saved:
            assert isinstance(part, TextPart | ToolPart)
            whole = part.text if isinstance(part, TextPart) else part.state
            assert whole in ("some words " * 20, STATES[2])
    assert await store.recover() == []
    await store.close()
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
