"""The loop: the cost of a step when the model responds at once and the tool reads a small file."""

import asyncio
import time

from agent.records.events import SessionIdle
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from bench import bare_client
from bench.table import Row, ms, verdict
from bench.testbed import Testbed, ask, cpu, watch

STEPS = 100
ROUNDS = 2


def steps(testbed: Testbed) -> list[Row]:
    """Measure the CPU per step of a turn that reads a file in each step, with and without the
    screen."""
    screen: list[float] = []
    alone: list[float] = []
    base: list[float] = []
    for _ in range(ROUNDS):
        base.append(asyncio.run(bare_client.loop(testbed.url, testbed.project, STEPS)) / STEPS)
        alone.append(asyncio.run(_headless(testbed)) / STEPS)
        with testbed.ready() as terminal:
            _, before = ask(terminal, f"loop {STEPS}")
            terminal.sees(b"END%d" % STEPS)
            watch(terminal, 0.3)
            screen.append((cpu(terminal.pid) - before) / STEPS)
    told = f"; bare client {ms(min(base))}"
    return [
        Row(
            f"CPU per step on the screen, {STEPS} reads",
            ms(min(screen)) + told,
            "≤ 12 ms",
            f"less the client {ms(min(screen) - min(base))}",
            verdict(min(screen), 0.012),
        ),
        Row(
            f"CPU per step headless, {STEPS} reads",
            ms(min(alone)) + told,
            "≤ 8 ms",
            f"less the client {ms(min(alone) - min(base))}",
            verdict(min(alone), 0.008),
        ),
    ]


async def _headless(testbed: Testbed) -> float:
    runtime = await open_runtime(testbed.project, env=testbed.env)
    try:
        session = await runtime.sessions.repository.create()

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
