"""A long answer that streams in: what painting it costs, and keys and a cancel meanwhile."""

import asyncio
import re
import time

from bench import bare
from bench.place import PROMPT, Place, ask, cpu, settle, watch
from bench.row import Row, lags, ms, ratio, spread
from tests.support.terminal import Terminal

DELTAS = 5_000
PACED = 400
ROUNDS = 3
CANCELS = 5
LETTERS = [chr(0x430 + n) for n in range(32)] + [chr(0x3B1 + n) for n in range(16)]
"""Letters that stand in no answer and in no escape sequence."""


def fast(place: Place) -> list[Row]:
    """Deltas as fast as they come, and what a bare client needs to decode them."""
    ours: list[float] = []
    base: list[float] = []
    for _ in range(ROUNDS):
        base.append(asyncio.run(bare.decode(place.url, f"deltas {DELTAS}")))
        with place.ready() as terminal:
            _, before = ask(terminal, f"deltas {DELTAS}")
            terminal.sees(b"END%d" % DELTAS)
            watch(terminal, 0.3)
            ours.append(cpu(terminal.pid) - before)
    return [
        Row(
            f"{DELTAS:,} deltas of 5 characters, painted",
            f"{spread(ours)} CPU; bare client {min(base):.3f} s",
            "≤ 0.45 s",
            ratio(ours, base),
        )
    ]


def paced(place: Place) -> list[Row]:
    """Deltas 10 ms apart: CPU, and how long each marked word takes to the screen."""
    with place.ready() as terminal:
        begun, before = ask(terminal, f"paced {PACED}")
        seen = _marks(terminal)
        watch(terminal, 0.3)
        used = cpu(terminal.pid) - before
    late = [seen[word.encode()] - sent for sent, word in place.events("mark", begun)]
    return [
        Row(f"{PACED} deltas 10 ms apart", f"{used:.3f} s CPU", "≤ 0.8 s"),
        Row("from the model to the screen", f"{lags(late)}, max {ms(max(late))}", "max ≤ 40 ms"),
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
        Row("key press to screen while streaming", lags(busy), "≤ 5 ms, p95 ≤ 15 ms"),
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
        Row("cancel on the screen", lags(screen), "≤ 20 ms"),
        Row("cancel to the closed connection", lags(closed), "≤ 30 ms"),
    ]
