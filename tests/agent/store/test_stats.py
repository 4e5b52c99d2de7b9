"""Totals of model usage are kept, whatever happens to messages."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent.records.messages import AssistantMessage, Usage
from agent.store import stats
from agent.store.listing import SessionScope, search_sessions
from agent.store.search import find_hits
from agent.store.stats import UsageRow, total
from agent.store.store import Store
from tests.agent.store.samples import make_assistant, make_session, make_text, make_user

DAY = 86_400.0


def done(message: AssistantMessage, usage: Usage, cost: float | None) -> AssistantMessage:
    return replace(message, completed=message.created + 1, usage=usage, cost=cost)


async def counted(store: Store) -> set[tuple[str, int, int, Usage, float | None]]:
    return {(u.project, u.steps, u.turns, u.usage, u.cost) for u in await store.usage_rows()}


async def test_sums_follow_every_change_of_a_message(store: Store) -> None:
    session = make_session(project="/a")
    first = make_assistant(session, created=DAY * 100)
    await store.save(first, session)  # in any order
    assert await counted(store) == {("/a", 1, 1, Usage(), None)}
    await store.save(done(first, Usage(input=10, output=2), 0.5))
    second = make_assistant(session, created=DAY * 100 + 5, step=2)
    await store.save(done(second, Usage(input=5, cache_read=7), None))
    assert await counted(store) == {("/a", 2, 1, Usage(input=15, output=2, cache_read=7), 0.5)}
    await store.save(done(first, Usage(input=11, output=2), 0.25))
    assert await counted(store) == {("/a", 2, 1, Usage(input=16, output=2, cache_read=7), 0.25)}
    await store.save(replace(session, project="/b", title="moved"))
    assert await counted(store) == {("/b", 2, 1, Usage(input=16, output=2, cache_read=7), 0.25)}
    await store.remove_message(session.id, first.id)
    assert await counted(store) == {("/b", 1, 0, Usage(input=5, cache_read=7), None)}


async def test_a_deleted_session_is_subtracted_once(store: Store) -> None:
    kept, gone = make_session(project="/a"), make_session(project="/a")
    child = make_session(project="/a", parent_id=gone.id)
    for session in (kept, gone, child):
        step = make_assistant(session, created=DAY * 100)
        await store.save(session, make_user(session), done(step, Usage(input=10), 0.5))
    assert await counted(store) == {("/a", 3, 3, Usage(input=30), 1.5)}
    await store.delete_session(gone.id)
    assert await counted(store) == {("/a", 1, 1, Usage(input=10), 0.5)}
    await store.delete_session(kept.id)
    assert await counted(store) == set()


async def test_days_models_and_projects_are_separate(store: Store) -> None:
    for project, day, model in (("/a", 100, "x/1"), ("/a", 101, "x/1"), ("/b", 100, "x/2")):
        session = make_session(project=project)
        step = make_assistant(session, created=DAY * day, model=model)
        await store.save(session, done(step, Usage(output=1), 1.0))
    rows: tuple[UsageRow, ...] = await store.usage_rows()
    assert len({(u.day, u.model, u.project) for u in rows}) == 3
    assert total("all", rows).cost == 3.0
    assert [u.project for u in await store.usage_rows(since=DAY * 101)] == ["/a"]
    assert [u.model for u in await store.usage_rows(project="/b")] == ["x/2"]


async def test_statistics_read_no_message(store: Store, path: Path) -> None:
    """Their cost depends on the number of days with usage."""
    await store.save(make_session())
    with closing(sqlite3.connect(path)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {stats.SUMS}", (0, None)).fetchall()
    steps = [step for *_, step in plan]
    assert any("used" in step for step in steps)
    assert not any("message" in step or "session" in step for step in steps)


async def test_the_search_for_a_common_word_stops_at_the_last_hit_shown(store: Store) -> None:
    """Prefixes are not searched if whole words are enough, and excerpts are made only of shown
    hits."""
    session = make_session(title="one")
    step = make_assistant(session)
    texts = [make_text(step, f"common word {n}", ended=1.0) for n in range(40)]
    await store.save(session, step, *texts)
    asked: list[str] = []

    def traced(connection: sqlite3.Connection, work: object) -> object:
        connection.set_trace_callback(asked.append)
        try:
            return work(connection)  # type: ignore[operator]
        finally:
            connection.set_trace_callback(None)

    work = partial(search_sessions, text="common", scope=SessionScope(), limit=50)
    await store._database.read(partial(traced, work=work))
    searches = [sql for sql in asked if "MATCH" in sql]
    # 40 are fewer than are looked through for sessions, so beginnings are looked for too; but
    # excerpts are made of those three of the session that are shown.
    assert any('"common"*' in sql for sql in searches)
    assert "LIMIT 3" in searches[-1]
    asked.clear()
    work = partial(find_hits, text="common", limit=5)
    hits = await store._database.read(partial(traced, work=work))
    assert len(hits) == 5  # type: ignore[arg-type]
    (searched,) = [sql for sql in asked if "MATCH" in sql]
    assert "*" not in searched
    assert "LIMIT 5" in searched
