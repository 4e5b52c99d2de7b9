"""``python -m bench [row …]``: prints one table.

CPU is the process's own, so that others on the machine count little; wall time is told where
nothing else can be. How fast the machine is, and how even, is measured before and after.
"""

import sys
from collections.abc import Callable

from bench.naming import found, mentions
from bench.opening import append, long_session
from bench.place import Place, opened
from bench.resting import idle
from bench.row import Row, calibration, show
from bench.starting import commands, first, start
from bench.stepping import steps
from bench.streaming import cancel, fast, keys, paced, rich
from bench.transports import transports

ROWS: dict[str, Callable[[Place], list[Row]]] = {
    "start": start,
    "commands": commands,
    "first": first,
    "fast": fast,
    "rich": rich,
    "paced": paced,
    "transports": transports,
    "steps": steps,
    "keys": keys,
    "mentions": mentions,
    "found": found,
    "cancel": cancel,
    "append": append,
    "open": long_session,
    "idle": idle,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        print(f"There is no row {unknown[0]}. The rows are: {', '.join(ROWS)}.")
        return 2
    rows = [calibration()]
    with opened() as place:
        for name in names or ROWS:
            rows += ROWS[name](place)
    rows.append(calibration())
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
