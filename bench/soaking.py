"""``python -m bench.soaking [steps]``: does memory stay flat over a long day's work?

One session of one program goes on and on in a window small enough that it is summed up again and
again. Memory and CPU are told for each tenth; from the second tenth on, when what is kept for the
screen is full, both should stay as they are. CPU is only judged by eye: it follows the load of the
machine, which the calibration at both ends tells of.
"""

import sys

from bench.place import ask, cpu, opened, resident, settle, watch
from bench.row import Row, calibration, ms, show, verdict

STEPS = 10_000
TURN = 20
"""Steps that each prompt asks for; a summary may end it before."""

WINDOW = 100_000
TENTHS = 10
FLAT = 1.1


def main(arguments: list[str]) -> int:
    steps = int(arguments[0]) if arguments else STEPS
    rows, memory, steps_before = [calibration()], [], 0
    with opened(context=WINDOW) as place, place.ready() as terminal:
        before = cpu(terminal.pid)
        for tenth in range(1, TENTHS + 1):
            while (done := len(place.events("request", 0))) < steps * tenth // TENTHS:
                ended = len(place.events("ended", 0))
                ask(terminal, f"loop {TURN}")
                while len(place.events("ended", 0)) == ended:
                    watch(terminal, 0.2)
                settle(terminal)
            memory.append(resident(terminal.pid))
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
            "≤ 1.1 ×",
            f"{growth:.2f} ×",
            verdict(growth, FLAT),
        )
    )
    show([*rows, calibration()])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
