"""The order of queued messages, also between two instances of the program."""

import asyncio
import json

from agent.records.events import SessionIdle
from agent.records.messages import (
    UserMessage,
)
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from tests.support.harness import Harness, environment
from tests.support.script import Call, Hold, Text, answer


def sent(harness: Harness, number: int = -1) -> str:
    return json.dumps(harness.server.requests[number].body["messages"])


async def test_messages_dequeued_together_keep_their_order(harness: Harness) -> None:
    first, second = Hold(), Hold()
    harness.server.script(
        answer(first, Call("list", {})), answer(Text("b"), second), answer(Text("c")), answer()
    )
    session = await harness.session()
    await harness.send(session, "go")
    await first.reached.wait()
    await harness.send(session, "FOLLOW", delivery="follow_up")
    first.gate.set()
    await second.reached.wait()
    await harness.send(session, "STEER")
    second.gate.set()
    await harness.idle(session)
    messages = await harness.messages(session)
    stored = [m.parts[0].text for m in messages if isinstance(m.message, UserMessage)]
    assert stored == ["go", "FOLLOW", "STEER"]
    assert sent(harness).index("FOLLOW") < sent(harness).index("STEER")
    await harness.turn(session, "next")
    assert sent(harness)[: len(sent(harness, -2)) - 1] == sent(harness, -2)[:-1]


async def test_prompts_answered_by_another_instance_are_not_sent_again(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(hold, Text("a")), answer(Text("LATER answered")), answer(Text("done"))
    )
    session = await harness.session()
    await harness.send(session, "go")
    await hold.reached.wait()
    await harness.send(session, "LATER", delivery="follow_up")
    other = await open_runtime(harness.folder, env=environment(harness.home))
    try:
        await other.sessions.snapshot(session.id)
        hold.gate.set()
        await harness.idle(session)
        with other.bus.subscribe(lambda e: isinstance(e, SessionIdle)) as ends:
            await other.sessions.prompt(session.id, PromptInput(text="after"))
            await asyncio.wait_for(ends.wait(), 30)
    finally:
        await other.close()
    history = sent(harness)
    assert history.count('"LATER"') + history.count("\\nLATER\\n") == 1
    assert history.index("LATER") < history.index("LATER answered") < history.index("after")
