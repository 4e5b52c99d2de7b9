"""A pilot waits until the event loop is at rest, not less and not much longer."""

import asyncio

from tests.support.settling import SOON, wait_until_at_rest


async def test_ready_callbacks_run_until_none_is_left() -> None:
    steps: list[int] = []

    async def chain() -> None:
        for number in range(200):
            steps.append(number)
            await asyncio.sleep(0)

    task = asyncio.create_task(chain())
    await wait_until_at_rest()
    assert len(steps) == 200
    await task


async def test_a_timer_due_soon_is_awaited_with_the_work_that_it_starts() -> None:
    log: list[str] = []

    async def later() -> None:
        await asyncio.sleep(SOON / 4)
        log.append("woken")
        await asyncio.sleep(0)
        log.append("went on")

    task = asyncio.create_task(later())
    await asyncio.sleep(0)
    await wait_until_at_rest()
    assert log == ["woken", "went on"]
    await task


async def test_a_timer_due_later_is_not_awaited() -> None:
    loop = asyncio.get_running_loop()
    late = loop.call_later(3_600, lambda: None)
    began = loop.time()
    await wait_until_at_rest(max_sleep=600)
    assert loop.time() - began < 300, "a hang guard, no figure"
    late.cancel()


async def test_a_loop_that_never_rests_times_out() -> None:
    loop = asyncio.get_running_loop()
    running = True

    def again() -> None:
        if running:
            loop.call_soon(again)

    again()
    await wait_until_at_rest(max_sleep=0.05)
    running = False
