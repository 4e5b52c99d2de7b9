"""Long sessions: opening one, and appending a line to a transcript of 2,000 messages."""

import asyncio
import statistics
import time
from collections.abc import Iterator
from functools import partial

from agent.bus import Bus
from agent.records.blocks import ShellBlock, ToolLabel
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Session,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.store.store import Store
from agent.store.writes import Record, write_records
from bench.table import Row, ms
from bench.testbed import READY, Testbed, cpu, settle
from tests.support.transcripts import SIZE, TranscriptApp, grow, streaming

CALLS = 1_000
ROUNDS = 3
TURNS = 1_000
LINES = 100
LAST = "the last word of all"
START = 1_700_000_000.0


def append_lines(testbed: Testbed) -> list[Row]:
    """Measure lines appended one by one after 2,000 messages, laid out and painted."""
    _ = testbed
    took, fewer = asyncio.run(_appended(TURNS)), asyncio.run(_appended(TURNS // 4))
    value, base = statistics.median(took), statistics.median(fewer)
    return [
        Row(
            f"a line more in a transcript of {2 * TURNS:,} messages",
            f"{ms(value)} CPU, max {ms(max(took))}",
            f"of {TURNS // 2} messages {ms(base)}",
            value / base,
            1.3,
        )
    ]


async def _appended(turns: int) -> list[float]:
    app = TranscriptApp(streaming(turns))
    took: list[float] = []
    async with app.run_test(size=SIZE) as pilot:
        for number in range(LINES):
            before = time.thread_time()
            grow(app, f"\n\nparagraph {number} with *some* words")
            await pilot.pause(0)
            took.append(time.thread_time() - before)
    return took


def open_long_session(testbed: Testbed) -> list[Row]:
    """Measure the CPU until a session is shown and idle, next to one of a single message."""
    with testbed.program() as terminal:  # creates the database
        terminal.wait(READY)
    sessions = {"ses_short": 0, "ses_long": CALLS}
    asyncio.run(_write(testbed, sessions))
    took: dict[str, list[float]] = {name: [] for name in sessions}
    for _ in range(ROUNDS):
        for name, values in took.items():
            with testbed.program("--session", name) as terminal:
                terminal.sees(LAST.encode())
                settle(terminal)
                values.append(cpu(terminal.pid))
    long, short = min(took["ses_long"]), min(took["ses_short"])
    return [
        Row(
            f"opening a session of {CALLS:,} calls",
            f"{long:.3f} s CPU",
            f"without calls {short:.3f} s",
            long / short,
            1.3,
        )
    ]


async def _write(testbed: Testbed, sessions: dict[str, int]) -> None:
    path = next(testbed.home.rglob("sessions.db"))
    store = await Store.open(path, Bus())
    try:
        for name, calls in sessions.items():
            records = list(_records(testbed, name, calls))
            await store._database.write(partial(write_records, records=records))
    finally:
        await store.close()


def _records(testbed: Testbed, name: str, calls: int) -> Iterator[Record]:
    folder = str(testbed.project)
    yield Session(
        id=name, directory=folder, project=folder, title=name, created=START, updated=START, turns=1
    )
    ask = f"msg_{name}_0000"
    yield UserMessage(
        id=ask, session_id=name, created=START, agent="build", model="bench/one", turn_id=name
    )
    yield _said(name, ask, "Read all files.")
    for step in range(calls + 1):
        reply = f"msg_{name}_{step + 1:04}"
        yield AssistantMessage(
            id=reply,
            session_id=name,
            created=START,
            parent_id=ask,
            turn_id=name,
            step=step + 1,
            agent="build",
            model="bench/one",
            completed=START + 1,
        )
        yield _said(name, reply, "I look at the next." if step < calls else LAST)
        if step < calls:
            yield _called(name, reply, step)


def _said(session: str, message: str, text: str) -> TextPart:
    return TextPart(
        id=f"prt_{message}_0",
        session_id=session,
        message_id=message,
        text=text,
        started=START,
        ended=START,
    )


def _called(session: str, message: str, step: int) -> ToolPart:
    output = "\n".join(f"line {number} of step {step}" for number in range(30))
    state = Completed(
        input={"command": f"make {step}"},
        label=ToolLabel("Bash", f"make {step}"),
        started=START,
        ended=START + 1,
        output=output,
        blocks=(ShellBlock(f"make {step}", output, 0),),
    )
    return ToolPart(
        id=f"prt_{message}_1",
        session_id=session,
        message_id=message,
        call_id=f"call_{step}",
        tool="bash",
        state=state,
    )
