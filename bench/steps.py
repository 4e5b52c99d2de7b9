"""The loop: the cost of a step when the model responds at once and the tool reads a small file."""

import asyncio
import time
from collections.abc import Callable

from agent.bus import Subscription
from agent.records.events import Event, PartUpdated, SessionIdle
from agent.records.messages import StepFinishPart
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from bench import bare_client
from bench.table import Row, ms
from bench.testbed import Testbed, ask, cpu, watch

STEPS = 100
ROUNDS = 2
MANY = 100
ON_SCREEN, HEADLESS, FLAT = 16, 9, 1.5


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
    few, many = asyncio.run(_grown(testbed))
    told, client = f"bare client {ms(min(base))}", min(base)
    return [
        Row(
            f"CPU per step on the screen, {STEPS} reads",
            ms(min(screen)),
            told,
            min(screen) / client,
            ON_SCREEN,
        ),
        Row(
            f"CPU per step headless, {STEPS} reads",
            ms(min(alone)),
            told,
            min(alone) / client,
            HEADLESS,
        ),
        Row(
            f"  step {3 * MANY:,} to {4 * MANY:,} of one turn",
            ms(many),
            f"step 1 to {MANY} {ms(few)}",
            many / few,
            FLAT,
        ),
    ]


async def _grown(testbed: Testbed) -> tuple[float, float]:
    """Return the CPU per step of the first and the last quarter of a long turn."""
    marks: list[float] = []
    await _headless(testbed, 4 * MANY, lambda: marks.append(time.process_time()))
    return (marks[MANY] - marks[0]) / MANY, (marks[4 * MANY - 1] - marks[3 * MANY - 1]) / MANY


async def _headless(
    testbed: Testbed, steps: int = STEPS, stepped: Callable[[], None] = lambda: None
) -> float:
    """Return the CPU seconds of a turn of *steps* reads; *stepped* is called after each."""
    runtime = await open_runtime(testbed.project, env=testbed.env)
    try:
        session = await runtime.sessions.repository.create()

        async def turn(text: str) -> None:
            with runtime.bus.subscribe(lambda e: isinstance(e, SessionIdle)) as ends:
                await runtime.sessions.prompt(session.id, PromptInput(text=text))
                await ends.wait()

        await turn("hello")
        before = time.process_time()
        with runtime.bus.subscribe(_ended_step) as ended:
            following = asyncio.create_task(_follow(ended, stepped))
            await turn(f"loop {steps}")
            following.cancel()
        return time.process_time() - before
    finally:
        await runtime.close()


def _ended_step(event: Event) -> bool:
    return isinstance(event, PartUpdated) and isinstance(event.part, StepFinishPart)


async def _follow(ended: Subscription, stepped: Callable[[], None]) -> None:
    async for _ in ended:
        stepped()
