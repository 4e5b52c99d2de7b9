"""Calls that are rejected or fail before the tool runs."""

import asyncio

from agent.records.messages import (
    Failed,
    ToolPart,
)
from agent.tools.pipeline import CallFailed
from tests.agent.session.turn.repeated_calls import executor_of
from tests.support.harness import Harness
from tests.support.script import Call, Hold, Text, answer


async def test_a_reject_stops_the_stream_at_once(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(Call("bash", {"command": "touch x"}), Call("bash", {"command": "touch y"}), hold)
    )
    session = await harness.session()
    await harness.send(session, "go")
    harness.answer(await harness.permission_request(), "reject")
    assert (await harness.idle(session)).outcome == "rejected"
    await asyncio.wait_for(harness.server.requests[0].closed.wait(), 30)
    assert all(isinstance(t.state, Failed) for t in await harness.tools(session))
    hold.gate.set()
    harness.server.script(answer(Text("fine")))
    assert (await harness.turn(session, "next")).outcome == "completed"


async def test_a_fault_outside_the_tool_ends_the_call(harness: Harness) -> None:
    """The question about a repeated call cannot be asked."""
    session = await harness.session()
    harness.server.script(answer(Text("hi")))
    await harness.turn(session, "go")
    step = (await harness.messages(session))[-1].message
    runtime = harness.runtime

    async def cannot_ask(_part: ToolPart, _answered: object) -> None:
        raise RuntimeError("no rules")

    executor = executor_of(runtime, cannot_ask)
    part = ToolPart(id="prt_1", session_id=session.id, message_id=step.id, call_id="c", tool="list")
    slot = executor.announce(part)
    executor.submit(slot, "{}")
    (outcome,) = await asyncio.wait_for(executor.results(), 30)
    assert isinstance(outcome, CallFailed)
    assert "no rules" in outcome.error
