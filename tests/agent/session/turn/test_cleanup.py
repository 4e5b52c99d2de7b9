"""A turn that is stopped from outside leaves nothing running."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.records.events import PartUpdated, PermissionAsked, SessionStatusChanged
from agent.records.messages import Completed, Failed, Retry, Running, Session, ToolPart
from tests.support.after_turn import assert_left_clean, marked_processes
from tests.support.harness import APIS, Harness, open_harness
from tests.support.script import Call, Cut, Failure, Hold, Reason, Text, answer

OK = answer(Text("done"))
FREE = {"permission": {"bash": "allow", "edit": "allow"}}

STUBBORN = {
    "a command": "echo begun; sleep 60",
    "a command that ignores TERM": "trap '' TERM INT HUP; echo begun; while :; do sleep 60; done",
    "a child that ignores TERM": "sh -c \"trap '' TERM; echo begun; while :; do sleep 60; done\"",
    "grandchildren": "(sleep 60 & sleep 61 & wait) & echo begun; wait",
    "a child of a session of its own": "setsid sleep 60 & echo begun; sleep 61",
    "a daemon": "(setsid nohup sleep 60 >/dev/null 2>&1 &); echo begun; sleep 61",
    "a pipeline": "yes | head -c 1000000000000 | tail -c 1 & echo begun; wait",
    "a stopped child": "sh -c 'kill -STOP $$; sleep 60' & echo begun; sleep 61",
}


def begun(event: object) -> bool:
    return (
        isinstance(event, PartUpdated)
        and isinstance(event.part, ToolPart)
        and isinstance(event.part.state, Running)
        and "begun" in event.part.state.output
    )


async def stopped(harness: Harness, session: Session, before: int = 0) -> None:
    assert await harness.runtime.sessions.cancel(session.id)
    assert (await harness.idle(session, after=before)).outcome == "cancelled"


@pytest.mark.parametrize("name", STUBBORN)
async def test_a_cancel_ends_processes_that_a_command_left_running(
    tmp_path: Path, name: str
) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(answer(Call("bash", {"command": STUBBORN[name]})))
        session = await harness.session()
        await harness.send(session, "go")
        await harness.until(begun)
        await stopped(harness, session)
        (tool,) = await harness.tools(session)
        assert isinstance(tool.state, Failed)
        assert (tool.state.kind, "begun" in tool.state.output) == ("aborted", True)
        await assert_left_clean(harness, session, 0, f"cancel: {name}")


async def test_a_slow_tool_is_waited_for(tmp_path: Path) -> None:
    """The grace period of 250 ms is for teardown only: three seconds of work are not too long."""
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(
            answer(Call("bash", {"command": "sleep 3; echo late"}), Call("list", {})), OK
        )
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        slow, _ = await harness.tools(session)
        assert isinstance(slow.state, Completed)
        assert "late" in slow.state.output
        await assert_left_clean(harness, session, 0, "a tool of three seconds")


async def test_a_call_that_runs_when_the_stream_breaks_is_waited_for(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        hold = Hold()
        running = Call("bash", {"command": "echo begun; sleep 1; echo end"})
        harness.server.script((running, Call("bash", '{"com'), hold, Cut()), OK)
        session = await harness.session()
        await harness.send(session, "go")
        await harness.until(begun)
        hold.gate.set()
        assert (await harness.idle(session)).outcome == "completed"
        whole, half = await harness.tools(session)
        assert isinstance(whole.state, Completed)
        assert "end" in whole.state.output
        assert isinstance(half.state, Failed)
        await assert_left_clean(harness, session, 0, "stream breaks while a call runs")


@pytest.mark.parametrize("api", APIS)
async def test_a_cancel_with_three_questions_open_withdraws_all(tmp_path: Path, api: str) -> None:
    async with open_harness(tmp_path, api=api) as harness:
        harness.server.script(
            answer(*(Call("write", {"file_path": f"{n}", "content": "x"}) for n in range(3)))
        )
        session = await harness.session()
        await harness.send(session, "go")
        request = await harness.permission_request()
        await stopped(harness, session)
        assert not harness.answer(request, "once")
        states = [tool.state for tool in await harness.tools(session)]
        assert all(isinstance(s, Failed) and s.kind == "aborted" for s in states)
        await assert_left_clean(harness, session, 0, "cancel in a permission question")


async def test_cancelled_again_and_again_ends_once(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        command = STUBBORN["a command that ignores TERM"]
        harness.server.script(answer(Call("bash", {"command": command})))
        session = await harness.session()
        await harness.send(session, "go")
        await harness.until(begun)
        service = harness.runtime.sessions
        for _ in range(200):
            await service.cancel(session.id)
            await asyncio.sleep(0)
        await harness.idle(session)
        await assert_left_clean(harness, session, 0, "cancelled again and again")


@pytest.mark.parametrize("api", APIS)
async def test_a_cancel_in_a_retry_wait(tmp_path: Path, api: str) -> None:
    async with open_harness(tmp_path, api=api) as harness:
        harness.server.script(Failure(503, headers=(("retry-after", "300"),)))
        session = await harness.session()
        await harness.send(session, "go")
        await harness.until(
            lambda e: isinstance(e, SessionStatusChanged) and isinstance(e.status, Retry)
        )
        await stopped(harness, session)
        await assert_left_clean(harness, session, 0, "cancel in a retry wait")


@pytest.mark.parametrize("api", APIS)
async def test_a_cancel_during_a_compaction(tmp_path: Path, api: str) -> None:
    async with open_harness(tmp_path, api=api) as harness:
        hold = Hold()
        session = await harness.session()
        await harness.turn(session, "one")
        await harness.turn(session, "two")
        before = len(harness.events)
        too_long = '{"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}'
        harness.server.replace((Failure(400, too_long), (Text("Goal"), hold)))
        await harness.send(session, "three")
        await hold.reached.wait()
        await stopped(harness, session, before)
        hold.gate.set()
        await assert_left_clean(harness, session, before, "cancel in a compaction")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "pieces",
    [(), (Reason("hm"),), (Text("so"),), (Reason("hm"), Text("so"), Call("list", '{"pa'))],
    ids=["silence", "reasoning", "text", "arguments"],
)
async def test_a_cancel_in_mid_stream_hangs_up(
    tmp_path: Path, api: str, pieces: tuple[object, ...]
) -> None:
    async with open_harness(tmp_path, api=api) as harness:
        hold = Hold()
        harness.server.script((*pieces, hold))  # type: ignore[arg-type]
        session = await harness.session()
        await harness.send(session, "go")
        await hold.reached.wait()
        await stopped(harness, session)
        await asyncio.wait_for(harness.server.requests[0].closed.wait(), 30)
        hold.gate.set()
        await assert_left_clean(harness, session, 0, "cancel in mid-stream")


async def test_every_task_cancelled_at_once_ends_the_turn_in_order(tmp_path: Path) -> None:
    """As the event loop does when it closes, with an open question and a running command."""
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        harness.server.script(
            answer(Call("bash", {"command": STUBBORN["a daemon"]})),
        )
        other = answer(Call("write", {"file_path": "x", "content": "y"}))
        session, asking = await harness.session(), await harness.session()
        await harness.send(session, "go")
        await harness.until(begun)
        harness.server.replace((other,))
        await harness.send(asking, "ask")
        await harness.until(lambda e: isinstance(e, PermissionAsked))
        for task in asyncio.all_tasks():
            if task.get_name().startswith(("turn", "tool", "supervisor")):
                task.cancel()
        for one in (session, asking):
            await harness.idle(one)
        assert marked_processes() == []
        for one in (session, asking):
            await assert_left_clean(harness, one, 0, "every task cancelled at once")


async def test_the_folder_is_deleted_underneath(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        hold = Hold()
        harness.server.script(
            answer(Call("bash", {"command": "echo begun; sleep 0.2; pwd"}), hold),
            answer(
                Call("read", {"file_path": "a.txt"}),
                Call("grep", {"pattern": "x"}),
                Call("list", {}),
                Call("bash", {"command": "echo still"}),
                Call("write", {"file_path": "b.txt", "content": "x"}),
            ),
            OK,
        )
        session = await harness.session()
        await harness.send(session, "go")
        await hold.reached.wait()
        shutil.rmtree(harness.folder)
        hold.gate.set()
        assert (await harness.idle(session)).outcome == "completed"
        for tool in (await harness.tools(session))[1:4]:
            assert isinstance(tool.state, Failed), tool
            assert "Traceback" not in tool.state.error
        await assert_left_clean(harness, session, 0, "the folder is deleted underneath")


async def test_a_call_whose_end_cannot_be_stored_is_shown_as_ended(tmp_path: Path) -> None:
    """A full disk: the end is stored when there is space again."""
    async with open_harness(tmp_path, **FREE) as harness:
        command = "echo begun; while [ ! -e go ]; do sleep 0.05; done"
        harness.server.script(answer(Call("bash", {"command": command})), OK)
        session = await harness.session()
        await harness.send(session, "go")
        await harness.until(begun)
        with closing(sqlite3.connect(harness.home / "data" / "sessions.db")) as connection:
            for table in ("part", "message"):
                connection.execute(
                    f"CREATE TRIGGER full_{table} BEFORE UPDATE ON {table} "
                    "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
                )
            (harness.folder / "go").touch()
            assert (await harness.idle(session)).outcome == "failed"
            shown = [e.part for e in harness.events if isinstance(e, PartUpdated)]
            last = [part for part in shown if isinstance(part, ToolPart)][-1]
            assert isinstance(last.state, Completed)
            for table in ("part", "message"):
                connection.execute(f"DROP TRIGGER full_{table}")
            await harness.runtime.store.flush()
            row = connection.execute("SELECT status FROM part WHERE id = ?", (last.id,)).fetchone()
            assert row == ("completed",)
