"""Quick questions: answered from the session, stored nowhere."""

import json
from pathlib import Path

import pytest

from agent.records.errors import NothingToDo, ProviderError
from tests.support.harness import APIS, Harness, open_harness
from tests.support.script import Call, Cut, Failure, Hold, Text, Tokens, answer


async def ask_quick_question(harness: Harness, session, question: str) -> str:
    return "".join(
        [p async for p in harness.runtime.sessions.quick_questions.ask(session.id, question)]
    )


@pytest.mark.parametrize("api", APIS)
async def test_it_leaves_no_trace_but_its_cost_is_counted(tmp_path: Path, api: str) -> None:
    async with open_harness(tmp_path, api=api) as harness:
        session = await harness.session()
        harness.server.script(
            answer(Call("list", {})),
            answer(Text("three files")),
            answer(Text("because "), Text("you asked"), Tokens(120, 7)),
            answer(Text("carried on")),
        )
        await harness.turn(session, "look around")
        before = await harness.messages(session)
        used = (await harness.runtime.sessions.repository.get(session.id)).usage
        assert await ask_quick_question(harness, session, "why?") == "because you asked"
        assert await harness.messages(session) == before
        after = (await harness.runtime.sessions.repository.get(session.id)).usage
        assert (after.input - used.input, after.output - used.output) == (120, 7)
        await harness.turn(session, "go on")
        assert "why?" not in json.dumps(harness.server.requests[-1].body)


async def test_the_request_begins_like_the_sessions_own(harness: Harness) -> None:
    session = await harness.session()
    harness.server.script(answer(Text("one")), answer(Text("two")))
    await harness.turn(session, "first")
    await ask_quick_question(harness, session, "why?")
    own, aside = (request.body for request in harness.server.requests)
    assert aside["messages"][: len(own["messages"])] == own["messages"]
    assert aside["tools"] == own["tools"]


async def test_it_is_answered_during_a_turn(harness: Harness) -> None:
    session = await harness.session()
    hold = Hold()
    harness.server.script(answer(Text("a"), hold, Text("b")), answer(Text("in passing")))
    before = len(harness.events)
    await harness.send(session, "go")
    await hold.reached.wait()
    assert await ask_quick_question(harness, session, "what now?") == "in passing"
    hold.gate.set()
    assert (await harness.idle(session, after=before)).outcome == "completed"


async def test_errors_are_sentences(harness: Harness) -> None:
    session = await harness.session()
    with pytest.raises(NothingToDo, match="just ask"):
        await ask_quick_question(harness, session, "why?")
    harness.server.script(answer(Text("one")), Failure(401), answer(Text("half"), Cut()))
    await harness.turn(session, "first")
    for _ in range(2):
        with pytest.raises(ProviderError):
            await ask_quick_question(harness, session, "why?")
