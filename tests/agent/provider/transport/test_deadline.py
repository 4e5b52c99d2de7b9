"""The deadline of a stream's waits: it moves both ways, and cancels only its own wait."""

import asyncio

import pytest

from agent.provider.transport.http import Deadline


async def wait(deadline: Deadline) -> None:
    with deadline:
        await asyncio.Event().wait()


@pytest.mark.parametrize("passed", [0.0, 0.02])
async def test_a_wait_ends_at_the_deadline(passed: float) -> None:
    deadline = Deadline(asyncio.get_running_loop().time() + passed)
    with pytest.raises(TimeoutError):
        await wait(deadline)
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling(), "the task goes on as if nothing had happened"


async def test_a_deadline_that_moved_counts_from_then_on() -> None:
    loop = asyncio.get_running_loop()
    deadline = Deadline(loop.time() + 0.01)
    with deadline:  # its timer runs, and nothing waits yet
        pass
    deadline.move(loop.time() + 3600)
    with deadline:
        await asyncio.sleep(0.05)
    deadline.move(loop.time())
    with pytest.raises(TimeoutError):
        await wait(deadline)


async def test_time_between_waits_does_not_count() -> None:
    loop = asyncio.get_running_loop()
    deadline = Deadline(loop.time() + 0.01)
    with deadline:  # its timer runs, and nothing waits yet
        pass
    await asyncio.sleep(0.05)
    deadline.move(None)
    with deadline:
        await asyncio.sleep(0.05)
    deadline.close()


async def test_a_cancel_from_outside_stays_one() -> None:
    loop = asyncio.get_running_loop()
    waiting = asyncio.create_task(wait(Deadline(loop.time() + 3600)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
