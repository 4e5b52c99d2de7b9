"""From the command to the first painted prompt, and from the first Enter to the model."""

import time
from collections.abc import Callable

from bench.place import PROMPT, Place, ask, cpu
from bench.row import Row, ms, ratio, spread, verdict
from tests.support.terminal import Terminal

ROUNDS = 7
FIRSTS = 3


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
