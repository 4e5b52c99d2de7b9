"""``kill -9`` at any moment: completed records are stored, the others are marked, and the next
request is valid. KILL_POINTS is the number of moments (default: 20)."""

import asyncio
import json
import os
import random
import signal
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.provider.client import AssistantTurn, ToolCallContent, ToolTurn
from agent.records.messages import AssistantMessage, Completed, Failed, ToolPart, is_open
from agent.session.context.request_turns import request_turns
from agent.store.store import Store
from tests.agent.store.samples import rows, start_child
from tests.support.after_turn import trial

POINTS = int(os.environ.get("KILL_POINTS", "20"))
GROUPS = 10
"""Number of tests that share the moments, so that they can run in parallel."""

LONGEST = 120 if POINTS <= 100 else 3600
"""Seconds until a group counts as hung: many moments take long on a busy machine."""

TICKS = 40_000
"""Steps of SQLite's machine, by fifties, within which the moment lies: some twenty turns."""

# The child ends itself in the middle of SQLite's work: no moment is out of reach, and every
# one can be tried again. It reports each record as durable before it continues.
CHILD = """
import asyncio, os, signal, sqlite3, sys
from dataclasses import replace
from pathlib import Path

left = int(sys.argv[2])
def tick():
    global left
    left -= 1
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return 0

connect = sqlite3.connect
def counted(*args, **how):
    made = connect(*args, **how)
    made.set_progress_handler(tick, 50)
    return made
sqlite3.connect = counted

from agent.bus import Bus
from agent.records.messages import StepFinishPart
from agent.store.store import Store
from tests.agent.store.samples import STATES, make_assistant, make_session, make_text, make_tool
from tests.agent.store.samples import make_user, own

def durable(kind, record):
    os.write(1, f"{kind} {record.id}\\n".encode())

async def main():
    store = await Store.open(Path(sys.argv[1]), Bus())
    session = make_session()
    await store.acquire_lease(session.id)
    await store.save(session)
    durable("session", session)
    while True:
        user = make_user(session, turn_id="trn_0")
        await store.save(user, make_text(user, "do it", ended=1.0))
        durable("user", user)
        step = make_assistant(session, parent_id=user.id)
        await store.save(step)
        text = make_text(step)
        store.stage(text)
        for n in range(5):
            store.append(text.id, "text", f"word {n} ")
            await asyncio.sleep(0)
        await store.flush()
        tool = make_tool(step, STATES[0])
        store.stage(tool)
        await store.save(replace(tool, state=STATES[1]))
        done = replace(tool, state=STATES[2])
        await store.save(done, replace(text, text="word 0 to 4", ended=2.0))
        durable("tool", done)
        durable("text", text)
        finished = replace(step, completed=3.0, finish="stop")
        await store.save(finished, StepFinishPart(**own(step), finish="stop"))
        durable("message", finished)

asyncio.run(main())
"""


async def killed(path: Path, ticks: int) -> list[tuple[str, str]]:
    """Return the records that the child reported as durable before it died."""
    child = await start_child(CHILD, path, str(ticks))
    async with asyncio.timeout(60):
        output, _ = await child.communicate()
    assert child.returncode == -signal.SIGKILL
    saved = [line.split() for line in output.decode().splitlines()]
    return [(kind, id_) for kind, id_ in saved]


@pytest.mark.timeout(LONGEST)
@pytest.mark.parametrize("group", range(GROUPS))
async def test_nothing_completed_is_lost_by_a_kill(tmp_path: Path, group: int) -> None:
    for point in range(group, POINTS, GROUPS):
        # Early moments are tried more often: the file is made in them.
        ticks = int(TICKS ** random.Random(point).random())
        path = tmp_path / f"{point}.db"
        saved = await killed(path, ticks)
        with trial(f"kill -9 {_when(saved)}"):
            await _holds(path, saved, f"moment {ticks}")


def _when(saved: list[tuple[str, str]]) -> str:
    """Return the stage in which the child died, from its last report."""
    stages = {
        "session": "before the first prompt",
        "user": "while a step streams or its call runs",
        "tool": "as a call ends",
        "text": "as a step ends",
        "message": "between turns",
    }
    return stages[saved[-1][0]] if saved else "while the database is made"


async def _holds(path: Path, saved: list[tuple[str, str]], where: str) -> None:
    store = await Store.open(path, Bus())
    try:
        await store.recover()
        assert store.notices == (), where
        sessions = await store.sessions()
        assert [("session", s.id) for s in sessions] == saved[:1] or not saved, where
        messages = await store.messages(sessions[0].id) if sessions else []
        known = {item.message.id: item.message for item in messages}
        parts = {part.id: part for item in messages for part in item.parts}
        for kind, id_ in saved[1:]:
            match kind:
                case "user":
                    assert id_ in known, where
                case "message":
                    message = known[id_]
                    assert isinstance(message, AssistantMessage)
                    assert (message.completed, message.interrupted) == (3.0, False), where
                case "tool":
                    part = parts[id_]
                    assert isinstance(part, ToolPart)
                    assert isinstance(part.state, Completed), where
                case _:
                    assert json.dumps(getattr(parts[id_], "text", None)) == '"word 0 to 4"', where
        for item in messages:
            if isinstance(item.message, AssistantMessage):
                assert item.message.completed is not None, where
                assert not any(map(is_open, item.parts)), where
        _valid(messages, where)
        if sessions:
            assert await store.acquire_lease(sessions[0].id), where
    finally:
        await store.close()
    assert rows(path, "PRAGMA integrity_check") == [("ok",)], where
    for table in ("part_words", "part_trigrams"):
        rows(path, f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")


def _valid(messages, where: str) -> None:
    """Check that every call is followed by its result, or by an error that says there is none."""
    turns = request_turns(messages)
    for at, turn in enumerate(turns):
        if isinstance(turn, AssistantTurn):
            calls = [c.call_id for c in turn.content if isinstance(c, ToolCallContent)]
            if calls:
                following = turns[at + 1]
                assert isinstance(following, ToolTurn), where
                assert [result.call_id for result in following.content] == calls, where
    for item in messages:
        for part in item.parts:
            if isinstance(part, ToolPart):
                assert isinstance(part.state, Completed | Failed), where
