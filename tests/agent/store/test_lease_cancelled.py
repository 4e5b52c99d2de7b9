"""A cancelled claim of a session leaves the session free."""

import asyncio
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.store.store import Store
from tests.agent.store.samples import make_session


async def cancelled_claim(store: Store, session_id: str) -> None:
    claiming = asyncio.create_task(store.acquire_lease(session_id))
    await asyncio.sleep(0)  # it was handed to the database
    claiming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claiming


async def test_a_cancelled_claim_leaves_the_session_free(store: Store, path: Path) -> None:
    session = make_session()
    await store.save(session)
    await cancelled_claim(store, session.id)
    assert not await store.foreign_lease(session.id)
    other = await Store.open(path, Bus())
    assert await other.acquire_lease(session.id)
    await other.close()


async def test_a_cancelled_claim_of_a_held_session_keeps_it(store: Store, path: Path) -> None:
    """As a background task does for a session in which no turn runs."""
    session = make_session()
    await store.save(session)
    assert await store.acquire_lease(session.id)
    await cancelled_claim(store, session.id)
    other = await Store.open(path, Bus())
    assert not await other.acquire_lease(session.id)
    await other.close()
