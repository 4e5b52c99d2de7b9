"""Faults that a review found, each as the scenario that showed it."""

import asyncio
import json
import os
import sqlite3
from pathlib import Path

from agent.records.events import Event, PartUpdated, SessionIdle, SessionStatusChanged
from agent.records.messages import (
    AssistantMessage,
    Failed,
    Idle,
    Retry,
    Running,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from agent.tools.pipeline import CallFailed
from tests.agent.session.turn.repeated_calls import executor_of
from tests.support.harness import Harness, environment, open_harness
from tests.support.script import Call, Failure, Hold, Text, Tokens, answer

SLEEPS = Call("bash", {"command": "echo begun; sleep 60"})
OVERFLOW = Failure(400, '{"error": {"code": "context_length_exceeded", "message": "too long"}}')


def runs(event: Event) -> bool:
    part = event.part if isinstance(event, PartUpdated) else None
    state = part.state if isinstance(part, ToolPart) else None
    return isinstance(state, Running) and "begun" in state.output


def idles(harness: Harness) -> list[SessionIdle]:
    return [e for e in harness.events if isinstance(e, SessionIdle)]


async def texts(harness: Harness, session: object) -> list[str]:
    return [p.text for p in await harness.parts(session) if isinstance(p, TextPart)]


def sent(harness: Harness, number: int = -1) -> str:
    return json.dumps(harness.server.requests[number].body["messages"])


async def test_a_prompt_sent_while_a_cancel_is_under_way_is_answered(harness: Harness) -> None:
    harness.server.script(answer(SLEEPS), answer(Text("second")))
    session = await harness.session()
    await harness.send(session, "one")
    await harness.until(runs)
    await harness.runtime.sessions.cancel(session.id)
    await harness.send(session, "two")
    await harness.until(lambda _: [i.outcome for i in idles(harness)] == ["cancelled", "completed"])
    assert "two" in sent(harness)


async def test_a_message_queued_before_the_cancel_still_waits(harness: Harness) -> None:
    harness.server.script(answer(SLEEPS))
    session = await harness.session()
    await harness.send(session, "one")
    await harness.until(runs)
    await harness.send(session, "later")
    await harness.runtime.sessions.cancel(session.id)
    await harness.idle(session)
    assert len((await harness.runtime.sessions.snapshot(session.id)).queued) == 1
    assert harness.runtime.sessions.status(session.id) == Idle()


async def test_a_prompt_that_the_cancel_overtook_is_in_the_history(harness: Harness) -> None:
    session = await harness.session()
    await harness.send(session, "one")
    await harness.runtime.sessions.cancel(session.id)
    await harness.idle(session)
    assert (await harness.runtime.sessions.snapshot(session.id)).queued == ()
    assert await texts(harness, session) == ["one"]


async def test_messages_taken_together_keep_their_order(harness: Harness) -> None:
    first, second = Hold(), Hold()
    harness.server.script(
        answer(first, Call("list", {})), answer(Text("b"), second), answer(Text("c")), answer()
    )
    session = await harness.session()
    await harness.send(session, "go")
    await first.reached.wait()
    await harness.send(session, "FOLLOW", delivery="follow_up")
    first.gate.set()
    await second.reached.wait()
    await harness.send(session, "STEER")
    second.gate.set()
    await harness.idle(session)
    messages = await harness.messages(session)
    stored = [m.parts[0].text for m in messages if isinstance(m.message, UserMessage)]
    assert stored == ["go", "FOLLOW", "STEER"]
    assert sent(harness).index("FOLLOW") < sent(harness).index("STEER")
    await harness.turn(session, "next")
    assert sent(harness)[: len(sent(harness, -2)) - 1] == sent(harness, -2)[:-1]


async def test_what_another_instance_answered_is_not_sent_again(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(hold, Text("a")), answer(Text("LATER answered")), answer(Text("done"))
    )
    session = await harness.session()
    await harness.send(session, "go")
    await hold.reached.wait()
    await harness.send(session, "LATER", delivery="follow_up")
    other = await open_runtime(harness.folder, env=environment(harness.home))
    try:
        await other.sessions.snapshot(session.id)
        hold.gate.set()
        await harness.idle(session)
        with other.bus.subscribe(lambda e: isinstance(e, SessionIdle)) as ends:
            await other.sessions.prompt(session.id, PromptInput(text="after"))
            await asyncio.wait_for(ends.wait(), 30)
    finally:
        await other.close()
    history = sent(harness)
    assert history.count('"LATER"') + history.count("\\nLATER\\n") == 1
    assert history.index("LATER") < history.index("LATER answered") < history.index("after")


async def test_usage_that_was_reported_survives_a_cancel(harness: Harness) -> None:
    harness.server.script(answer(SLEEPS, Tokens(5_000, 700)))
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(runs)
    await harness.runtime.sessions.cancel(session.id)
    await harness.idle(session)
    usage = (await harness.runtime.store.session(session.id)).usage
    assert (usage.input, usage.output) == (5_000, 700)


async def test_a_reject_stops_the_stream_at_once(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(Call("bash", {"command": "touch x"}), Call("bash", {"command": "touch y"}), hold)
    )
    session = await harness.session()
    await harness.send(session, "go")
    harness.answer(await harness.asked(), "reject")
    assert (await harness.idle(session)).outcome == "rejected"
    await asyncio.wait_for(harness.server.requests[0].closed.wait(), 30)
    assert all(isinstance(t.state, Failed) for t in await harness.tools(session))
    hold.gate.set()
    harness.server.script(answer(Text("fine")))
    assert (await harness.turn(session, "next")).outcome == "completed"


async def test_a_fault_outside_the_tool_ends_the_call(harness: Harness) -> None:
    """The question about a repeated call cannot be asked."""
    session = await harness.session()
    harness.server.script(answer(Text("hi")))
    await harness.turn(session, "go")
    step = (await harness.messages(session))[-1].message
    runtime = harness.runtime

    async def cannot_ask(_part: ToolPart, _answered: object) -> None:
        raise RuntimeError("no rules")

    executor = executor_of(runtime, cannot_ask)
    part = ToolPart(id="prt_1", session_id=session.id, message_id=step.id, call_id="c", tool="list")
    slot = executor.announce(part)
    executor.submit(slot, "{}")
    (outcome,) = await asyncio.wait_for(executor.results(), 30)
    assert isinstance(outcome, CallFailed)
    assert "no rules" in outcome.error


async def test_a_store_that_fails_leaves_no_command_running(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(
            Call("bash", {"command": "echo begun; sleep 60.125"}),
            Call("list", {}),  # which tells that the first one is whole
            Text("more"),
            hold,
        )
    )
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(runs)
    await hold.reached.wait()
    # From here on no part can be written: a real failure of the database.
    with sqlite3.connect(harness.runtime.paths.data / "sessions.db") as connection:
        connection.execute("ALTER TABLE part RENAME TO elsewhere")
    await harness.runtime.sessions.cancel(session.id)
    await harness.idle(session)
    assert not _alive("sleep 60.125")
    assert harness.runtime.sessions.status(session.id) == Idle()
    with sqlite3.connect(harness.runtime.paths.data / "sessions.db") as connection:
        assert connection.execute("SELECT count(*) FROM lease").fetchone() == (0,)
        connection.execute("ALTER TABLE elsewhere RENAME TO part")


def _alive(words: str) -> bool:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, UnicodeDecodeError):
                continue
            if words in line:
                return True
    return False


async def test_why_a_turn_ended_stays_with_the_session(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"tokens": 100}) as harness:
        harness.server.always(answer(Call("list", {}), Tokens(100, 10)))
        session = await harness.session()
        await harness.turn(session, "go")
        last = (await harness.messages(session))[-1].message
        assert isinstance(last, AssistantMessage)
        assert last.error is not None
        assert "of 100 tokens" in last.error.message


async def test_a_turn_that_fails_before_its_first_step_says_so(tmp_path: Path) -> None:
    async with open_harness(tmp_path, compaction={"auto": False}) as harness:
        session = await harness.session()
        harness.server.script(answer(Text("long"), Tokens(85_000, 100)))
        await harness.turn(session, "first")
        await harness.turn(session, "second")
        last = (await harness.messages(session))[-1].message
        assert isinstance(last, AssistantMessage)
        assert last.error is not None
        assert "/compact" in last.error.message
        harness.server.script(answer(Text("ok")))


async def test_a_summary_is_tried_again_and_counted(tmp_path: Path) -> None:
    async with open_harness(tmp_path, retry={"delay": 2}) as harness:
        session = await harness.session()
        harness.server.script(answer(Text("a"), Tokens(100, 10)))
        await harness.turn(session, "first")
        summary = answer(Text("summary"), Tokens(1_000, 100))
        harness.server.script(OVERFLOW, Failure(503), summary, answer(Text("b"), Tokens(10, 1)))
        assert (await harness.turn(session, "second")).outcome == "completed"
        statuses = [e.status for e in harness.events if isinstance(e, SessionStatusChanged)]
        assert any(isinstance(status, Retry) for status in statuses)
        usage = (await harness.runtime.store.session(session.id)).usage
        assert (usage.input, usage.output) == (1_110, 111)


async def test_a_fork_of_a_compacted_session_is_sent_as_its_source_is(harness: Harness) -> None:
    session = await harness.session()
    for number in range(4):
        harness.server.script(answer(Text(f"answer {number} " + "word " * 3_000)))
        await harness.turn(session, f"question {number}")
    harness.server.script(OVERFLOW, answer(Text("the summary")), answer(Text("fits")))
    await harness.turn(session, "last")
    copy = await harness.runtime.sessions.repository.fork(session.id)
    for one in (session, copy):
        harness.server.script(answer(Text("x")))
        await harness.turn(one, "the same")
    assert sent(harness) == sent(harness, -2)


async def test_a_fork_in_mid_turn_has_nothing_open(harness: Harness) -> None:
    harness.server.script(answer(SLEEPS))
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(runs)
    copy = await harness.runtime.sessions.repository.fork(session.id)
    await harness.runtime.sessions.cancel(session.id)
    await harness.idle(session)
    (tool,) = await harness.tools(copy)
    assert isinstance(tool.state, Failed)
    assert (await harness.messages(copy))[-1].message.completed is not None
    harness.server.script(answer(Text("fine")))
    assert (await harness.turn(copy, "next")).outcome == "completed"
