"""``python -m bench [row …]``: prints one table. It never judges by itself."""

import sys
from collections.abc import Callable

from bench.naming import mentions
from bench.place import Place, opened
from bench.resting import idle
from bench.row import Row, calibration
from bench.starting import first, start
from bench.stepping import steps
from bench.streaming import cancel, fast, keys, paced
from bench.transports import transports

ROWS: dict[str, Callable[[Place], list[Row]]] = {
    "start": start,
    "first": first,
    "fast": fast,
    "paced": paced,
    "transports": transports,
    "steps": steps,
    "keys": keys,
    "mentions": mentions,
    "cancel": cancel,
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


def show(rows: list[Row]) -> None:
    table = [("figure", "measured", "bound", "ratio")]
    table += [(row.figure, row.value, row.bound, row.ratio) for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(4)]
    for line in table:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
