"""The queue of messages: dequeued messages keep the order in which they were sent."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.records.messages import MessageWithParts, TextPart
from agent.session.queue import Queues
from agent.store.store import Store
from tests.agent.store.samples import make_session, make_user, own
from tests.support.harness import Harness
from tests.support.script import Hold, Text, answer

SESSION = make_session(id="ses_queue")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(tmp_path / "sessions.db", Bus())
    await opened.save(SESSION)
    yield opened
    await opened.close()


def prompt(text: str) -> MessageWithParts:
    message = make_user(SESSION, turn_id=None)
    return MessageWithParts(message, (TextPart(**own(message), text=text),))


async def waiting(store: Store, queues: Queues, *items: MessageWithParts) -> None:
    for item in items:
        with queues.adding(item):
            await store.save(item.message, *item.parts)


async def history_texts(store: Store) -> list[str]:
    """Return the texts of the history in order."""
    stored = await store.messages(SESSION.id)
    return [m.parts[0].text for m in stored if m.message.turn_id is not None]


async def test_a_prompt_sent_during_a_cancelled_dequeue_comes_after_it(store: Store) -> None:
    """A prompt got its id, the turn moved the earlier prompts to the end of the history, and was
    cancelled: the next turn knows of the moved prompts only from the queue."""
    queues = Queues(store, Bus())
    await waiting(store, queues, prompt("first"), prompt("second"))
    late = prompt("third")
    taking = asyncio.create_task(
        queues.dequeue(SESSION.id, turn_id="trn_1", steered=False, everything=True)
    )
    await asyncio.sleep(0)
    taking.cancel()
    await asyncio.wait([taking])
    await queues.wait_until_moved()
    await waiting(store, queues, late)
    await queues.dequeue(SESSION.id, turn_id="trn_1", steered=False, everything=True)
    assert await history_texts(store) == ["first", "second", "third"]


async def test_overlapping_dequeues_keep_the_order(store: Store) -> None:
    queues = Queues(store, Bus())
    first, second = prompt("first"), prompt("second")
    await waiting(store, queues, first)
    await store.save(second.message, *second.parts)

    async def take() -> None:
        await queues.dequeue(SESSION.id, turn_id="trn_1", steered=False, everything=True)

    taking = asyncio.create_task(take())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert queues.ids(SESSION.id) == ()  # the first is on its way
    with queues.adding(second):
        pass
    await asyncio.gather(taking, take())
    assert await history_texts(store) == ["first", "second"]


async def test_a_prompt_sent_while_a_turn_reads_its_session_waits_for_it(store: Store) -> None:
    """Prompts that another instance has answered meanwhile are no longer queued."""
    queues = Queues(store, Bus())
    answered, waits, late = prompt("answered"), prompt("waits"), prompt("late")
    await waiting(store, queues, answered, waits)
    known = queues.ids(SESSION.id)
    await store.save(replace(answered.message, turn_id="trn_elsewhere"))
    read = await store.context_messages(SESSION.id)
    await waiting(store, queues, late)
    queues.reload(SESSION.id, read, known=known)
    assert queues.ids(SESSION.id) == (waits.message.id, late.message.id)


async def test_a_prompt_stored_as_a_turn_begins_is_picked_up_once(store: Store) -> None:
    queues = Queues(store, Bus())
    item = prompt("sent")
    with queues.adding(item):
        await store.save(item.message, *item.parts)
        queues.reload(SESSION.id, await store.context_messages(SESSION.id), known=())
        assert queues.ids(SESSION.id) == ()  # the turn would give it another id
    assert queues.ids(SESSION.id) == (item.message.id,)


async def test_a_prompt_that_cannot_be_stored_is_not_queued(store: Store) -> None:
    queues = Queues(store, Bus())
    with pytest.raises(OSError, match="full"), queues.adding(prompt("lost")):
        raise OSError("full")
    assert queues.ids(SESSION.id) == ()


@pytest.mark.parametrize("work", ["compaction", "own command"])
async def test_work_cancelled_before_it_begins_leaves_queued_prompts(
    harness: Harness, work: str
) -> None:
    """A compaction and a user shell command answer no prompt: a queued prompt stays queued however
    early they are stopped."""
    sessions = harness.runtime.sessions
    session = await harness.session()
    hold = Hold()
    harness.server.script(answer(Text("a"), hold, Text("b")))
    before = len(harness.events)
    await harness.send(session, "go")
    await hold.reached.wait()
    await harness.send(session, "it waits")
    await sessions.cancel(session.id)
    await harness.idle(session, after=before)
    waits = harness.runtime.queues.ids(session.id)
    assert len(waits) == 1
    before = len(harness.events)
    if work == "compaction":
        await sessions.compaction.start(session.id)
    else:
        await sessions.user_shell.start(session.id, "true")
    await sessions.cancel(session.id)
    assert (await harness.idle(session, after=before)).outcome == "cancelled"
    assert harness.runtime.queues.ids(session.id) == waits
    hold.gate.set()
    harness.server.script(answer(Text("answered")))
    await harness.turn(session, "and this")
    sent = str(harness.server.requests[-1].body)
    assert sent.index("it waits") < sent.index("and this")
