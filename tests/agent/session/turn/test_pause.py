"""A paused turn takes nothing more of the response and begins nothing, until it goes on."""

import asyncio

from agent.records.events import PartDelta
from agent.records.messages import TextPart, ToolPart
from agent.session.turn.state import Pause
from tests.support.harness import Harness
from tests.support.script import Call, Hold, Text, answer


async def rounds() -> None:
    """Let everything happen that waits for nothing."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_nothing_begins_in_a_pause(harness: Harness) -> None:
    before, sent = Hold(), Hold()
    call = Call("bash", {"command": "echo made"})
    harness.server.script(
        answer(Text("begun"), before, Text(" and on"), call, sent), answer(Text("done"))
    )
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(lambda event: isinstance(event, PartDelta) and event.delta == "begun")
    harness.runtime.sessions.pause(session.id, paused=True)
    before.gate.set()
    await sent.reached.wait()
    await rounds()
    shown = [event.delta for event in harness.events if isinstance(event, PartDelta)]
    assert shown == ["begun"]
    assert not any(isinstance(part, ToolPart) for part in await harness.parts(session))
    harness.runtime.sessions.pause(session.id, paused=False)
    sent.gate.set()
    assert (await harness.idle(session)).outcome == "completed"
    texts = [part.text for part in await harness.parts(session) if isinstance(part, TextPart)]
    assert texts[-2:] == ["begun and on", "done"]
    assert any(isinstance(part, ToolPart) for part in await harness.parts(session))


async def test_a_paused_turn_can_be_cancelled(harness: Harness) -> None:
    harness.server.script(answer(Text("begun"), Hold()))
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(lambda event: isinstance(event, PartDelta))
    harness.runtime.sessions.pause(session.id, paused=True)
    await harness.runtime.sessions.cancel(session.id)
    assert (await harness.idle(session)).outcome == "cancelled"


async def test_a_pause_ends_by_itself() -> None:
    pause = Pause()
    pause.begin()
    assert pause.lasts
    await pause.over()
    assert not pause.lasts
