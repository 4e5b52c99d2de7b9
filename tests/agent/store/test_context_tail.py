"""The messages that a compacted session continues with, and those that survive a compaction."""

from dataclasses import replace
from pathlib import Path

from agent.records.messages import CompactionPart, Message, MessageWithParts, Session, ToolPart
from agent.store import queries
from agent.store.store import Store
from tests.agent.store.samples import (
    STATES,
    make_assistant,
    make_session,
    make_text,
    make_tool,
    make_user,
    own,
    rows,
)


def ids(items: list[MessageWithParts]) -> list[str]:
    return [item.message.id for item in items]


async def talk(store: Store, session: Session, turns: int, **fields) -> list[Message]:
    """Save *turns* requests, each with a response."""
    made: list[Message] = []
    for number in range(turns):
        user = make_user(session, turn_id=f"trn_{number}", **fields)
        answer = make_assistant(session, completed=12.5)
        texts = [make_text(message, f"{number}", ended=1.0) for message in (user, answer)]
        await store.save(user, answer, *texts)
        made += [user, answer]
    return made


async def compact(store: Store, session: Session, tail: Message | None) -> Message:
    marker = make_user(session, turn_id="trn_s", synthetic=True)
    start = tail.id if tail is not None else None
    part = CompactionPart(**own(marker), summary="so far", auto=True, tail_start_id=start)
    await store.save(marker, part)
    return marker


async def test_every_message_counts_without_a_compaction(store: Store):
    session = make_session()
    await store.save(session)
    made = await talk(store, session, 3)
    assert await store.context_messages(session.id) == await store.messages(session.id)
    assert ids(await store.context_messages(session.id, before=made[4].id)) == ids_of(made[:4])


def ids_of(messages: list[Message]) -> list[str]:
    return [message.id for message in messages]


async def test_messages_count_from_the_tail_of_the_newest_compaction_on(store: Store):
    session, other = make_session(), make_session()
    await store.save(session, other)
    await talk(store, other, 2)
    first = await talk(store, session, 4)
    one = await compact(store, session, first[6])
    assert ids(await store.context_messages(session.id)) == [*ids_of(first[6:]), one.id]
    second = await talk(store, session, 3)
    two = await compact(store, session, None)
    third = await talk(store, session, 1)
    found = await store.context_messages(session.id)
    assert ids(found) == [two.id, *ids_of(third)]
    assert found == (await store.messages(session.id))[-3:]
    # Undone messages, including the newest summary, are ignored.
    back = await store.context_messages(session.id, before=second[2].id)
    assert ids(back) == [*ids_of(first[6:]), one.id, *ids_of(second[:2])]


async def test_queued_messages_count_wherever_they_are(store: Store):
    """The message was sent during the compaction."""
    session = make_session()
    await store.save(session)
    made = await talk(store, session, 2)
    waits = make_user(session)
    await store.save(waits, make_text(waits, "and then?", ended=1.0))
    marker = await compact(store, session, None)
    assert ids(await store.context_messages(session.id)) == [waits.id, marker.id]
    assert made[0].id not in ids(await store.context_messages(session.id))


async def test_messages_that_a_compaction_preserves_are_found(store: Store):
    """The first request, pinned messages and loaded skills, but no reminders."""
    session = make_session()
    await store.save(session)
    reminder = (await talk(store, session, 1, synthetic=True))[0]
    made = await talk(store, session, 5)
    pinned = made[4]
    await store.save(replace(pinned, pinned=True))
    skill = replace(make_tool(made[7], STATES[2]), tool="skill")
    await store.save(skill)
    after = await talk(store, session, 1)
    found = await store.read(queries.preserved_messages, session.id, after[0].id)
    assert ids(found) == [made[0].id, pinned.id, made[7].id]
    assert [part.id for part in found[2].parts if isinstance(part, ToolPart)] == [skill.id]
    assert reminder.id not in ids(found)
    assert ids(await store.read(queries.preserved_messages, session.id, made[4].id)) == [made[0].id]


async def test_the_start_of_a_turn_is_found_by_indexes(store: Store, path: Path):
    """The cost of continuing does not grow with the compacted history."""
    for sql, index in (
        (
            (
                "SELECT message_id, data FROM part WHERE session_id = 'a' AND type = 'compaction' "
                "ORDER BY message_id DESC"
            ),
            "part_summary",
        ),
        (
            (
                "SELECT id, data FROM message WHERE session_id = 'a' AND rowid < 9 "
                "AND role = 'user' AND turn_id IS NULL"
            ),
            "message_waiting",
        ),
        (
            (
                "SELECT message_id FROM part WHERE session_id = 'a' AND message_id < 'b' "
                "AND tool = 'skill'"
            ),
            "part_skill",
        ),
        (
            f"SELECT id FROM message WHERE session_id = 'a' AND {queries.PINNED}",
            "message_pinned",
        ),
    ):
        plan = " | ".join(row[3] for row in rows(path, f"EXPLAIN QUERY PLAN {sql}"))
        assert index in plan, (sql, plan)
