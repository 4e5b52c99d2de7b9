"""``python -m bench [row …]``: print one table.

CPU time is that of the measured process, so other load on the machine matters little; wall time is
shown only where nothing else works. Every limit is a ratio to something measured in the same run:
an empty Textual app, a bare client, a fixed loop, or a quarter of the input. The speed and the
noise of the machine are measured before and after. A row that fails leaves the others.
"""

import sys
from collections.abc import Callable, Mapping

from bench.file_mentions import mention_and_glob, mention_latency
from bench.growing import growing_blocks, large_paste
from bench.idle import idle
from bench.long_sessions import append_lines, open_long_session
from bench.readers import event_readers
from bench.sandbox import sandbox
from bench.sizes import sizes
from bench.startup import commands, first_frame, first_prompt
from bench.steps import steps
from bench.streaming import (
    cancel_latency,
    fast_deltas,
    key_echo,
    longest_task,
    markdown_deltas,
    paced_deltas,
)
from bench.table import Row, calibration, show
from bench.testbed import Testbed, open_testbed
from bench.transports import transports

ROWS: dict[str, Callable[[Testbed], list[Row]]] = {
    "sizes": sizes,
    "start": first_frame,
    "commands": commands,
    "first": first_prompt,
    "fast": fast_deltas,
    "rich": markdown_deltas,
    "paced": paced_deltas,
    "transports": transports,
    "readers": event_readers,
    "steps": steps,
    "sandbox": sandbox,
    "longest": longest_task,
    "keys": key_echo,
    "mentions": mention_latency,
    "found": mention_and_glob,
    "cancel": cancel_latency,
    "append": append_lines,
    "growing": growing_blocks,
    "paste": large_paste,
    "open": open_long_session,
    "idle": idle,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        print(f"There is no row {unknown[0]}. The rows are: {', '.join(ROWS)}.")
        return 2
    begun = calibration()
    with open_testbed() as testbed:
        rows, failed = measured({name: ROWS[name] for name in names or ROWS}, testbed)
    show([begun, *rows, calibration()])
    return int(failed)


def measured(
    wanted: Mapping[str, Callable[[Testbed], list[Row]]], testbed: Testbed
) -> tuple[list[Row], bool]:
    """Return the rows of *wanted*, and whether one of them failed: the others are shown anyway."""
    rows: list[Row] = []
    failed = False
    for name, measure in wanted.items():
        try:
            rows += measure(testbed)
        except Exception as error:  # noqa: BLE001 - a measurement can fail in any way
            failed = True
            first_line = str(error).partition("\n")[0]
            rows.append(Row(name, f"failed: {type(error).__name__}", first_line[:60]))
    return rows, failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
