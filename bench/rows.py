"""One function for each row of the table: what was measured, and what bounds it."""

import asyncio
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.place import Place, cpu, resident
from tests.support.terminal import Terminal

PROMPT = r"Ask for anything"
ROUNDS = 5
DELTAS = 5_000
PACED = 400
STEPS = 150


@dataclass(frozen=True)
class Row:
    figure: str
    value: str
    bound: str
    ratio: str = ""


def calibration() -> Row:
    """CPU of a fixed loop, several times: how noisy this machine is right now."""
    took = []
    for _ in range(7):
        start = time.process_time()
        total = 0
        for number in range(1_000_000):
            total += number
        took.append(time.process_time() - start)
    spread = max(took) / min(took)
    return Row(
        "machine: a fixed loop", f"{min(took) * 1000:.0f} ms CPU", "", f"max/min {spread:.2f}"
    )


def start_up(place: Place) -> list[Row]:
    """CPU to the first painted prompt, interleaved with the smallest Textual app."""
    ours: list[float] = []
    floor: list[float] = []
    for _ in range(ROUNDS + 1):
        for start, into in ((place.program, ours), (place.floor, floor)):
            with start() as terminal:
                terminal.wait(PROMPT)
                into.append(cpu(terminal.pid))
    best, base = min(ours[1:]), min(floor[1:])
    middle = statistics.median(ours[1:]) / statistics.median(floor[1:])
    return [
        Row(
            "CPU to the first painted prompt",
            f"{best:.2f} s (empty Textual app {base:.2f} s)",
            "≤ 1.4 ×",
            f"{best / base:.2f} × (median {middle:.2f} ×)",
        )
    ]


def ready(terminal: Terminal) -> None:
    terminal.wait(PROMPT)
    terminal.wait(r"build  one")


def streaming(place: Place) -> list[Row]:
    """Deltas as fast as they come, and 10 ms apart."""
    with place.program() as terminal:
        ready(terminal)
        terminal.enter("hello")
        terminal.wait("DONE")
        terminal.wait(r"esc to interrupt", gone=True)
        fast = _turn(terminal, f"deltas {DELTAS}", f"{DELTAS - 1:04}")
        paced = _turn(terminal, f"paced {PACED}", f"{PACED - 1:04}")
    return [
        Row(f"{DELTAS:,} deltas of 5 characters, painted", f"{fast:.2f} s CPU", "≤ 0.45 s"),
        Row(f"{PACED} deltas 10 ms apart", f"{paced:.2f} s CPU", "≤ 0.8 s"),
    ]


def _turn(terminal: Terminal, text: str, last: str) -> float:
    before = cpu(terminal.pid)
    terminal.enter(text)
    terminal.wait(rf"{last}\s+DONE|{last}DONE")
    terminal.wait(r"esc to interrupt", gone=True)
    return cpu(terminal.pid) - before


def steps(place: Place) -> list[Row]:
    """CPU per step of a turn that reads a file in each, with and without the UI."""
    with place.program() as terminal:
        ready(terminal)
        terminal.enter("hello")
        terminal.wait("DONE")
        terminal.wait(r"esc to interrupt", gone=True)
        before = cpu(terminal.pid)
        terminal.enter(f"loop {STEPS}")
        terminal.wait(r"all read\. DONE")
        ui = (cpu(terminal.pid) - before) / STEPS
    alone = asyncio.run(_headless(place)) / STEPS
    return [
        Row("loop CPU per step in the UI", f"{ui * 1000:.1f} ms", "≤ 12 ms"),
        Row("loop CPU per step headless", f"{alone * 1000:.1f} ms", "≤ 8 ms"),
    ]


async def _headless(place: Place) -> float:
    from agent.events import SessionIdle
    from agent.runtime import open_runtime
    from agent.session.view import PromptInput

    runtime = await open_runtime(place.project, env=place.env)
    try:
        session = await runtime.sessions.directory.create()

        async def turn(text: str) -> None:
            with runtime.bus.subscribe(lambda e: isinstance(e, SessionIdle)) as ends:
                await runtime.sessions.prompt(session.id, PromptInput(text=text))
                await ends.wait()

        await turn("hello")
        before = time.process_time()
        await turn(f"loop {STEPS}")
        return time.process_time() - before
    finally:
        await runtime.close()


def keys(place: Place) -> list[Row]:
    """From a key press to its echo, while a long answer streams in."""
    lags: list[float] = []
    with place.program() as terminal:
        ready(terminal)
        terminal.enter("paced 1200")
        terminal.wait("esc to interrupt")
        typed = ""
        for letter in "the quick brown fox jumps over the lazy dog and back again":
            typed += letter
            if letter == " ":
                terminal.send(letter)
                continue
            start = time.perf_counter()
            terminal.send(letter)
            want = re.escape(typed[-12:])
            terminal.wait(rf"▌ .*{want}")
            lags.append(time.perf_counter() - start)
    lags.sort()
    p95 = lags[int(len(lags) * 0.95)]
    return [
        Row(
            "key press to screen while streaming",
            f"median {statistics.median(lags) * 1000:.1f} ms, p95 {p95 * 1000:.1f} ms",
            "≤ 5 ms, ≤ 15 ms",
        )
    ]


def cancel(place: Place) -> list[Row]:
    """From Ctrl+C to the word on the screen."""
    took: list[float] = []
    with place.program() as terminal:
        ready(terminal)
        for _ in range(3):
            terminal.enter("paced 2000")
            terminal.wait(r"esc to interrupt")
            terminal.wait(r"00\d\d 00\d\d")
            start = time.perf_counter()
            terminal.send("\x03")
            terminal.wait(r"esc to interrupt", gone=True)
            took.append(time.perf_counter() - start)
            terminal.enter("/new")
            terminal.wait(r"tour|a coding agent")
    return [Row("cancel on the screen", f"{statistics.median(took) * 1000:.0f} ms", "≤ 20 ms")]


def idle(place: Place) -> list[Row]:
    """CPU and memory while nothing happens, in a session that has had a turn."""
    with place.program() as terminal:
        ready(terminal)
        terminal.enter("hello")
        terminal.wait("DONE")
        terminal.wait(r"esc to interrupt", gone=True)
        before, start = cpu(terminal.pid), time.monotonic()
        while time.monotonic() - start < 8:
            terminal.pass_time(0.5)
        share = (cpu(terminal.pid) - before) / (time.monotonic() - start)
        memory = resident(terminal.pid)
    return [
        Row("idle", f"{share * 100:.1f} % of a core", "≤ 0.3 %"),
        Row("resident memory after a turn", f"{memory:.0f} MiB", "≤ 90 MiB"),
    ]


ROWS: dict[str, Callable[[Place], list[Row]]] = {
    "start": start_up,
    "stream": streaming,
    "steps": steps,
    "keys": keys,
    "cancel": cancel,
    "idle": idle,
}
