"""From the command to the first painted prompt, and from the first Enter to the model; the same
for commands without a screen."""

import os
import subprocess
import time
from collections.abc import Callable

from app.cli.main import COMMANDS
from bench.place import COMMAND, PROMPT, Place, ask, cpu
from bench.row import Row, ms, ratio, spread, verdict
from tests.support.terminal import Terminal

ROUNDS = 7
FIRSTS = 3
HELPS = 4


def start(place: Place) -> list[Row]:
    """CPU and wall time, interleaved with the smallest Textual app; the first round warms up."""
    ours: list[tuple[float, float]] = []
    floor: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        ours.append(_one(place.program))
        floor.append(_one(place.floor))
    rows = []
    for index, (what, bound) in enumerate((("CPU", "≤ 1.4 ×"), ("wall", ""))):
        mine = [took[index] for took in ours[1:]]
        base = [took[index] for took in floor[1:]]
        rows.append(
            Row(
                f"{what} to the first painted prompt",
                f"{spread(mine)}; empty app {min(base):.3f} s",
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


def first(place: Place) -> list[Row]:
    """From Enter to the request at the model, for the first prompt of a run."""
    took: list[float] = []
    used: list[float] = []
    for _ in range(FIRSTS):
        with place.ready(used=False) as terminal:
            begun, before = ask(terminal, "hello")
            terminal.sees(b"DONE")
            used.append(cpu(terminal.pid) - before)
            took.append(place.events("request", begun)[0][0] - begun)
    return [
        Row(
            "Enter to the model, first prompt",
            spread(took),
            "≤ 0.1 s",
            verdict=verdict(min(took), 0.1),
        ),
        Row("CPU from there to its answer on the screen", ms(min(used))),
    ]


def commands(place: Place) -> list[Row]:
    """What commands take before they do anything: those that only tell, and a headless run."""
    asked = ("--version", "--help", *(f"{name} --help" for name in COMMANDS))
    least = {words: min(_used(place, words) for _ in range(HELPS)) for words in asked}
    slowest = max(least, key=least.__getitem__)
    used: list[float] = []
    took: list[float] = []
    for _ in range(ROUNDS):
        begun = time.monotonic()
        used.append(_used(place, "run hello"))
        took.append(place.events("request", begun)[0][0] - begun)
    return [
        Row(
            f"CPU of --version and {len(asked) - 1} helps, the most",
            f"{ms(least[slowest])}, {slowest}",
            "≤ 150 ms",
            verdict=verdict(least[slowest], 0.15),
        ),
        Row("run: from the command to the model", spread(took)),
        Row("run: CPU in all, one short answer", spread(used)),
    ]


def _used(place: Place, words: str) -> float:
    """The CPU seconds of the program from its start to its end."""
    process = subprocess.Popen(
        [COMMAND, *words.split()],
        cwd=place.project,
        env=place.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return usage.ru_utime + usage.ru_stime
