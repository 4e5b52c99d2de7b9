"""Saving, reading, removing."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.records.blocks import TodoItem
from agent.records.errors import SessionNotFound, StoreError
from agent.records.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    PartUpdated,
    SessionCreated,
    SessionDeleted,
    SessionUpdated,
    TodoUpdated,
)
from agent.records.messages import Completed, MessageWithParts, Running, Session, ToolPart
from agent.store import search
from agent.store.store import Store
from tests.agent.store.samples import (
    STATES,
    every_part,
    make_assistant,
    make_session,
    make_text,
    make_tool,
    make_user,
    reopened,
    rows,
    stored_turn,
)


async def test_everything_is_read_after_a_restart(store: Store, path: Path):
    session = make_session()
    message = make_assistant(session)
    user = make_user(session)
    text = make_text(user, "hi", ended=1.0)
    parts = every_part(message)
    await store.save(session, message, *parts, user, text)
    await store.close()
    again = await reopened(path)
    assert await again.session(session.id) == session
    assert await again.messages(session.id) == [
        MessageWithParts(message, tuple(parts)),
        MessageWithParts(user, (text,)),
    ]
    assert await again.message(user.id) == MessageWithParts(user, (text,))
    assert await again.message("msg_none") is None
    await again.close()


async def test_events_come_in_the_order_given(store: Store, bus: Bus):
    session = make_session()
    user = make_user(session)
    part = make_text(user, "hi", ended=1.0)
    with bus.subscribe() as events:
        await store.save(part, user, session, session)
        await store.save(session)
        assert events.drain() == [
            PartUpdated(part),
            MessageUpdated(user),
            SessionCreated(session),
            SessionUpdated(session),
            SessionUpdated(session),
        ]


async def test_save_commits_before_it_publishes(store: Store, bus: Bus, path: Path):
    session = make_session()
    message = make_assistant(session)
    part = make_tool(message, STATES[2])
    seen: list[list[tuple]] = []

    def look(event: Event) -> bool:
        seen.append(rows(path, "SELECT (SELECT count(*) FROM message), count(*) FROM part"))
        return True

    with bus.subscribe(look):
        await store.save(session, message, part)
    assert seen == [[(1, 1)]] * 3


async def test_a_failed_save_saves_and_publishes_nothing(store: Store, bus: Bus):
    session = make_session()
    stray = make_text(make_user(session), "no such message", ended=1.0)
    with bus.subscribe() as events:
        with pytest.raises(StoreError):
            await store.save(session, stray)
        assert events.drain() == []
    with pytest.raises(SessionNotFound):
        await store.session(session.id)


async def test_a_cancelled_save_is_still_committed_and_published(store: Store, bus: Bus):
    session = make_session()
    with bus.subscribe() as events:
        task = asyncio.create_task(store.save(session))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await events.wait()
        assert events.drain() == [SessionCreated(session)]
    assert await store.session(session.id) == session


async def test_tool_states_replace_each_other(store: Store):
    session, message, _ = await stored_turn(store)
    pending = make_tool(message, STATES[0])
    store.stage(pending)
    running = replace(pending, state=STATES[1])
    await store.save(running)
    assert isinstance(running.state, Running)
    tail = replace(running, state=replace(running.state, output="more"))
    store.stage(tail)
    assert (await store.messages(session.id))[0].parts == (tail,)
    done = replace(pending, state=STATES[2])
    await store.save(done)
    await store.flush()
    assert (await store.messages(session.id))[0].parts == (done,)


async def test_a_state_staged_during_a_commit_wins(store: Store, bus: Bus):
    """An older state must not come after a newer one, neither on the bus nor on disk."""
    session, message, _ = await stored_turn(store)
    running = make_tool(message, STATES[1])
    assert isinstance(running.state, Running)
    newer = replace(running, state=replace(running.state, output="newer"))
    with bus.subscribe() as events:
        saving = asyncio.create_task(store.save(running))
        await asyncio.sleep(0)
        store.stage(newer)
        await saving
        assert events.drain()[-1] == PartUpdated(newer)
    await store.flush()
    assert (await store.messages(session.id))[0].parts == (newer,)


async def test_messages_are_read_in_pages(store: Store):
    session = make_session()
    users = [make_user(session) for _ in range(10)]
    parts = [make_text(user, f"n{i}", ended=1.0) for i, user in enumerate(users)]
    other = make_session()
    await store.save(session, other, *users, *parts, make_user(other))
    whole = await store.messages(session.id)
    assert [entry.message for entry in whole] == users
    last = await store.messages(session.id, limit=3)
    assert last == whole[-3:]
    before = await store.messages(session.id, before=last[0].message.id, limit=4)
    assert before == whole[3:7]
    assert await store.messages(session.id, before=users[0].id) == []
    assert await store.messages("ses_none") == []


async def test_sessions_are_listed_newest_first(store: Store):
    made = [make_session(updated=float(i), directory=f"/d{i % 2}") for i in range(6)]
    child = make_session(parent_id=made[0].id, updated=50.0, directory="/d0")
    archived = make_session(archived=True, updated=60.0, directory="/d0")
    await store.save(*made, child, archived)

    def ids(found: list[Session]) -> list[str]:
        return [session.id for session in found]

    newest = ids(made[::-1])
    assert ids(await store.sessions()) == newest
    assert ids(await store.sessions(limit=2)) == newest[:2]
    assert ids(await store.sessions(before=newest[1], limit=2)) == newest[2:4]
    assert ids(await store.sessions(directory="/d1")) == newest[::2]
    assert ids(await store.sessions(directory="/elsewhere")) == []
    assert ids(await store.sessions(include_children=True, limit=1)) == [child.id]
    assert ids(await store.sessions(archived=True, limit=1)) == [archived.id]
    assert ids(await store.children(made[0].id)) == [child.id]


async def test_queries_use_indexes(store: Store, path: Path):
    """The cost of the usual reads does not grow with the history."""
    newest = "ORDER BY rowid DESC LIMIT 9"
    page = "session_id = 'a' AND (?1 IS NULL OR rowid < ?1) ORDER BY rowid DESC LIMIT 9"
    among = "message_id IN (SELECT value FROM json_each('[]')) ORDER BY message_id, id"
    for sql in (
        f"SELECT data FROM session WHERE directory = 'a' {newest}",
        f"SELECT id FROM message WHERE {page}",
        f"SELECT data FROM part WHERE session_id = 'a' AND {among}",
        "SELECT session_id FROM part WHERE open = 1",
        "SELECT session_id FROM message WHERE open = 1",
    ):
        values = (None,) if "?1" in sql else ()
        plan = " | ".join(row[3] for row in rows(path, f"EXPLAIN QUERY PLAN {sql}", *values))
        assert "INDEX" in plan, (sql, plan)
        assert "USE TEMP B-TREE FOR ORDER BY" not in plan, (sql, plan)


async def test_deleting_a_session_deletes_its_children_and_their_records(
    store: Store, bus: Bus, path: Path
):
    root = make_session()
    child = make_session(parent_id=root.id)
    grandchild = make_session(parent_id=child.id)
    other = make_session()
    message = make_assistant(grandchild)
    open_text = make_text(message, "growing")
    await store.save(root, child, grandchild, other, message, make_text(message, "a", ended=1.0))
    store.stage(open_text)
    await store.save_todos(root.id, (TodoItem("x"),))
    await store.add_session_rule(root.id, "bash", "ls *")
    with bus.subscribe() as events:
        await store.delete_session(root.id)
        assert events.drain() == [
            SessionDeleted(grandchild.id),
            SessionDeleted(child.id),
            SessionDeleted(root.id),
        ]
    await store.flush()
    assert [session.id for session in await store.sessions(include_children=True)] == [other.id]
    for table in ("message", "part", "todo", "session_rule"):
        assert rows(path, f"SELECT count(*) FROM {table}") == [(0,)]
    with pytest.raises(SessionNotFound):
        await store.delete_session(root.id)


async def test_messages_and_parts_are_removed(store: Store, bus: Bus):
    session, message, (first, second) = await stored_turn(
        store, lambda m: make_text(m, "a", ended=1.0), lambda m: make_text(m, "open")
    )
    with bus.subscribe() as events:
        await store.remove_part(second)
        assert events.drain() == [PartRemoved(session.id, message.id, second.id)]
        await store.flush()
        assert (await store.messages(session.id))[0].parts == (first,)
        await store.remove_message(session.id, message.id)
        assert events.drain() == [MessageRemoved(session.id, message.id)]
    assert await store.messages(session.id) == []


async def test_a_user_text_without_an_end_is_not_open(store: Store):
    session = make_session()
    user = make_user(session)
    await store.save(session, user, text := make_text(user, "hello"))
    with pytest.raises(StoreError):
        store.append(text.id, "text", "more")
    assert (await store.read(search.find_hits, "hello", 50))[0].part_id == text.id


async def test_todos_rules_and_prompt_history_are_stored(store: Store, bus: Bus):
    session = make_session()
    await store.save(session)
    items = (TodoItem("one \ud800", "completed", "low"), TodoItem("two"))
    with bus.subscribe() as events:
        await store.save_todos(session.id, items)
        assert events.drain() == [TodoUpdated(session.id, items)]
    assert await store.todos(session.id) == (TodoItem("one \ufffd", "completed", "low"), items[1])
    await store.save_todos(session.id, items[1:])
    assert await store.todos(session.id) == items[1:]
    for pattern in ("ls *", "git *", "ls *"):
        await store.add_session_rule(session.id, "bash", pattern)
    assert await store.session_rules(session.id) == (("bash", "ls *"), ("bash", "git *"))
    assert await store.session_rules("ses_none") == ()
    await store.drop_session_rule(session.id, "bash", "ls *")
    await store.drop_session_rule(session.id, "edit", "git *")
    assert await store.session_rules(session.id) == (("bash", "git *"),)
    for text in ("first", "second", "second", "first \udc80"):
        await store.add_prompt_history(text, "/a")
    assert await store.prompt_history() == ["first \ufffd", "second", "first"]
    assert await store.prompt_history(1) == ["first \ufffd"]


async def test_surrogates_never_make_a_write_fail(store: Store):
    session = make_session(directory="/a\udc80", title="\ud83d")
    message = make_assistant(session)
    await store.save(session, message)
    text = make_text(message, "a")
    store.stage(text)
    store.append(text.id, "text", "\ud83d")
    await store.flush()
    odd = replace(make_tool(message, STATES[2]), tool="to\ud800ol", opaque={"k": "\udfff"})
    await store.save(odd)
    assert [found.id for found in await store.sessions(directory="/a\udc80")] == [session.id]
    stored = (await store.messages(session.id))[0].parts[1]
    assert isinstance(stored, ToolPart)
    assert isinstance(stored.state, Completed)
    assert stored.opaque == {"k": "\ufffd"}


async def test_a_closed_store_raises_a_clear_error(path: Path):
    store = await reopened(path)
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.save(make_session())


async def test_changes_of_one_session_by_two_programs_are_kept(store: Store, path: Path):
    session = make_session()
    await store.save(replace(session, turns=0))
    other = await Store.open(path, Bus())
    try:
        await asyncio.gather(
            *(
                each.update(session.id, lambda held: replace(held, turns=held.turns + 1))
                for each in (store, other) * 10
            )
        )
    finally:
        await other.close()
    assert (await store.session(session.id)).turns == 20
    with pytest.raises(SessionNotFound, match="There is no session ses_none"):
        await store.update("ses_none", lambda held: held)
