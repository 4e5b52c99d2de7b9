"""Usage of a session, by purpose and by model."""

from pathlib import Path

import pytest

from agent.records.messages import Session
from agent.records.usage import Usage
from agent.session.review.costs import (
    UNKNOWN_MODEL,
    CostLedger,
    SessionCosts,
    Spending,
    session_costs,
)
from tests.support.harness import open_harness
from tests.support.script import Answer, Call, Text, Tokens, answer

PRICE = {"cost": {"input": 1.0, "output": 10.0, "cache_read": 0.1}}
TASK = {"subagent_type": "explore", "description": "look", "prompt": "look around"}


def titled(url: str) -> dict[str, object]:
    models = {"small": {"limit": {"context": 10_000, "output": 1_000}, **PRICE}}
    options = {"baseURL": url, "apiKey": "sk-small-0001"}
    return {"tiny": {"api": "openai-chat", "options": options, "models": models}}


def respond(body: dict) -> Answer:
    """Return a response by the sender: the title, the compaction, the sub-agent, the session."""
    if body["model"] == "small":
        return answer(Text("A title"), Tokens(500, 5))
    words = str(body["messages"])
    if "tools" not in body:
        return answer(Text("## Goal\nso far"), Tokens(2_000, 200))
    if "task" not in {tool["function"]["name"] for tool in body["tools"]}:
        return answer(Text("found it"), Tokens(3_000, 30))
    if "found it" in words:
        return answer(Text("done"), Tokens(2_000, 20, cached=1_000, reasoning=7))
    return answer(Call("task", TASK), Tokens(1_000, 10))


async def test_sub_agents_titles_and_summaries_count_and_everything_adds_up(
    tmp_path: Path,
) -> None:
    more = {"provider": titled, "small_model": "tiny/small", "abilities": PRICE}
    async with open_harness(tmp_path, **more) as harness:
        harness.server.always(respond)
        session = await harness.session()
        assert (await harness.turn(session, "look for it")).outcome == "completed"
        await harness.until(lambda e: "A title" in str(e))
        before = len(harness.events)
        await harness.runtime.sessions.compaction.start(session.id)
        await harness.idle(session, after=before)
        costs = await session_costs(harness.runtime.store, session.id)
        record = await harness.runtime.store.session(session.id)
    by = {name: spent.usage for name, spent in costs.purposes}
    assert by == {
        "conversation": Usage(3_000, 30, 7, 1_000),
        "sub-agents": Usage(3_000, 30),
        "summaries": Usage(2_000, 200),
        "titles and other calls": Usage(500, 5),
    }
    assert {name for name, _ in costs.models} == {"scripted/model-1", "tiny/small"}
    assert costs.total.usage == record.usage + record.subagent_usage
    assert costs.total.usage == Usage(8_500, 265, 7, 1_000)
    expected = (7_500 * 1.0 + 1_000 * 0.1 + 265 * 10.0) / 1e6
    assert costs.total.cost == pytest.approx(expected)
    assert costs.total.cost == pytest.approx((record.cost or 0) + (record.subagent_cost or 0))
    assert not costs.total.unpriced
    assert costs.last == Usage(2_000, 20, 7, 1_000)
    for rows in (costs.purposes, costs.models):
        assert total(rows) == costs.total.usage


def total(rows: tuple) -> Usage:
    usage = Usage()
    for _, spent in rows:
        usage += spent.usage
    return usage


async def test_a_call_without_a_price_makes_the_total_unknown(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Text("yes"), Tokens(1_000, 10)))
        session = await harness.session()
        await harness.turn(session, "Well?")
        costs: SessionCosts = await session_costs(harness.runtime.store, session.id)
    assert costs.total.cost is None
    assert costs.total.unpriced


async def test_calls_without_a_message_have_a_model(tmp_path: Path) -> None:
    """A quick question, and a response that was undone for good."""
    more = {"abilities": PRICE}
    async with open_harness(tmp_path, **more) as harness:
        harness.server.script(
            answer(Text("one"), Tokens(1_000, 10)),
            answer(Text("in passing"), Tokens(1_200, 12)),
            answer(Text("two"), Tokens(1_500, 15)),
            answer(Text("three"), Tokens(1_600, 16)),
        )
        session = await harness.session()
        await harness.turn(session, "first")
        asked = harness.runtime.sessions.quick_questions.ask(session.id, "why?")
        assert [piece async for piece in asked] == ["in passing"]
        await harness.turn(session, "second")
        undo = harness.runtime.sessions.undo
        plan = await undo.plan(session.id)
        assert plan is not None
        await undo.undo(plan, files=False, conversation=True)
        await harness.turn(session, "third")
        costs = await session_costs(harness.runtime.store, session.id)
        record = await harness.runtime.store.session(session.id)
    by = {name: spent.usage for name, spent in costs.purposes}
    assert by == {
        "conversation": Usage(2_600, 26),
        "titles and other calls": Usage(2_700, 27),
    }
    assert [(name, spent.usage) for name, spent in costs.models] == [
        ("scripted/model-1", Usage(5_300, 53))
    ]
    assert costs.total.usage == record.usage
    assert costs.total.cost == pytest.approx(record.cost)


def test_sums_without_a_recorded_model_are_included() -> None:
    """Sessions of versions that did not record models."""
    ledger = CostLedger()
    old = Session(
        id="ses_1", directory="/", project="/", title="", created=0.0, updated=0.0,
        usage=Usage(500, 5), cost=0.25,
    )  # fmt: skip
    ledger.add(old, [], child=False)
    assert ledger.costs().models == ((UNKNOWN_MODEL, Spending(Usage(500, 5), 0.25)),)
