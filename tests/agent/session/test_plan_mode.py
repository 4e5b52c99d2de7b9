"""The plan agent proposes to carry its plan out; the user decides."""

import json
from pathlib import Path

import pytest

from agent.records.events import QuestionAsked
from agent.records.messages import Completed, Failed
from agent.records.requests import Question, QuestionReply
from tests.support.harness import Harness, open_harness, tool_names
from tests.support.script import Call, Text, answer

FILE = ".opencode-py/plans/shop.md"


async def session_with_proposal(harness: Harness, file: str = FILE) -> tuple[object, Question, int]:
    """Return a session with an open question of the plan agent, the question, and the number of
    events."""
    path = harness.folder / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# Plan\n")
    session = await harness.session()
    before = len(harness.events)
    await harness.send(session, "Plan it.", agent="plan")
    event = await harness.until(lambda e: isinstance(e, QuestionAsked))
    assert isinstance(event, QuestionAsked)
    return session, event.question, before


@pytest.mark.parametrize("option", ["Carry it out", "Carry it out and accept edits"])
async def test_after_approval_the_build_agent_continues_in_the_same_turn(
    tmp_path: Path, option: str
) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(
            answer(Call("plan_exit", {"file": FILE})),
            answer(Text("Done.")),
            answer(Text("And more.")),
        )
        session, question, before = await session_with_proposal(harness)
        assert question.text == f"Carry out the plan in {FILE}?"
        harness.runtime.questions.reply(question.id, QuestionReply((option,)))
        assert (await harness.idle(session, after=before)).outcome == "completed"
        first, second = (request.body for request in harness.server.requests)
        assert tool_names(first) - tool_names(second) == {"plan_exit"}
        said = json.dumps(second["messages"][-1])
        assert f"Carry out the plan in {FILE}." in said
        assert "Plan mode is off" in said
        messages = await harness.messages(session)
        assert [item.message.agent for item in messages] == ["plan", "plan", "build", "build"]
        assert (await harness.runtime.store.session(session.id)).agent == "build"
        accepts = harness.runtime.permissions.mode == "accept edits"
        assert accepts is option.endswith("edits")


TWO_MODELS = {
    "provider": lambda url: {
        "other": {
            "api": "openai-chat",
            "options": {"baseURL": url, "apiKey": "sk-scripted-0001"},
            "models": {"thinker": {}, "worker": {}},
        }
    },
}


@pytest.mark.parametrize(
    ("agents", "planned", "built"),
    [
        ({"build": {"model": "other/worker"}}, "model-1", "worker"),
        ({"plan": {"model": "other/thinker"}}, "thinker", "model-1"),
        (
            {"plan": {"model": "other/thinker"}, "build": {"model": "other/worker"}},
            "thinker",
            "worker",
        ),
    ],
)
async def test_the_build_agent_continues_with_its_own_model_from_the_next_step(
    tmp_path: Path, agents: dict[str, object], planned: str, built: str
) -> None:
    async with open_harness(tmp_path, agent=agents, **TWO_MODELS) as harness:
        harness.server.script(answer(Call("plan_exit", {})), answer(Text("Done.")))
        session, question, before = await session_with_proposal(harness)
        harness.runtime.questions.reply(question.id, QuestionReply(("Carry it out",)))
        await harness.idle(session, after=before)
        assert [request.body["model"] for request in harness.server.requests] == [planned, built]


async def test_a_model_that_was_chosen_while_planning_stays(tmp_path: Path) -> None:
    agents = {"plan": {"model": "other/thinker"}}
    async with open_harness(tmp_path, agent=agents, **TWO_MODELS) as harness:
        harness.server.script(answer(Text("Hello.")), answer(Text("A plan.")))
        directory = harness.runtime.sessions.repository
        session = await harness.session()
        await harness.turn(session, "Hello.")
        session = await directory.set_agent(session.id, "plan")
        assert (session.agent, session.model) == ("plan", "other/thinker")
        await harness.turn(session, "Plan.")
        await directory.set_model(session.id, "other/worker", "high")
        session = await directory.set_agent(session.id, "build")
        assert (session.model, session.effort) == ("other/worker", "high")


async def test_a_chosen_model_is_restored_even_if_it_was_never_used(
    tmp_path: Path,
) -> None:
    agents = {"plan": {"model": "other/thinker"}}
    async with open_harness(tmp_path, agent=agents, **TWO_MODELS) as harness:
        harness.server.script(answer(Text("Hello.")))
        directory = harness.runtime.sessions.repository
        session = await harness.session()
        await harness.turn(session, "Hello.")
        await directory.set_model(session.id, "other/worker", "high")
        await directory.set_agent(session.id, "plan")
        session = await directory.set_agent(session.id, "build")
        assert (session.model, session.effort) == ("other/worker", "high")


async def test_leaving_plan_mode_restores_the_previous_model(tmp_path: Path) -> None:
    agents = {"plan": {"model": "other/thinker", "effort": "high"}}
    async with open_harness(tmp_path, agent=agents, **TWO_MODELS) as harness:
        harness.server.script(*(answer(Text(word)) for word in ("Hello.", "A plan.", "Done.")))
        session = await harness.session()
        await harness.runtime.sessions.repository.set_model(session.id, "other/worker")
        for agent in ("build", "plan", "build"):
            before = len(harness.events)
            await harness.send(session, "Go on.", agent=agent)
            await harness.idle(session, after=before)
        used = [request.body["model"] for request in harness.server.requests]
        assert used == ["worker", "thinker", "worker"]
        kept = await harness.runtime.store.session(session.id)
        assert (kept.model, kept.effort) == ("other/worker", None)


async def test_a_change_request_continues_the_planning(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Call("plan_exit", {})), answer(Text("Changed.")))
        session, question, before = await session_with_proposal(harness)
        reply = QuestionReply(("Keep planning",), text="smaller steps")
        harness.runtime.questions.reply(question.id, reply)
        await harness.idle(session, after=before)
        (part,) = await harness.tools(session)
        assert isinstance(part.state, Completed)
        assert part.state.output.endswith("They say: smaller steps")
        assert (await harness.messages(session))[-1].message.agent == "plan"


@pytest.mark.parametrize(
    "reply", [QuestionReply(("Keep planning",)), QuestionReply(dismissed=True)]
)
async def test_a_plain_no_ends_the_turn_in_plan_mode(tmp_path: Path, reply: QuestionReply) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Call("plan_exit", {})))
        session, question, before = await session_with_proposal(harness)
        harness.runtime.questions.reply(question.id, reply)
        assert (await harness.idle(session, after=before)).outcome == "rejected"
        assert len(harness.server.requests) == 1
        assert (await harness.runtime.store.session(session.id)).agent == "plan"


async def test_it_is_invalid_elsewhere_and_with_a_missing_file(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(
            answer(Call("plan_exit", {})),
            answer(Text("Hm.")),
            answer(Call("plan_exit", {"file": "no.md"})),
            answer(Text("Hm.")),
        )
        session = await harness.session()
        await harness.turn(session, "Go.")
        before = len(harness.events)
        await harness.send(session, "Plan.", agent="plan")
        await harness.idle(session, after=before)
        not_on, no_file = (part.state for part in await harness.tools(session))
        assert isinstance(not_on, Failed)
        assert "Plan mode is not on" in not_on.error
        assert isinstance(no_file, Failed)
        assert "There is no file no.md" in no_file.error


async def test_a_sub_agent_is_not_offered_it(tmp_path: Path) -> None:
    task = {"description": "plan", "prompt": "Plan.", "subagent_type": "plan"}
    async with open_harness(tmp_path) as harness:
        harness.server.script(
            answer(Call("task", task)), answer(Text("A plan.")), answer(Text("Done."))
        )
        await harness.turn(await harness.session(), "Go.")
        _, childs, _ = (tool_names(request.body) for request in harness.server.requests)
        assert "plan_exit" not in childs
