"""V06: what a streamed word costs does not depend on how long the session is."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.records.ids import new_id
from agent.store.store import Store
from tests.agent.store.samples import make_assistant, make_session, make_text, make_user
from tests.e2e.conftest import Place, Runner, ServerThread
from tests.support.script import Hold, Text, answer

pytestmark = pytest.mark.e2e

WORDS = 5_000
TURNS = 250
SPARE = 1.0
"""Seconds of CPU for what is done once: drawing the screen after it was scrolled, timers."""


def cpu(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def talked(place: Place) -> None:
    """Leave a session of 500 messages in the place's store."""
    store = await Store.open(place.home / "data" / "sessions.db", Bus())
    here = str(place.project)
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
    """Seconds of CPU for an answer of many words; keys work in the middle of it."""
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


def test_v06_a_word_costs_the_same_after_500_messages(
    run: Runner, place: Place, scripted: ServerThread
) -> None:
    fresh = streamed(run, scripted)
    asyncio.run(talked(place))
    long = streamed(run, scripted, "--continue")
    assert long < 1.5 * fresh + SPARE
