"""A row of the table, and how the noise of the machine is told."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """*value* is what was measured, *bound* what it should be at most, *ratio* how it compares,
    *verdict* whether it is within its bound, empty where there is none."""

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
    """CPU of a fixed loop, several times: how fast and how noisy this machine is right now."""
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


def spread(seconds: Sequence[float]) -> str:
    """Least and median of *seconds*."""
    return f"{min(seconds):.3f} s (median {statistics.median(seconds):.3f})"


def lags(seconds: Sequence[float]) -> str:
    """Median and 95th percentile of *seconds*."""
    return f"median {ms(statistics.median(seconds))}, p95 {ms(late(seconds))}"


def late(seconds: Sequence[float]) -> float:
    """The 95th percentile of *seconds*."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def ratio(ours: Sequence[float], base: Sequence[float]) -> str:
    """*ours* to *base*: of the least, and of the medians."""
    least = min(ours) / min(base)
    return f"{least:.2f} × (median {statistics.median(ours) / statistics.median(base):.2f} ×)"


def table(lines: Sequence[Sequence[str]]) -> str:
    """*lines* of cells in columns, the first of them the heads."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    return "\n".join(rows)
