"""Rows of the result table, and the noise of the machine."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A row: *value* is the measurement, *bound* its limit, *ratio* the comparison, *verdict*
    whether it is within its bound (empty without one)."""

    figure: str
    value: str
    bound: str = ""
    ratio: str = ""
    verdict: str = ""


def verdict(value: float, bound: float) -> str:
    return "within" if value <= bound else "OVER"


def show(rows: Sequence[Row]) -> None:
    lines = [("figure", "measured", "bound", "ratio", "")]
    lines += [(row.figure, row.value, row.bound, row.ratio, row.verdict) for row in rows]
    print(table(lines))


def calibration() -> Row:
    """Measure a fixed loop several times: how fast and how noisy this machine is right now."""
    took = []
    for _ in range(9):
        start = time.process_time()
        total = 0
        for number in range(1_000_000):
            total += number
        took.append(time.process_time() - start)
    spread = max(took) / min(took)
    return Row("machine: a fixed loop", f"{ms(min(took))} CPU", ratio=f"max/min {spread:.2f}")


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


def ratio(ours: Sequence[float], base: Sequence[float]) -> str:
    """Return the ratios of *ours* to *base*: of the least, and of the medians."""
    least = min(ours) / min(base)
    return f"{least:.2f} × (median {statistics.median(ours) / statistics.median(base):.2f} ×)"


def table(lines: Sequence[Sequence[str]]) -> str:
    """Return *lines* of cells as aligned columns; the first line is the header."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    return "\n".join(rows)
