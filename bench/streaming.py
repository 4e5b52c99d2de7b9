"""A long answer that streams in: what painting it costs, and keys and a cancel meanwhile."""

import asyncio
import re
import statistics
import time

from bench import bare
from bench.place import PROMPT, Place, ask, cpu, settle, watch
from bench.row import Row, lags, late, ms, ratio, spread, verdict
from tests.support.terminal import Terminal

DELTAS = 5_000
PACED = 400
FAST = 0.45
ROUNDS = 3
CANCELS = 5
LETTERS = [chr(0x430 + n) for n in range(32)] + [chr(0x3B1 + n) for n in range(16)]
"""Letters that stand in no answer and in no escape sequence."""


def fast(place: Place) -> list[Row]:
    """Deltas as fast as they come, and what a bare client needs to decode them."""
    return _streamed(place, "deltas", f"{DELTAS:,} deltas of 5 characters, painted", FAST)


def rich(place: Place) -> list[Row]:
    """The same with tables, nested lists, long code and Chinese."""
    return _streamed(place, "rich", "  with tables, lists, long code and Chinese", None)


def _streamed(place: Place, word: str, figure: str, bound: float | None) -> list[Row]:
    ours: list[float] = []
    base: list[float] = []
    for _ in range(ROUNDS):
        base.append(asyncio.run(bare.decode(place.url, f"{word} {DELTAS}")))
        with place.ready() as terminal:
            _, before = ask(terminal, f"{word} {DELTAS}")
            terminal.sees(b"END%d" % DELTAS)
            watch(terminal, 0.3)
            ours.append(cpu(terminal.pid) - before)
    return [
        Row(
            figure,
            f"{spread(ours)} CPU; bare client {min(base):.3f} s",
            f"≤ {bound} s" if bound else "",
            ratio(ours, base),
            verdict(min(ours), bound) if bound else "",
        )
    ]


def paced(place: Place) -> list[Row]:
    """Deltas 10 ms apart: CPU, and how long each marked word takes to the screen."""
    with place.ready() as terminal:
        begun, before = ask(terminal, f"paced {PACED}")
        seen = _marks(terminal)
        watch(terminal, 0.3)
        used = cpu(terminal.pid) - before
    lag = [seen[word.encode()] - sent for sent, word in place.events("mark", begun)]
    return [
        Row(
            f"{PACED} deltas 10 ms apart",
            f"{used:.3f} s CPU",
            "≤ 0.8 s",
            verdict=verdict(used, 0.8),
        ),
        Row(
            "from the model to the screen",
            f"{lags(lag)}, max {ms(max(lag))}",
            "max ≤ 40 ms",
            verdict=verdict(max(lag), 0.04),
        ),
    ]


def _marks(terminal: Terminal) -> dict[bytes, float]:
    """When each marked word was first written, until the answer's end."""
    seen: dict[bytes, float] = {}
    start = len(terminal.raw)
    while terminal.raw.find(b"END%d" % PACED, start) < 0:
        fresh = max(start, len(terminal.raw) - 64)
        terminal.pass_time(1.0)
        now = time.monotonic()
        for word in re.findall(rb"mk\d{5}", terminal.raw[fresh:]):
            seen.setdefault(word, now)
    return seen


def keys(place: Place) -> list[Row]:
    """From a key press to its echo, while an answer streams in and while nothing does."""
    with place.floor() as floor:
        floor.sees(PROMPT)
        settle(floor)
        base = _typed(floor)
    with place.ready() as terminal:
        still = _typed(terminal)
    with place.ready() as terminal:
        ask(terminal, "paced 1500")
        terminal.sees(b"mk")
        busy = _typed(terminal)
    return [
        Row(
            "key press to screen while streaming",
            lags(busy),
            "≤ 5 ms, p95 ≤ 15 ms",
            verdict=verdict(max(statistics.median(busy) / 0.005, late(busy) / 0.015), 1),
        ),
        Row("key press to screen at rest", f"{lags(still)}; empty app {lags(base)}"),
    ]


def _typed(terminal: Terminal) -> list[float]:
    took: list[float] = []
    for number, letter in enumerate(LETTERS):
        # Not in step with the frames of the screen, nor with the deltas.
        watch(terminal, 0.05 + number * 7 % 23 / 500)
        pressed = time.monotonic()
        terminal.send(letter)
        took.append(terminal.sees(letter.encode()) - pressed)
    return took


def cancel(place: Place) -> list[Row]:
    """From Ctrl+C to a word of it on the screen, and to the closed connection."""
    screen: list[float] = []
    closed: list[float] = []
    for _ in range(CANCELS):
        with place.ready() as terminal:
            ask(terminal, "paced 2000")
            terminal.sees(b"mk00039")
            pressed = time.monotonic()
            terminal.send("\x03")
            screen.append(terminal.sees(b"Stopping", b"Interrupted") - pressed)
            watch(terminal, 0.3)
            closed += [t - pressed for t, _ in place.events("closed", pressed)]
    return [
        Row(
            "cancel on the screen",
            lags(screen),
            "≤ 20 ms",
            verdict=verdict(statistics.median(screen), 0.02),
        ),
        Row(
            "cancel to the closed connection",
            lags(closed),
            "≤ 30 ms",
            verdict=verdict(statistics.median(closed), 0.03),
        ),
    ]
