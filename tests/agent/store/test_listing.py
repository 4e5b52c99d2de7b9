"""The list of sessions and the search over all of them."""

from agent.store.listing import MAX_HITS_PER_SESSION, SessionScope
from agent.store.store import Store
from tests.agent.store.samples import make_session, make_text, make_user


async def kept(store: Store, *texts: str, **fields):
    session = make_session(**{"turns": 1, **fields})
    user = make_user(session)
    await store.save(session, user, *(make_text(user, text, ended=1.0) for text in texts))
    return session


async def test_used_sessions_are_listed_pinned_first_then_newest(store: Store):
    old = await kept(store, updated=1.0, pinned=True)
    middle = await kept(store, updated=3.0)
    new = await kept(store, updated=2.0, cost=0.5)  # by a clock that was set back
    await kept(store, updated=9.0, archived=True)
    await kept(store, updated=9.0, parent_id=new.id)
    await kept(store, updated=9.0, turns=0, title="")
    await kept(store, updated=9.0, directory="/desk/b")
    lines = await store.session_list(SessionScope("/desk/a"))
    assert [line.id for line in lines] == [old.id, new.id, middle.id]
    assert [(line.pinned, line.cost, line.turns) for line in lines[:2]] == [
        (True, None, 1),
        (False, 0.5, 1),
    ]
    assert len(await store.session_list(SessionScope("/desk/a", archived=True))) == 4
    assert len(await store.session_list(SessionScope())) == 4


async def test_search_is_limited_to_its_folder_and_shows_every_session(store: Store):
    chatty = await kept(store, *[f"needle {i}" for i in range(9)])
    child = await kept(store, "a needle", parent_id=chatty.id)
    hidden = await kept(store, "needle", archived=True)
    await kept(store, "needle", directory="/desk/b")
    hits = await store.search_sessions("needle", SessionScope("/desk/a"))
    assert [hit.session.id for hit in hits] == [child.id, *[chatty.id] * MAX_HITS_PER_SESSION]
    archived = await store.search_sessions("needle", SessionScope("/desk/a", archived=True))
    assert hidden.id in {hit.session.id for hit in archived}
    assert len(await store.search_sessions("needle", SessionScope(archived=True), limit=2)) == 2
    assert await store.search_sessions("", SessionScope()) == []
