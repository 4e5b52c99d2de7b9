"""Cancelling a turn: the state after it, and prompts sent at the same time."""

import json
import os
import sqlite3
from pathlib import Path

from agent.records.events import Event, PartUpdated, SessionIdle
from agent.records.messages import (
    Completed,
    Failed,
    Idle,
    Running,
    TextPart,
    ToolPart,
)
from tests.support.after_turn import assert_left_clean
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Hold, Text, Tokens, answer

SLEEPS = Call("bash", {"command": "echo begun; sleep 60"})


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


async def test_usage_that_was_reported_survives_a_cancel(harness: Harness) -> None:
    harness.server.script(answer(SLEEPS, Tokens(5_000, 700)))
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(runs)
    await harness.runtime.sessions.cancel(session.id)
    await harness.idle(session)
    usage = (await harness.runtime.store.session(session.id)).usage
    assert (usage.input, usage.output) == (5_000, 700)


async def test_a_store_that_fails_leaves_no_command_running(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(
            Call("bash", {"command": "echo begun; sleep 60.125"}),
            Call("list", {}),  # so the first one is complete
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


async def test_one_done_one_running_one_asking(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        (harness.folder / ".env").write_text("KEY=1\n")
        harness.server.script(
            answer(
                Call("list", {}),
                Call("bash", {"command": "cat; echo begun; sleep 60"}),
                Call("read", {"file_path": ".env"}),
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        await harness.printed("begun")
        await harness.runtime.sessions.cancel(session.id)
        await harness.idle(session)
        done, running, asking = (tool.state for tool in await harness.tools(session))
        assert isinstance(done, Completed)
        for state in (running, asking):
            assert isinstance(state, Failed)
            assert state.kind == "aborted"
        await assert_left_clean(harness, session, 0, "one done, one running, one asking")
        sent = harness.server.requests[-1].body["messages"]
        results = [message["content"] for message in sent if message["role"] == "tool"]
        assert ".env" in results[0]
        assert all("canceled by the user" in r.lower() for r in results[1:]), results
