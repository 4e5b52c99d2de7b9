"""A row of the table, and how the noise of the machine is told."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """*value* is what was measured, *bound* what it should be at most, *ratio* how it compares."""

    figure: str
    value: str
    bound: str = ""
    ratio: str = ""


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
    ordered = sorted(seconds)
    late = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"median {ms(statistics.median(ordered))}, p95 {ms(late)}"


def ratio(ours: Sequence[float], base: Sequence[float]) -> str:
    """*ours* to *base*: of the least, and of the medians."""
    least = min(ours) / min(base)
    return f"{least:.2f} × (median {statistics.median(ours) / statistics.median(base):.2f} ×)"
