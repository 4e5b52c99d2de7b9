"""User shell commands in a session: sent to the model, and exclusive like a turn."""

import json
from pathlib import Path

import pytest

from agent.records.errors import SessionBusy
from agent.records.events import Event
from agent.records.messages import Completed, Failed, Running, ToolPart, UserMessage
from tests.support.after_turn import assert_left_clean
from tests.support.harness import APIS, Harness, open_harness
from tests.support.script import Call, Hold, Text, answer


async def ran(harness: Harness, session, command: str) -> ToolPart:
    before = len(harness.events)
    await harness.runtime.sessions.user_shell.start(session.id, command)
    await harness.idle(session, after=before)
    return own(await harness.parts(session))


def own(parts) -> ToolPart:
    return [part for part in parts if isinstance(part, ToolPart)][-1]


@pytest.mark.parametrize("api", APIS)
async def test_the_model_reads_its_output_with_the_next_prompt(tmp_path: Path, api: str) -> None:
    """In every protocol the strict server refuses nothing, and the command starts no turn."""
    async with open_harness(tmp_path, api=api) as harness:
        session = await harness.session()
        part = await ran(harness, session, "echo from-the-user; exit 3")
        assert isinstance(part.state, Completed)
        assert (part.state.exit_code, part.state.label.verb) == (3, "You ran")
        assert harness.server.requests == []
        harness.server.script(answer(Text("seen")), answer(Text("again")))
        assert (await harness.turn(session, "what happened?")).outcome == "completed"
        await ran(harness, session, "echo second")
        assert (await harness.turn(session, "and then?")).outcome == "completed"
        sent = json.dumps(harness.server.requests[-1].body)
        assert sent.index("$ echo from-the-user; exit 3") < sent.index("what happened?")
        assert sent.index("seen") < sent.index("$ echo second") < sent.index("and then?")
        assert "Exit code 3" in sent


async def test_the_user_is_not_asked_and_the_agents_rules_do_not_apply(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"bash": "deny"}) as harness:
        session = await harness.session()
        part = await ran(harness, session, "touch made.txt")
        assert isinstance(part.state, Completed)
        assert part.state.exit_code == 0
        assert harness.runtime.permissions.pending(session.id) == ()


async def test_it_is_cancelled_like_a_turn_and_keeps_its_output(harness: Harness) -> None:
    session = await harness.session()
    before = len(harness.events)
    await harness.runtime.sessions.user_shell.start(session.id, "echo begun; sleep 60")

    def printed(event: Event) -> bool:
        part = getattr(event, "part", None)
        state = part.state if isinstance(part, ToolPart) else None
        return isinstance(state, Running) and "begun" in state.output

    await harness.until(printed, after=before)
    assert await harness.runtime.sessions.cancel(session.id)
    assert (await harness.idle(session, after=before)).outcome == "cancelled"
    part = own(await harness.parts(session))
    assert isinstance(part.state, Failed)
    assert part.state.kind == "aborted"
    assert "begun" in part.state.output
    harness.server.script(answer(Text("fine")))
    before = len(harness.events)
    assert (await harness.turn(session, "go on")).outcome == "completed"
    await assert_left_clean(harness, session, before, "own command: cancelled")


async def test_it_waits_for_no_turn_and_queued_messages_stay_queued(harness: Harness) -> None:
    session = await harness.session()
    hold = Hold()
    harness.server.script(answer(Text("a"), hold, Text("b")), answer(Text("then this")))
    before = len(harness.events)
    await harness.send(session, "go")
    await hold.reached.wait()
    with pytest.raises(SessionBusy, match="when it is done"):
        await harness.runtime.sessions.user_shell.start(session.id, "true")
    hold.gate.set()
    await harness.idle(session, after=before)
    before = len(harness.events)
    await harness.runtime.sessions.user_shell.start(session.id, "sleep 60")
    await harness.send(session, "sent meanwhile")
    waiting = harness.runtime.queues.ids(session.id)
    assert len(waiting) == 1
    await harness.runtime.sessions.cancel(session.id)
    await harness.idle(session, after=before)
    texts = [
        m.parts[0].text
        for m in await harness.messages(session)
        if isinstance(m.message, UserMessage) and not m.message.synthetic
    ]
    assert texts == ["go", "sent meanwhile"]


async def test_the_listing_and_the_history_know_it(harness: Harness) -> None:
    session = await harness.session()
    await ran(harness, session, "echo hi")
    runtime = harness.runtime
    assert (await runtime.sessions.repository.get(session.id)).title == "! echo hi"
    assert (await runtime.store.prompt_history())[0] == "!echo hi"


async def test_it_is_not_between_a_call_and_its_result(harness: Harness) -> None:
    session = await harness.session()
    await ran(harness, session, "echo one")
    harness.server.script(answer(Call("list", {})), answer(Text("done")))
    before = len(harness.events)
    assert (await harness.turn(session, "look")).outcome == "completed"
    await assert_left_clean(harness, session, before, "own command: before calls")
