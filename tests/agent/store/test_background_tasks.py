"""Background tasks after a crash."""

from dataclasses import replace
from pathlib import Path

from agent.records.background import BackgroundTask
from agent.records.context_parts import ReportPart
from tests.agent.store.samples import make_session, reopened

TASK = BackgroundTask(message_id="msg_1", call_id="cal_1", started=20.0)


async def test_a_task_cut_short_by_a_crash_is_marked_and_reported_once(path: Path):
    parent = make_session()
    child = replace(make_session(), parent_id=parent.id, agent="explore", background_task=TASK)
    store = await reopened(path)
    await store.save(parent, child)
    await store.close()
    store = await reopened(path)
    await store.recover()
    ended = (await store.session(child.id)).background_task
    assert ended is not None
    assert ended.state == "interrupted"
    (waiting,) = await store.messages(parent.id)
    assert waiting.message.turn_id is None
    (report,) = [part for part in waiting.parts if isinstance(part, ReportPart)]
    assert (report.child_id, report.outcome) == (child.id, "interrupted")
    await store.recover()
    assert len(await store.messages(parent.id)) == 1
    await store.close()


async def test_a_task_whose_parent_session_is_leased_keeps_running(path: Path):
    parent = make_session()
    child = replace(make_session(), parent_id=parent.id, background_task=TASK)
    store = await reopened(path)
    await store.save(parent, child)
    assert await store.acquire_lease(parent.id)
    other = await reopened(path)
    await other.recover()
    assert (await other.session(child.id)).background_task == TASK
    await other.close()
    await store.close()
