"""A call that is submitted while the refusal of the one before it is stored."""

import asyncio
from pathlib import Path

import pytest

from agent.records.errors import PermissionRejected
from agent.records.events import PartUpdated
from agent.records.messages import Failed, ToolPart
from agent.session.turn.executor import REJECTED
from agent.tools.pipeline import CallFailed
from tests.agent.session.turn.repeated_calls import executor_of
from tests.agent.store.samples import make_assistant
from tests.support.harness import GUARD, open_harness


async def reject_first(part: ToolPart, _: object) -> None:
    """Reject the first call without a comment; never answer for another."""
    if part.call_id != "first":
        await asyncio.Event().wait()
    raise PermissionRejected("The user rejected this call.")


@pytest.mark.parametrize("rounds", range(10))
async def test_a_call_that_starts_as_another_is_rejected_ends(tmp_path: Path, rounds: int) -> None:
    """In any iteration of the event loop, also if its task was created in the iteration in which
    the rejection cancels it."""
    async with open_harness(tmp_path) as harness:
        runtime, session = harness.runtime, await harness.session()
        step = make_assistant(session)
        await runtime.store.save(step)
        executor = executor_of(runtime, reject_first)

        def part(name: str) -> ToolPart:
            return ToolPart(
                id=f"prt_{name}",
                session_id=session.id,
                message_id=step.id,
                call_id=name,
                tool="list",
            )

        refused, late = executor.announce(part("first")), executor.announce(part("late"))

        def after(left: int) -> None:
            if left:
                asyncio.get_running_loop().call_soon(after, left - 1)
            else:
                executor.submit(late, "{}")

        def stored(event: object) -> bool:
            if isinstance(event, PartUpdated) and event.part.id == refused.part.id:
                after(rounds)
            return False

        with runtime.bus.subscribe(stored):
            executor.submit(refused, "{}")
            async with asyncio.timeout(GUARD):
                first, second = await executor.results()
        assert isinstance(first, CallFailed)
        assert isinstance(second, CallFailed)
        assert (second.kind, second.error) == ("aborted", REJECTED)
        assert isinstance(late.part.state, Failed)
