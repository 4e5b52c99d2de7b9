"""``/compact``: a compaction that the user requests."""

import json

import pytest

from agent.records.errors import NothingToDo, SessionBusy
from agent.records.messages import AssistantMessage, Busy, CompactionPart, Idle
from tests.support.harness import Harness
from tests.support.script import Failure, Hold, Text, answer

SUMMARY = answer(Text("## Goal\nthe summary"))


async def two_turns(harness: Harness):
    session = await harness.session()
    for number in range(2):
        harness.server.script(answer(Text(f"answer {number}")))
        await harness.turn(session, f"question {number}")
    return session


async def markers(harness: Harness, session) -> list[CompactionPart]:
    return [p for p in await harness.parts(session) if isinstance(p, CompactionPart)]


async def test_a_requested_compaction_does_not_continue_the_work(harness: Harness) -> None:
    session = await two_turns(harness)
    harness.server.script(SUMMARY)
    before = len(harness.events)
    await harness.runtime.sessions.compaction.start(session.id, "the colour of the door")
    assert (await harness.idle(session, after=before)).outcome == "completed"
    assert len(harness.server.requests) == 3
    assert "the colour of the door" in json.dumps(harness.server.requests[-1].body)
    (marker,) = await markers(harness, session)
    assert not marker.auto
    messages = await harness.messages(session)
    assert messages[-1].message.id == marker.message_id, "nothing continues after it"
    assert len(messages) == 5
    harness.server.script(answer(Text("yes")))
    await harness.turn(session, "and now?")
    last = json.dumps(harness.server.requests[-1].body)
    for kept in ("the summary", "question 0", "question 1", "and now?"):
        assert kept in last
    assert "answer 0" not in last


async def test_compact_is_refused_during_a_turn_and_in_an_empty_session(
    harness: Harness,
) -> None:
    session = await harness.session()
    start = harness.runtime.sessions.compaction.start
    with pytest.raises(NothingToDo):
        await start(session.id)
    hold = Hold()
    harness.server.script(answer(Text("a"), hold, Text("b")), SUMMARY)
    before = len(harness.events)
    await harness.send(session, "go")
    await hold.reached.wait()
    with pytest.raises(SessionBusy, match="when it is done"):
        await start(session.id)
    hold.gate.set()
    await harness.idle(session, after=before)
    before = len(harness.events)
    await start(session.id)
    await harness.idle(session, after=before)
    with pytest.raises(NothingToDo, match="since the last summary"):
        await start(session.id)


async def test_a_cancel_leaves_the_session_as_it_was(harness: Harness) -> None:
    session = await two_turns(harness)
    stored = await harness.messages(session)
    hold = Hold()
    harness.server.script(answer(Text("## Goal"), hold))
    before = len(harness.events)
    await harness.runtime.sessions.compaction.start(session.id)
    await hold.reached.wait()
    status = harness.runtime.sessions.status(session.id)
    assert isinstance(status, Busy)
    assert status.compacting
    assert await harness.runtime.sessions.cancel(session.id)
    assert (await harness.idle(session, after=before)).outcome == "cancelled"
    assert await harness.messages(session) == stored
    assert harness.runtime.sessions.status(session.id) == Idle()
    hold.gate.set()


async def test_a_prompt_sent_during_a_compaction_is_answered_afterwards(harness: Harness) -> None:
    session = await two_turns(harness)
    hold = Hold()
    harness.server.script(answer(Text("## Goal\nso far"), hold), answer(Text("the answer")))
    before = len(harness.events)
    await harness.runtime.sessions.compaction.start(session.id)
    await hold.reached.wait()
    await harness.send(session, "one more thing")
    hold.gate.set()
    first = await harness.idle(session, after=before)
    await harness.idle(session, after=harness.events.index(first) + 1)
    last = json.dumps(harness.server.requests[-1].body)
    assert "so far" in last
    assert "one more thing" in last


async def test_a_failed_compaction_is_reported_and_changes_nothing(harness: Harness) -> None:
    session = await two_turns(harness)
    stored = await harness.messages(session)
    harness.server.script(Failure(401, '{"error": {"message": "bad key"}}'))
    before = len(harness.events)
    await harness.runtime.sessions.compaction.start(session.id)
    idle = await harness.idle(session, after=before)
    assert idle.outcome == "failed"
    assert idle.error is not None
    assert idle.error.message.startswith("The session could not be compacted.")
    after = await harness.messages(session)
    assert after[: len(stored)] == stored
    shown = after[-1].message
    assert isinstance(shown, AssistantMessage)
    assert shown.error == idle.error


async def test_undone_messages_are_not_compacted(harness: Harness) -> None:
    session = await two_turns(harness)
    undo = harness.runtime.sessions.undo
    plan = await undo.plan(session.id)
    assert plan is not None
    await undo.undo(plan, files=False, conversation=True)
    with pytest.raises(NothingToDo, match="/redo"):
        await harness.runtime.sessions.compaction.start(session.id)
