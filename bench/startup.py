"""Start-up: from the command to the first frame, from the first Enter to the model, and commands
without a screen."""

import os
import subprocess
import time
from collections.abc import Callable

from app.cli.main import COMMANDS
from bench.table import Row, least_and_median, ms, ratio, verdict
from bench.testbed import COMMAND, PROMPT, Testbed, ask, cpu
from tests.support.terminal import Terminal

ROUNDS = 7
FIRSTS = 3
HELPS = 4


def first_frame(testbed: Testbed) -> list[Row]:
    """Measure CPU and wall time, interleaved with the empty app; the first round warms up."""
    ours: list[tuple[float, float]] = []
    empty: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        ours.append(_one(testbed.program))
        empty.append(_one(testbed.empty_app))
    rows = []
    for index, (what, bound) in enumerate((("CPU", "≤ 1.4 ×"), ("wall", ""))):
        mine = [took[index] for took in ours[1:]]
        base = [took[index] for took in empty[1:]]
        rows.append(
            Row(
                f"{what} to the first painted prompt",
                f"{least_and_median(mine)}; empty app {min(base):.3f} s",
                bound,
                ratio(mine, base),
                verdict(min(mine) / min(base), 1.4) if bound else "",
            )
        )
    return rows


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
            begun, before = ask(terminal, "hello")
            terminal.sees(b"DONE")
            used.append(cpu(terminal.pid) - before)
            took.append(testbed.events("request", begun)[0][0] - begun)
    return [
        Row(
            "Enter to the model, first prompt",
            least_and_median(took),
            "≤ 0.1 s",
            verdict=verdict(min(took), 0.1),
        ),
        Row("CPU from there to its answer on the screen", ms(min(used))),
    ]


def commands(testbed: Testbed) -> list[Row]:
    """Measure commands that only print, and a headless run."""
    asked = ("--version", "--help", *(f"{name} --help" for name in COMMANDS))
    least = {words: min(_used(testbed, words) for _ in range(HELPS)) for words in asked}
    slowest = max(least, key=least.__getitem__)
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
            "≤ 150 ms",
            verdict=verdict(least[slowest], 0.15),
        ),
        Row("run: from the command to the model", least_and_median(took)),
        Row("run: CPU in all, one short answer", least_and_median(used)),
    ]


def _used(testbed: Testbed, words: str) -> float:
    """Return the CPU seconds of the program from start to exit."""
    process = subprocess.Popen(
        [COMMAND, *words.split()],
        cwd=testbed.project,
        env=testbed.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return usage.ru_utime + usage.ru_stime
