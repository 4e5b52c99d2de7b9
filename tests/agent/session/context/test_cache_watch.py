"""The causes of cache misses."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.provider.client import (
    AssistantTurn,
    ModelInfo,
    ModelRequest,
    Price,
    TextContent,
    ToolSchema,
    UserTurn,
)
from agent.records.events import Notice
from agent.records.messages import CacheMiss, Session, StepFinishPart
from agent.records.usage import Usage
from agent.session.context.cache_watch import CacheWatch, SentRequest
from agent.session.review.past_request import past_request
from agent.store import queries
from agent.store.store import Store
from tests.agent.store.samples import make_assistant, make_session
from tests.support.harness import open_harness
from tests.support.script import Call, Text, Tokens, answer

MODEL = ModelInfo(
    id="m", provider="p", name="M", api="openai-chat", price=Price(10.0, 30.0, cache_read=1.0)
)
TOOLS = (ToolSchema("read", "Read.", {}), ToolSchema("list", "List.", {}))
TURNS = (
    UserTurn((TextContent("Why does it fail?"),)),
    AssistantTurn((TextContent("It is empty."),)),
    UserTurn((TextContent("Fix it"),)),
)
REQUEST = ModelRequest(
    model=MODEL, system=("You help.", "Today is Monday."), turns=TURNS, tools=TOOLS, session_id="s"
)
FULL, HIT, MISSED = Usage(40_000, 10, 0, 30_000), Usage(41_000, 10, 0, 39_000), Usage(41_000, 10)


def sent(request: ModelRequest, usage: Usage, at: float = 10.0, marker: str = "") -> SentRequest:
    return SentRequest(
        request=request, usage=usage, sent=at, ended=at + 1, marker=marker, earlier=None
    )


def explain(second: ModelRequest, at: float = 20.0, marker: str = "") -> CacheMiss | None:
    watch = CacheWatch(Bus())
    assert watch.note(sent(REQUEST, FULL)) is None
    return watch.note(sent(second, MISSED, at, marker))


def test_a_hit_and_a_first_request_are_no_misses() -> None:
    watch = CacheWatch(Bus())
    assert watch.note(sent(REQUEST, MISSED)) is None
    assert watch.note(sent(REQUEST, replace(HIT, cache_read=38_000))) is None


def test_a_provider_that_never_reports_a_cache_has_no_misses() -> None:
    watch = CacheWatch(Bus())
    watch.note(sent(REQUEST, MISSED))
    assert watch.note(sent(REQUEST, MISSED)) is None


def test_changed_tools_are_named_with_the_first_byte_that_differs() -> None:
    new = (TOOLS[0], ToolSchema("list", "List!", {}), ToolSchema("mcp_x", "X.", {}))
    miss = explain(replace(REQUEST, tools=new))
    assert miss is not None
    assert miss.cause == "tools"
    assert miss.detail == "mcp_x added; list changed"
    assert miss.lost == 40_000
    assert miss.cost == pytest.approx(0.36)
    first = '{"name": "read", "description": "Read.", "parameters": {}}'
    assert miss.at == len(first + '{"name": "list", "description": "List')
    assert "List." in miss.was
    assert "List!" in miss.now


def test_the_system_prompt_counts_after_the_tools() -> None:
    miss = explain(replace(REQUEST, system=("You help.", "Today is Tuesday.")))
    assert miss is not None
    assert miss.cause == "system"
    tools = '{"name": "read", "description": "Read.", "parameters": {}}' * 2
    assert miss.at == len(tools) + len("You help.Today is ")
    assert miss.now.endswith("Today is Tuesday.")


def test_rewritten_messages_and_compactions() -> None:
    turns = (TURNS[0], AssistantTurn((TextContent("It is gone."),)), TURNS[2])
    miss = explain(replace(REQUEST, turns=turns))
    assert miss is not None
    assert (miss.cause, miss.detail) == ("history", "from message 2 of 3 on")
    miss = explain(replace(REQUEST, turns=turns), marker="prt_1")
    assert miss is not None
    assert miss.detail == "the conversation was compacted"
    miss = explain(replace(REQUEST, turns=TURNS[:1]))
    assert miss is not None
    assert (miss.cause, miss.now) == ("history", "")


def test_appended_messages_are_no_change() -> None:
    longer = replace(REQUEST, turns=(*TURNS, UserTurn((TextContent("And?"),))))
    for pause, cause in ((20.0, "dropped"), (1_000.0, "expired")):
        miss = explain(longer, pause)
        assert miss is not None
        assert miss.cause == cause
        assert miss.at is None


def test_another_model_and_effort() -> None:
    miss = explain(replace(REQUEST, model=replace(MODEL, id="n")))
    assert miss is not None
    assert (miss.cause, miss.detail) == ("model", "p/m answered before")
    miss = explain(replace(REQUEST, effort="high"))
    assert miss is not None
    assert (miss.cause, miss.detail) == ("effort", "from default to high")


def test_after_a_restart_the_record_of_the_step_before_explains_what_it_can() -> None:
    step = replace(make_assistant(make_session()), usage=FULL, completed=10.0, model="p/m")
    for earlier, at, cause in (
        (step, 1_000.0, "expired"),
        (step, 20.0, "restarted"),
        (replace(step, model="p/other"), 20.0, "model"),
    ):
        miss = CacheWatch(Bus()).note(replace(sent(REQUEST, MISSED, at), earlier=earlier))
        assert miss is not None
        assert miss.cause == cause


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(tmp_path / "sessions.db", Bus())
    yield opened
    await opened.close()


@pytest.fixture
async def session(store: Store) -> Session:
    made = make_session()
    await store.save(made)
    return made


async def test_after_a_restart_what_changed_is_still_known(store: Store, session: Session) -> None:
    step = replace(make_assistant(session), usage=FULL, completed=10.0, model="p/m")
    request = replace(REQUEST, session_id=session.id, effort="low")
    before = CacheWatch(Bus())
    await before.recall(store, session.id)
    before.note(sent(request, FULL, marker="prt_1"))
    await before.keep(store, session.id)
    more = (*TOOLS, ToolSchema("mcp_x", "X.", {}))
    for now, at, marker, cause, detail in (
        (replace(request, tools=more), 20.0, "prt_1", "tools", "mcp_x added"),
        (replace(request, tools=TOOLS[::-1]), 20.0, "prt_1", "tools", "their order changed"),
        (replace(request, system=("You help.",)), 1_000.0, "prt_1", "system", ""),
        (replace(request, effort=None), 20.0, "prt_1", "effort", "from low to default"),
        (request, 20.0, "prt_2", "history", "the conversation was compacted"),
        (request, 1_000.0, "prt_1", "expired", "16 minutes passed"),
        (request, 20.0, "prt_1", "restarted", "tools and system prompt are the same"),
    ):
        watch = CacheWatch(Bus())
        await watch.recall(store, session.id)
        miss = watch.note(replace(sent(now, MISSED, at, marker), earlier=step))
        assert miss is not None
        assert (miss.cause, miss.detail) == (cause, detail)
    await store.delete_session(session.id)
    assert await store.read(queries.request_head, session.id) is None


async def test_nothing_is_stored_where_there_is_no_cache(store: Store, session: Session) -> None:
    watch = CacheWatch(Bus())
    watch.note(sent(replace(REQUEST, session_id=session.id), MISSED))
    await watch.keep(store, session.id)
    assert await store.read(queries.request_head, session.id) is None


async def test_one_warning_when_the_same_cause_keeps_costing() -> None:
    bus = Bus()
    watch = CacheWatch(bus)
    with bus.subscribe() as events:
        watch.note(sent(REQUEST, FULL))
        for number in range(8):
            watch.note(sent(replace(REQUEST, system=(str(number),)), MISSED))
            watch.note(sent(replace(REQUEST, system=(str(number),)), HIT))
        (notice,) = events.drain()
    assert isinstance(notice, Notice)
    assert "3 times because the system prompt changed: 122k tokens" in notice.message
    assert "about $1.10" in notice.message


async def test_a_step_stores_its_miss(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(
            answer(Call("list", {}), Tokens(40_000, 10, 30_000)),
            answer(Call("list", {}), Tokens(41_000, 10, 39_000)),
            answer(Text("done"), Tokens(42_000, 10, 0)),
        )
        session = await harness.session()
        await harness.turn(session, "go")
        parts = await harness.parts(session)
        misses = [part.cache_miss for part in parts if isinstance(part, StepFinishPart)]
        assert misses[:2] == [None, None]
        assert misses[2] is not None
        assert (misses[2].cause, misses[2].lost) == ("dropped", 41_000)
        stored = await harness.messages(session)
        section, *_ = past_request(stored, stored[-1].message.id)
        assert section[0] == "cache missed"
        usage = await harness.runtime.context_usage.measure(session.id, "scripted/model-1", "build")
        assert usage.misses == (misses[2],)
        head = await harness.runtime.store.read(queries.request_head, session.id)
        assert head is not None
        assert "read" in str(head["tools"])
