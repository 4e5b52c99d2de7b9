"""The cost of a streamed word does not depend on the length of the session."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.records.ids import new_id
from agent.store.store import Store
from tests.agent.store.samples import make_assistant, make_session, make_text, make_user
from tests.e2e.conftest import InstalledProgram, Runner, ServerThread
from tests.support.script import Hold, Text, answer

pytestmark = pytest.mark.e2e

WORDS = 5_000
TURNS = 250
SPARE = 1.0
"""Seconds of CPU for one-time work: drawing the screen after scrolling, timers."""


def cpu(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def talked(installed: InstalledProgram) -> None:
    """Write a session of 500 messages to the database."""
    store = await Store.open(installed.home / "data" / "sessions.db", Bus())
    here = str(installed.project)
    session = make_session(
        directory=here, project=here, title="long", turns=TURNS, updated=time.time() + 60
    )
    await store.save(session)
    for number in range(TURNS):
        turn = new_id("trn")
        user = make_user(session, turn_id=turn)
        step = make_assistant(
            session, parent_id=user.id, turn_id=turn, completed=1.0, finish="stop"
        )
        said = f"## Answer {number}\n\nSome *words* about `it`.\n\n- one\n- two\n"
        await store.save(
            user, make_text(user, f"question {number}", ended=1.0),
            step, make_text(step, said, ended=1.0),
        )  # fmt: skip
    await store.close()


def streamed(run: Runner, scripted: ServerThread, *arguments: str) -> float:
    """Return the seconds of CPU for a response of many words; keys work in the middle of it."""
    words = [Text(f"word{n} " if n % 12 else f"word{n}\n\n") for n in range(WORDS)]
    hold = Hold()
    scripted.server.always(answer(Text("ok")))
    scripted.server.replace((answer(*words[: WORDS // 2], hold, *words[WORDS // 2 :]),))
    with run(*arguments) as terminal:
        terminal.wait(r"model-1")
        if arguments:
            terminal.wait(f"Answer {TURNS - 1}")
        before = cpu(terminal.pid)
        terminal.enter("go")
        terminal.wait(rf"word{WORDS // 2 - 1}")
        terminal.send("my draft")
        terminal.wait(r"▌ my draft")
        scripted.set(hold.gate)
        terminal.wait(rf"word{WORDS - 1}")
        return cpu(terminal.pid) - before


def test_a_streamed_word_costs_the_same_after_500_messages(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    fresh = streamed(run, scripted)
    asyncio.run(talked(installed))
    long = streamed(run, scripted, "--continue")
    assert long < 1.5 * fresh + SPARE
