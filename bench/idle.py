"""CPU and memory of an idle program."""

import time

from bench.table import Row
from bench.testbed import PROMPT, Testbed, cpu, resident_memory, settle, watch

SECONDS = 10.0


def idle(testbed: Testbed) -> list[Row]:
    """Measure a session after one turn."""
    with testbed.empty_app() as empty:
        empty.sees(PROMPT)
        settle(empty)
        base = resident_memory(empty.pid)
    with testbed.ready() as terminal:
        watch(terminal, 1.0)
        before, begun = cpu(terminal.pid), time.monotonic()
        watch(terminal, SECONDS)
        share = (cpu(terminal.pid) - before) / (time.monotonic() - begun)
        memory = resident_memory(terminal.pid)
    return [
        Row(
            f"idle for {SECONDS:.0f} s",
            f"{share * 100:.2f} % of a core",
            "a core",
            share,
            0.003,
        ),
        Row(
            "resident memory after a turn",
            f"{memory:.0f} MiB",
            f"empty app {base:.0f} MiB",
            memory / base,
            2.5,
        ),
    ]
