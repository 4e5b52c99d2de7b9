"""Messages that the user pins survive every compaction word for word."""

import json

from agent.records.messages import Session
from agent.session.context.pins import pinnable_messages, set_pinned
from agent.store import queries
from tests.support.harness import Harness
from tests.support.script import Call, Hold, Text, answer

SUMMARY = answer(Text("## Goal\nso far"))


async def compact(harness: Harness, session) -> None:
    harness.server.script(SUMMARY)
    before = len(harness.events)
    await harness.runtime.sessions.compaction.start(session.id)
    await harness.idle(session, after=before)


async def long_session(harness: Harness) -> Session:
    """Return a session of four turns, long enough to be compacted."""
    session = await harness.session()
    for number in range(4):
        harness.server.script(answer(Text(f"answer {number} " + "lorem ipsum " * 3_000)))
        await harness.turn(session, f"question {number}")
    return session


async def test_a_pinned_message_outlives_two_summaries_until_it_is_unpinned(
    harness: Harness,
) -> None:
    session = await long_session(harness)
    store = harness.runtime.store
    listed = pinnable_messages(await harness.messages(session))
    assert [p.role for p in listed] == ["user", "assistant"] * 4
    wanted = {p.message_id for p in listed if p.text.startswith(("question 1", "question 2"))}
    for message_id in wanted:
        await set_pinned(store, message_id, pinned=True)
    assert {
        p.message_id for p in pinnable_messages(await harness.messages(session)) if p.pinned
    } == wanted
    for number in range(2):
        await compact(harness, session)
        harness.server.script(answer(Text(f"later {number}")))
        await harness.turn(session, f"more {number}")
        body = json.dumps(harness.server.requests[-1].body)
        assert "The user said this, and the user pinned it" in body
        assert "question 1" in body
        assert "question 2" in body
    for message_id in wanted:
        await set_pinned(store, message_id, pinned=False)
    await compact(harness, session)
    harness.server.script(answer(Text("last")))
    await harness.turn(session, "and now?")
    body = json.dumps(harness.server.requests[-1].body)
    assert "question 0" in body, "the first request is always kept"
    assert "question 1" not in body


async def test_a_message_pinned_while_a_turn_runs_stays_pinned(harness: Harness) -> None:
    session = await harness.session()
    hold = Hold()
    harness.server.script(answer(Call("list", {"path": "."})), answer(Text("a"), hold, Text("b")))
    before = len(harness.events)
    asked = await harness.send(session, "go")
    await hold.reached.wait()
    listed = pinnable_messages(await harness.messages(session))
    assert [p.message_id for p in listed] == [asked], "what is still being said is not listed"
    await set_pinned(harness.runtime.store, asked, pinned=True)
    hold.gate.set()
    await harness.idle(session, after=before)
    assert await harness.runtime.store.read(queries.pinned_ids, session.id) == {asked}


async def test_a_message_pinned_after_its_compaction_is_sent_again_once(harness: Harness) -> None:
    session = await long_session(harness)
    await compact(harness, session)
    listed = pinnable_messages(await harness.messages(session))
    late = next(p.message_id for p in listed if p.text == "question 1")
    long = next(p.message_id for p in listed if p.text.startswith("answer 1"))
    harness.server.script(answer(Text("fine")))
    await harness.turn(session, "go on")
    assert "question 1" not in json.dumps(harness.server.requests[-1].body)
    for message_id in (late, long):
        await set_pinned(harness.runtime.store, message_id, pinned=True)
    for number in range(2):
        harness.server.script(answer(Text("fine")))
        await harness.turn(session, f"and on {number}")
        body = json.dumps(harness.server.requests[-1].body)
        assert body.count("question 1") == 1, "sent once, and kept from then on"
        assert body.count("The user pinned this message from before the summary") == 2
        assert "characters are omitted here. The full text is in " in body
    await compact(harness, session)
    harness.server.script(answer(Text("fine")))
    await harness.turn(session, "once more")
    body = json.dumps(harness.server.requests[-1].body)
    assert body.count("question 1") == 1, "now the summary holds it"
    assert "pinned what was said before" not in body


async def test_a_message_pinned_while_it_is_sent_is_not_sent_twice(
    harness: Harness,
) -> None:
    session = await long_session(harness)
    await compact(harness, session)
    listed = pinnable_messages(await harness.messages(session))
    visible = next(p.message_id for p in listed if p.text == "question 3")
    await set_pinned(harness.runtime.store, visible, pinned=True)
    harness.server.script(answer(Text("fine")))
    await harness.turn(session, "go on")
    assert json.dumps(harness.server.requests[-1].body).count("question 3") == 1
