"""The messages that a turn of a compacted session starts with."""

import json
from pathlib import Path

from agent.records.context_parts import CompactionPart
from agent.records.messages import MessageWithParts, Session, UserMessage
from agent.session.context.conversation import Conversation
from agent.session.context.pins import set_pinned
from agent.store import queries
from tests.support.harness import Harness
from tests.support.script import Call, Text, answer

SUMMARY = answer(Text("## Goal\nso far"))
FILLER = "lorem ipsum " * 3_000


async def talk(harness: Harness, session: Session, numbers: range) -> None:
    for number in numbers:
        harness.server.script(answer(Text(f"answer {number} {FILLER}")))
        await harness.turn(session, f"question {number}")


async def compact(harness: Harness, session: Session) -> None:
    harness.server.script(SUMMARY)
    before = len(harness.events)
    await harness.runtime.sessions.compaction.start(session.id)
    await harness.idle(session, after=before)


def write_skill(folder: Path) -> None:
    place = folder / ".opencode" / "skills" / "knots"
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text("---\nname: knots\ndescription: ties\n---\nover, under\n")


def markers(messages: list[MessageWithParts]) -> list[CompactionPart]:
    return [p for item in messages for p in item.parts if isinstance(p, CompactionPart)]


async def test_a_turn_starts_with_the_tail_of_the_newest_compaction(
    harness: Harness,
) -> None:
    session, store = await harness.session(), harness.runtime.store
    await talk(harness, session, range(3))
    assert await store.context_messages(session.id) == await store.messages(session.id)
    read: list[int] = []
    for round_ in range(1, 4):
        await compact(harness, session)
        await talk(harness, session, range(3 * round_, 3 * round_ + 3))
        every = await store.messages(session.id)
        newest = markers(every)[-1]
        held = await store.context_messages(session.id)
        assert held == [m for m in every if m.message.id >= newest.first_kept_id]
        assert Conversation(held).turns() == Conversation(every).turns()
        read.append(len(held))
    assert max(read) <= read[0] + 1, "three times as long, and no more to begin with"


async def test_only_preserved_messages_are_read_for_a_compaction(harness: Harness) -> None:
    session, store = await harness.session(), harness.runtime.store
    write_skill(harness.folder)
    await talk(harness, session, range(2))
    harness.server.script(answer(Call("skill", {"name": "knots"})), answer(Text("loaded")))
    await harness.turn(session, "load it")
    await talk(harness, session, range(2, 5))
    every = await store.messages(session.id)
    asked = [m for m in every if isinstance(m.message, UserMessage)]
    await set_pinned(store, asked[4].message.id, pinned=True)
    kept = await store.read(queries.preserved_messages, session.id, "~")
    loads = [m.message.id for m in every if any(getattr(p, "tool", "") == "skill" for p in m.parts)]
    wanted = {asked[0].message.id, asked[4].message.id, *loads}
    assert loads
    assert {item.message.id for item in kept} == wanted
    assert await store.read(queries.preserved_messages, session.id, asked[0].message.id) == []
    await compact(harness, session)
    await compact_again(harness, session)
    body = json.dumps(harness.server.requests[-1].body)
    assert "question 0" in body
    assert "question 3" in body, "pinned: word for word after both summaries"


async def compact_again(harness: Harness, session: Session) -> None:
    """Run a turn, a second compaction, and another turn."""
    await talk(harness, session, range(10, 12))
    await compact(harness, session)
    harness.server.script(answer(Text("fine")))
    await harness.turn(session, "go on")
