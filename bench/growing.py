"""Large blocks: a line more costs the same however long the block is, a pasted text its size."""

import asyncio
import statistics
import time
from collections.abc import Callable

from agent.records.events import PartDelta
from app.session_state.view import SessionView
from bench.table import Row, ms
from bench.testbed import Testbed, cpu, settle
from tests.support.records import SESSION, open_assistant, reasoning, snapshot, text_part
from tests.support.transcripts import SIZE, TranscriptApp, say

LINES = 1_000
SAMPLES = 20
FLAT = 1.5
PASTED = 600_000
"""Characters."""

KINDS: dict[str, Callable[[int, int], str]] = {
    "a list": lambda first, end: "".join(f"- point {n} with *words*\n" for n in range(first, end)),
    "a table": lambda first, end: (
        ("" if first else "| number | word |\n| --- | --- |\n")
        + "".join(f"| {n} | word {n} |\n" for n in range(first, end))
    ),
    "a code block": lambda first, end: (
        ("" if first else "```python\n")
        + "".join(f"value_{n} = read({n})  # one more\n" for n in range(first, end))
    ),
    "a paragraph": lambda first, end: "".join(
        f"and line {n} of one long paragraph\n" for n in range(first, end)
    ),
    "reasoning": lambda first, end: "".join(f"thought {n}\n" for n in range(first, end)),
}
"""Markdown of the lines from the first number up to the last, by kind."""


def growing_blocks(testbed: Testbed) -> list[Row]:
    """Measure lines appended one by one to a long block of each kind and to one of four times its
    length."""
    _ = testbed
    rows: list[Row] = []
    for kind in KINDS:
        few, many = (asyncio.run(_appended(kind, lines)) for lines in (LINES, 4 * LINES))
        figure = f"a line more in {kind} of {4 * LINES:,} lines"
        rows.append(Row(figure, f"{ms(many)} CPU", f"of {LINES:,} {ms(few)}", many / few, FLAT))
    return rows


async def _appended(kind: str, lines: int) -> float:
    """Return the median CPU seconds of one more line, laid out and painted."""
    make, text = reasoning if kind == "reasoning" else text_part, KINDS[kind](0, lines)
    part = make("prt_9999", "msg_9999", text, ended=None)
    app = TranscriptApp(SessionView(snapshot(open_assistant("msg_9999", part))))
    took: list[float] = []
    async with app.run_test(size=SIZE) as pilot:
        for number in range(lines, lines + SAMPLES):
            line = KINDS[kind](number, number + 1)
            delta = PartDelta(SESSION, "msg_9999", "prt_9999", "text", len(text), line)
            text += line
            before = time.thread_time()
            say(app, delta)
            await pilot.pause(0)
            took.append(time.thread_time() - before)
    return statistics.median(took)


def large_paste(testbed: Testbed) -> list[Row]:
    """Measure the CPU of a pasted text and of one of four times its size."""
    few, many = (_pasted(testbed, size) for size in (PASTED, 4 * PASTED))
    figure = f"CPU of a paste of {4 * PASTED / 1e6:.1f} MB"
    told = f"a quarter of it {few:.3f} s"
    return [Row(figure, f"{many:.3f} s", told, many / (4 * few), FLAT)]


def _pasted(testbed: Testbed, size: int) -> float:
    line = "a line of a log that somebody pastes\n"
    with testbed.ready(used=False) as terminal:
        before = cpu(terminal.pid)
        terminal.send("\x1b[200~" + line * (size // len(line)) + "THE END\x1b[201~")
        terminal.wait("lines")
        settle(terminal)
        return cpu(terminal.pid) - before
