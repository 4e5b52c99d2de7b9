"""Rows of the result table, and the speed of the machine."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A row: *measured* is the figure in its unit, *base* the one that it is compared with, *ratio*
    the two divided, *limit* the largest ratio that is accepted (None without one)."""

    figure: str
    measured: str
    base: str = ""
    ratio: float | None = None
    limit: float | None = None

    @property
    def verdict(self) -> str:
        if self.limit is None or self.ratio is None:
            return ""
        return verdict(self.ratio, self.limit)


def verdict(value: float, bound: float) -> str:
    return "within" if value <= bound else "OVER"


def show(rows: Sequence[Row]) -> None:
    lines = [("figure", "measured", "compared with", "ratio", "limit", "")]
    lines += [
        (
            row.figure,
            row.measured,
            row.base,
            "" if row.ratio is None else f"{row.ratio:.2f} ×",
            "" if row.limit is None else f"≤ {row.limit} ×",
            row.verdict,
        )
        for row in rows
    ]
    print(table(lines))


def fixed_loop() -> float:
    """Return the least CPU seconds of a fixed loop: how fast this machine is right now."""
    return min(_loops())


def calibration() -> Row:
    """Measure the fixed loop: the speed of this machine, and its noise."""
    took = _loops()
    spread = max(took) / min(took)
    return Row("machine: a fixed loop", f"{ms(min(took))} CPU", f"max/min {spread:.2f}")


def _loops() -> list[float]:
    took = []
    for _ in range(9):
        start = time.process_time()
        total = 0
        for number in range(1_000_000):
            total += number
        took.append(time.process_time() - start)
    return took


def to_loop(figure: str, measured: str, seconds: float, limit: float | None = None) -> Row:
    """Return a row of *seconds* compared with the fixed loop."""
    loop = fixed_loop()
    return Row(figure, measured, f"fixed loop {ms(loop)}", seconds / loop, limit)


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def least_and_median(seconds: Sequence[float]) -> str:
    """Return the least and the median of *seconds*."""
    return f"{min(seconds):.3f} s (median {statistics.median(seconds):.3f})"


def median_and_p95(seconds: Sequence[float]) -> str:
    """Return the median and the 95th percentile of *seconds*."""
    return f"median {ms(statistics.median(seconds))}, p95 {ms(p95(seconds))}"


def p95(seconds: Sequence[float]) -> float:
    """Return the 95th percentile of *seconds*."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def table(lines: Sequence[Sequence[str]]) -> str:
    """Return *lines* of cells as aligned columns; the first line is the header."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    return "\n".join(rows)
