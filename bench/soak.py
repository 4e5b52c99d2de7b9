"""``python -m bench.soak [steps]``: does memory stay flat over a long day's work?

One session runs on and on in a context window so small that it is compacted again and again. Memory
and CPU are printed for each tenth; from the second tenth on, when the caches of the screen are
full, both should stay flat. CPU is judged by eye only: it follows the load of the machine, which
the calibration at both ends shows.
"""

import sys

from bench.table import Row, calibration, ms, show
from bench.testbed import ask, cpu, open_testbed, resident_memory, settle, watch

STEPS = 10_000
TURN = 20
"""Steps that each prompt asks for; a compaction can end it earlier."""

WINDOW = 100_000
TENTHS = 10
FLAT = 1.1


def main(arguments: list[str]) -> int:
    steps = int(arguments[0]) if arguments else STEPS
    rows, memory, steps_before = [calibration()], [], 0
    with open_testbed(context=WINDOW) as testbed, testbed.ready() as terminal:
        before = cpu(terminal.pid)
        for tenth in range(1, TENTHS + 1):
            while (done := len(testbed.events("request", 0))) < steps * tenth // TENTHS:
                ended = len(testbed.events("ended", 0))
                ask(terminal, f"loop {TURN}")
                while len(testbed.events("ended", 0)) == ended:
                    watch(terminal, 0.2)
                settle(terminal)
            memory.append(resident_memory(terminal.pid))
            now = cpu(terminal.pid)
            used = (now - before) / max(1, done - steps_before)
            before, steps_before = now, done
            told = f"{memory[-1]:.0f} MiB, {ms(used)} CPU a step"
            rows.append(Row(f"after {done:,} steps", told))
            print(f"{rows[-1].figure}: {told}", flush=True)
    growth = max(memory[1:]) / memory[1]
    rows.append(
        Row(
            "memory, the most after the second tenth",
            f"{max(memory[1:]):.0f} MiB",
            f"after the second {memory[1]:.0f} MiB",
            growth,
            FLAT,
        )
    )
    show([*rows, calibration()])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
