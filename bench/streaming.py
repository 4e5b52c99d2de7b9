"""A streamed long response: the cost of painting it, and keys and a cancel meanwhile."""

import asyncio
import json
import os
import re
import signal
import statistics
import time

from bench import bare_client
from bench.table import Row, least_and_median, median_and_p95, ms, to_loop
from bench.testbed import PROMPT, Testbed, ask, cpu, settle, watch
from tests.support.terminal import Terminal

DELTAS = 5_000
PACED = 400
FAST = 14
PACED_CPU = 20
ROUNDS = 3
CANCELS = 3
CANCEL_KEYS = {"ctrl+c": "\x03", "esc, with the kitty protocol": "\x1b[27u"}
LETTERS = [chr(0x430 + n) for n in range(32)] + [chr(0x3B1 + n) for n in range(16)]
"""Letters that occur in no response and in no escape sequence."""


def fast_deltas(testbed: Testbed) -> list[Row]:
    """Measure deltas at full speed, next to a bare client that decodes them."""
    return _streamed(testbed, "deltas", f"{DELTAS:,} deltas of 5 characters, painted", FAST)


def markdown_deltas(testbed: Testbed) -> list[Row]:
    """Measure the same with tables, nested lists, long code and Chinese."""
    return _streamed(testbed, "rich", "  with tables, lists, long code and Chinese", None)


def _streamed(testbed: Testbed, word: str, figure: str, limit: float | None) -> list[Row]:
    ours: list[float] = []
    base: list[float] = []
    for _ in range(ROUNDS):
        base.append(asyncio.run(bare_client.decode(testbed.url, f"{word} {DELTAS}")))
        with testbed.ready() as terminal:
            _, before = ask(terminal, f"{word} {DELTAS}")
            terminal.sees(b"END%d" % DELTAS)
            watch(terminal, 0.3)
            ours.append(cpu(terminal.pid) - before)
    return [
        Row(
            figure,
            f"{least_and_median(ours)} CPU",
            f"bare client {min(base):.3f} s",
            min(ours) / min(base),
            limit,
        )
    ]


def paced_deltas(testbed: Testbed) -> list[Row]:
    """Measure deltas 10 ms apart: CPU, and the time of each marked word to the screen."""
    base = asyncio.run(bare_client.decode(testbed.url, f"paced {PACED}"))
    with testbed.ready() as terminal:
        begun, before = ask(terminal, f"paced {PACED}")
        seen = _marks(terminal)
        watch(terminal, 0.3)
        used = cpu(terminal.pid) - before
    lag = [seen[word.encode()] - sent for sent, word in testbed.events("mark", begun)]
    return [
        Row(
            f"{PACED} deltas 10 ms apart",
            f"{used:.3f} s CPU",
            f"bare client {base:.3f} s",
            used / base,
            PACED_CPU,
        ),
        to_loop(
            "from the model to the screen, median", median_and_p95(lag), statistics.median(lag)
        ),
        to_loop("  the latest", ms(max(lag)), max(lag), 2),
    ]


def _marks(terminal: Terminal) -> dict[bytes, float]:
    """Return when each marked word was first written, until the end of the response."""
    seen: dict[bytes, float] = {}
    start = len(terminal.raw)
    while terminal.raw.find(b"END%d" % PACED, start) < 0:
        fresh = max(start, len(terminal.raw) - 64)
        terminal.pass_time(1.0)
        now = time.monotonic()
        for word in re.findall(rb"mk\d{5}", terminal.raw[fresh:]):
            seen.setdefault(word, now)
    return seen


def longest_task(testbed: Testbed) -> list[Row]:
    """Measure the longest task of the event loop while a response streams: a key waits for it."""
    with testbed.ready(watched=True) as terminal:
        os.kill(terminal.pid, signal.SIGUSR1)
        ask(terminal, f"rich {DELTAS}")
        terminal.sees(b"END%d" % DELTAS)
        os.kill(terminal.pid, signal.SIGUSR2)
        watch(terminal, 0.5)
    longest, name = json.loads(testbed.report.read_text())
    return [to_loop("the longest task while streaming", f"{ms(longest)}, {name}", longest, 0.4)]


def key_echo(testbed: Testbed) -> list[Row]:
    """Measure from a key press to its echo, while a response streams and while nothing does."""
    with testbed.empty_app() as empty:
        empty.sees(PROMPT)
        settle(empty)
        base = _typed(empty)
    with testbed.ready() as terminal:
        still = _typed(terminal)
    with testbed.ready() as terminal:
        ask(terminal, "paced 1500")
        terminal.sees(b"mk")
        busy = _typed(terminal)
    return [
        _compared("key press to screen while streaming", busy, base, 1.5),
        _compared("key press to screen at rest", still, base, 1),
    ]


def _compared(figure: str, keys: list[float], base: list[float], limit: float) -> Row:
    """Return a row of *keys* compared with an empty app, by the medians."""
    told = f"empty app {median_and_p95(base)}"
    ratio = statistics.median(keys) / statistics.median(base)
    return Row(figure, median_and_p95(keys), told, ratio, limit)


def _typed(terminal: Terminal) -> list[float]:
    took: list[float] = []
    for number, letter in enumerate(LETTERS):
        # Not in step with the frames of the screen or with the deltas.
        watch(terminal, 0.05 + number * 7 % 23 / 500)
        pressed = time.monotonic()
        terminal.send(letter)
        took.append(terminal.sees(letter.encode()) - pressed)
    return took


def cancel_latency(testbed: Testbed) -> list[Row]:
    """Measure from Ctrl+C, and from Esc as terminals with the kitty keyboard protocol send it, to
    the message on the screen and to the closed connection."""
    rows: list[Row] = []
    for name, key in CANCEL_KEYS.items():
        screen: list[float] = []
        closed: list[float] = []
        for _ in range(CANCELS):
            with testbed.ready() as terminal:
                ask(terminal, "paced 2000")
                terminal.sees(b"mk00039")
                pressed = time.monotonic()
                terminal.send(key)
                screen.append(terminal.sees(b"Stopping", b"Interrupted") - pressed)
                watch(terminal, 0.3)
                closed += [t - pressed for t, _ in testbed.events("closed", pressed)]
        shown, ended = statistics.median(screen), statistics.median(closed)
        rows += [
            to_loop(f"{name} on the screen", median_and_p95(screen), shown, 1),
            to_loop("  to the closed connection", median_and_p95(closed), ended, 1.5),
        ]
    return rows
