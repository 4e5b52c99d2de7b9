"""Full-text search over finished texts."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.store import search
from agent.store.store import Store
from tests.agent.store.samples import (
    make_assistant,
    make_session,
    make_text,
    make_user,
    rows,
    stored_turn,
)

TEXTS = {
    "french": "Le café était fermé à Besançon",
    "chinese": "我想用数据库保存会话记录",
    "japanese": "検索エンジンを作る",
    "code": 'def read_configuration(path): return "x"',
    "greek": "Ο Οδυσσέας έφυγε",
}


@pytest.fixture
async def ids(store: Store) -> dict[str, str]:
    session = make_session()
    user = make_user(session)
    parts = {name: make_text(user, text, ended=1.0) for name, text in TEXTS.items()}
    await store.save(session, user, *parts.values())
    return {part.id: name for name, part in parts.items()}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cafe", ["french"]),
        ("CAFÉ ferme", ["french"]),
        ("besan", ["french"]),
        ("afé éta", ["french"]),
        ("数据库", ["chinese"]),
        ("会话记录", ["chinese"]),
        ("数据", ["chinese"]),
        ("会", ["chinese"]),
        ("数据 会话", ["chinese"]),
        ("エンジン", ["japanese"]),
        ("作る", ["japanese"]),
        ("οδυσσέας", ["greek"]),
        ("configuration", ["code"]),
        ("figura", ["code"]),
        ('"x"', ["code"]),
        ("cafe configuration", []),
        ("nothing like it", []),
        ("", []),
        ("  ", []),
        ('" OR NEAR( * ^ -:', []),
        ("AND", []),
        ("\ud800", []),
    ],
)
async def test_words_without_accents_substrings_and_cjk(
    store: Store, ids: dict[str, str], query: str, found: list[str]
):
    assert [ids[hit.part_id] for hit in await store.read(search.find_hits, query, 50)] == found


async def test_hits_have_their_ids_and_are_newest_first(store: Store):
    session, message, parts = await stored_turn(
        store, *[lambda m, i=i: make_text(m, f"{'pad ' * 40}needle {i}", ended=1.0) for i in "abc"]
    )
    found = await store.read(search.find_hits, "needle", 2)
    hits = await store.read(search.with_excerpts, found)
    assert [hit.part_id for hit in hits] == [parts[2].id, parts[1].id]
    assert (hits[0].session_id, hits[0].message_id) == (session.id, message.id)
    assert hits[0].snippet.startswith("…")
    assert hits[0].snippet.endswith("needle c")


async def test_a_text_is_found_once_it_is_finished_and_until_it_is_gone(store: Store):
    session, message, _ = await stored_turn(store)
    text = make_text(message)
    store.stage(text)
    store.append(text.id, "text", "quick brown fox")
    await store.flush()
    assert await store.read(search.find_hits, "brown", 50) == []
    ended = replace(text, text="quick brown fox", ended=2.0)
    await store.save(ended)
    assert [hit.part_id for hit in await store.read(search.find_hits, "brown", 50)] == [text.id]
    await store.save(replace(ended, text="quick red fox"))
    assert await store.read(search.find_hits, "brown", 50) == []
    assert [hit.part_id for hit in await store.read(search.find_hits, "red", 50)] == [text.id]
    await store.save(replace(ended, synthetic=True))
    assert await store.read(search.find_hits, "quick", 50) == []
    await store.save(ended)
    await store.delete_session(session.id)
    assert await store.read(search.find_hits, "quick", 50) == []


async def test_the_index_agrees_with_the_texts(store: Store, path: Path, ids: dict[str, str]):
    """Run SQLite's own check of the search tables against the indexed texts."""
    session = make_session()
    message = make_assistant(session)
    texts = [make_text(message, f"text {i} {'é' * i}\0tail", ended=1.0) for i in range(20)]
    await store.save(session, message, *texts)
    await store.save(*(replace(text, text=f"changed {text.id}") for text in texts[:10]))
    for text in texts[5:15]:
        await store.remove_part(text)
    for table in ("part_words", "part_trigrams"):
        assert (
            rows(path, f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)") == []
        )


async def test_a_huge_text_is_indexed_only_in_part(store: Store):
    _, _, (text,) = await stored_turn(
        store, lambda m: make_text(m, f"head {'x' * 200_000} tail", ended=1.0)
    )
    assert [hit.part_id for hit in await store.read(search.find_hits, "head", 50)] == [text.id]
    assert await store.read(search.find_hits, "tail", 50) == []
    await store.remove_part(text)
    assert await store.read(search.find_hits, "head", 50) == []
