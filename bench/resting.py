"""What the program takes while nothing happens."""

import time

from bench.place import PROMPT, Place, cpu, resident, settle, watch
from bench.row import Row, verdict

SECONDS = 10.0


def idle(place: Place) -> list[Row]:
    """CPU and memory in a session that has had a turn."""
    with place.floor() as floor:
        floor.sees(PROMPT)
        settle(floor)
        base = resident(floor.pid)
    with place.ready() as terminal:
        watch(terminal, 1.0)
        before, begun = cpu(terminal.pid), time.monotonic()
        watch(terminal, SECONDS)
        share = (cpu(terminal.pid) - before) / (time.monotonic() - begun)
        memory = resident(terminal.pid)
    return [
        Row(
            f"idle for {SECONDS:.0f} s",
            f"{share * 100:.2f} % of a core",
            "≤ 0.3 %",
            verdict=verdict(share, 0.003),
        ),
        Row(
            "resident memory after a turn",
            f"{memory:.0f} MiB; empty app {base:.0f} MiB",
            "≤ 90 MiB",
            f"{memory / base:.2f} ×",
            verdict(memory, 90),
        ),
    ]
