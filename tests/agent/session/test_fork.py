"""Forks of compacted sessions and of sessions in mid-turn."""

import json

from agent.records.events import Event, PartUpdated
from agent.records.messages import (
    Failed,
    Running,
    ToolPart,
)
from tests.support.harness import Harness
from tests.support.script import Call, Failure, Text, answer

SLEEPS = Call("bash", {"command": "echo begun; sleep 60"})
OVERFLOW = Failure(400, '{"error": {"code": "context_length_exceeded", "message": "too long"}}')


def runs(event: Event) -> bool:
    part = event.part if isinstance(event, PartUpdated) else None
    state = part.state if isinstance(part, ToolPart) else None
    return isinstance(state, Running) and "begun" in state.output


def sent(harness: Harness, number: int = -1) -> str:
    return json.dumps(harness.server.requests[number].body["messages"])


async def test_a_fork_of_a_compacted_session_is_sent_as_its_source_is(harness: Harness) -> None:
    session = await harness.session()
    for number in range(4):
        harness.server.script(answer(Text(f"answer {number} " + "word " * 3_000)))
        await harness.turn(session, f"question {number}")
    harness.server.script(OVERFLOW, answer(Text("the summary")), answer(Text("fits")))
    await harness.turn(session, "last")
    copy = await harness.runtime.sessions.repository.fork(session.id)
    for one in (session, copy):
        harness.server.script(answer(Text("x")))
        await harness.turn(one, "the same")
    assert sent(harness) == sent(harness, -2)


async def test_a_fork_in_mid_turn_has_nothing_open(harness: Harness) -> None:
    harness.server.script(answer(SLEEPS))
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(runs)
    copy = await harness.runtime.sessions.repository.fork(session.id)
    await harness.runtime.sessions.cancel(session.id)
    await harness.idle(session)
    (tool,) = await harness.tools(copy)
    assert isinstance(tool.state, Failed)
    assert (await harness.messages(copy))[-1].message.completed is not None
    harness.server.script(answer(Text("fine")))
    assert (await harness.turn(copy, "next")).outcome == "completed"
