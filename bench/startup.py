"""Start-up: from the command to the first frame, from the first Enter to the model, and commands
without a screen."""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from app.cli.main import COMMANDS
from bench.table import Row, least_and_median, ms, to_loop
from bench.testbed import COMMAND, PROMPT, ROOT, Testbed, ask, cpu, watch
from tests.support.terminal import Terminal

ROUNDS = 7
FIRSTS = 3
HELPS = 4
AFTER_START = 3.5
HEADLESS = 5
LATER = 5.0
"""Seconds after the first frame in which everything that was put off is loaded."""


def first_frame(testbed: Testbed) -> list[Row]:
    """Measure CPU and wall time, interleaved with the empty app; the first round warms up."""
    ours: list[tuple[float, float]] = []
    empty: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        ours.append(_one(testbed.program))
        empty.append(_one(testbed.empty_app))
    rows = []
    limits = ("CPU", 1.1), ("wall", None)
    for index, (what, limit) in enumerate(limits):
        mine = [took[index] for took in ours[1:]]
        base = min(took[index] for took in empty[1:])
        rows.append(
            Row(
                f"{what} to the first painted prompt",
                least_and_median(mine),
                f"empty app {base:.3f} s",
                min(mine) / base,
                limit,
            )
        )
    base = min(took[0] for took in empty[1:])
    later = [_later(testbed) for _ in range(FIRSTS)]
    told = least_and_median(later)
    rows.append(
        Row(
            f"CPU {LATER:.0f} s later, in all",
            told,
            f"empty app {base:.3f} s",
            min(later) / base,
            AFTER_START,
        )
    )
    return rows


def _later(testbed: Testbed) -> float:
    with testbed.program() as terminal:
        terminal.sees(PROMPT)
        watch(terminal, LATER)
        return cpu(terminal.pid)


def _one(started: Callable[[], Terminal]) -> tuple[float, float]:
    begun = time.monotonic()
    with started() as terminal:
        painted = terminal.sees(PROMPT)
        return cpu(terminal.pid), painted - begun


def first_prompt(testbed: Testbed) -> list[Row]:
    """Measure from Enter to the request at the model, for the first prompt of a run."""
    took: list[float] = []
    used: list[float] = []
    for _ in range(FIRSTS):
        with testbed.ready(used=False) as terminal:
            begun, before = ask(terminal, "deltas 1")
            terminal.sees(b"END1")  # no title of an earlier session has this word
            used.append(cpu(terminal.pid) - before)
            took.append(testbed.events("request", begun)[0][0] - begun)
    return [
        to_loop("Enter to the model, first prompt", least_and_median(took), min(took), 6),
        Row("CPU from there to its answer on the screen", ms(min(used))),
    ]


def commands(testbed: Testbed) -> list[Row]:
    """Measure commands that only print, and a headless run."""
    asked = ("--version", "--help", *(f"{name} --help" for name in COMMANDS))
    least = {words: min(_used(testbed, words) for _ in range(HELPS)) for words in asked}
    slowest = max(least, key=least.__getitem__)
    bare = min(_cpu(testbed, [sys.executable, "-c", "import argparse"]) for _ in range(HELPS))
    client = [sys.executable, "-m", "bench.bare_client", testbed.url]
    base = min(_cpu(testbed, client, cwd=str(ROOT)) for _ in range(ROUNDS))
    used: list[float] = []
    took: list[float] = []
    for _ in range(ROUNDS):
        begun = time.monotonic()
        used.append(_used(testbed, "run hello"))
        took.append(testbed.events("request", begun)[0][0] - begun)
    return [
        Row(
            f"CPU of --version and {len(asked) - 1} helps, the most",
            f"{ms(least[slowest])}, {slowest}",
            f"Python with argparse {ms(bare)}",
            least[slowest] / bare,
            4,
        ),
        to_loop("run: from the command to the model", least_and_median(took), min(took)),
        Row(
            "run: CPU in all, one short answer",
            least_and_median(used),
            f"bare client {base:.3f} s",
            min(used) / base,
            HEADLESS,
        ),
    ]


def _used(testbed: Testbed, words: str) -> float:
    return _cpu(testbed, [COMMAND, *words.split()])


def _cpu(testbed: Testbed, argv: list[str], cwd: str | None = None) -> float:
    """Return the CPU seconds of a program from start to exit."""
    process = subprocess.Popen(
        argv,
        cwd=cwd or testbed.project,
        env=testbed.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, argv
    return usage.ru_utime + usage.ru_stime
