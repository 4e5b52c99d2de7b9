"""Sub-agents in the background on the screen: their rows, their number, how they end."""

from pathlib import Path

from agent.records.background import BackgroundTask, BackgroundTaskState
from agent.records.blocks import SubtaskBlock
from agent.records.messages import Idle, ToolPart
from agent.session.api import BackgroundTaskList, BackgroundTaskStatus
from app.session_state.view import SessionView
from tests.app.conftest import Starter
from tests.support import records
from tests.support.model_server import ModelServer
from tests.support.script import Call, Hold, Text, answer
from tests.support.snapshots import assert_pictures
from tests.support.subagents import Script, task
from tests.support.transcripts import TranscriptApp

STATES: dict[str, BackgroundTaskState] = {
    "look at the readers": "running",
    "count the callers": "completed",
    "run the slow tests": "failed",
    "translate the messages": "cancelled",
    "read the log of the last run": "interrupted",
    "list every caller": "limit_reached",
}
FOUND = "Two of three readers have the fault:\n\n- `reader.py`\n- `legacy.py`"


def session_with_tasks() -> SessionView:
    """Return a session with background tasks; one report was sent, another is queued."""
    calls: list[ToolPart] = []
    statuses: dict[str, BackgroundTaskStatus] = {}
    for n, (description, state) in enumerate(STATES.items()):
        block = SubtaskBlock(f"ses_{n}", "explore", description, background=True)
        done = records.completed("Explore", description, block)
        call = records.tool(f"prt_b{n}", "msg_b", done, name="task")
        ended = None if state == "running" else records.START + 75
        facts = () if ended is None else (f"{n + 1} tool calls",)
        task = BackgroundTask(
            message_id="msg_b",
            call_id=call.call_id,
            started=records.START,
            state=state,
            ended=ended,
            facts=facts,
        )
        activity = "Grep DictReader in src" if state == "running" else ""
        statuses[f"ses_{n}"] = BackgroundTaskStatus("explore", description, task, activity)
        calls.append(call)
    reported = records.user("msg_c", "", records.report("msg_c", FOUND), synthetic=True)
    waits = records.report(
        "msg_e", error="Anthropic is overloaded (529).", outcome="failed", facts=()
    )
    return SessionView(
        records.snapshot(
            records.user(
                "msg_a", "Which readers crash on an empty file? Keep working in the meantime."
            ),
            records.assistant("msg_b", *calls),
            reported,
            records.assistant(
                "msg_d",
                records.text_part(
                    "prt_d",
                    "msg_d",
                    "Two of the three readers crash on an empty file. I'll fix both.",
                ),
            ),
            records.user("msg_e", "", waits, turn=None, synthetic=True),
            queued=("msg_e",),
            background_tasks=BackgroundTaskList(statuses),
        )
    )


async def test_picture_of_background_tasks() -> None:
    app = TranscriptApp(session_with_tasks())
    app.now = records.START + 90
    async with app.run_test() as pilot:
        await assert_pictures(pilot, "transcript-background")


async def test_a_background_sub_agent_of_an_idle_session_opens_its_dialog(
    start: Starter, scripted: ModelServer, work: Path
) -> None:
    """Text typed meanwhile is kept, and the answer reaches the sub-agent."""
    hold = Hold()
    write = Call("write", {"file_path": "late.txt", "content": "x"})
    scripted.always(
        Script(
            answer(task("look", background=True)),
            answer(Text("Meanwhile.")),
            answer(Text("It is written.")),
            look=[answer(hold, write), answer(Text("Written."))],
        )
    )
    async with start(size=(100, 30)) as running:
        await running.until_ready()
        await running.type("go", "enter")
        await running.until_shown("Meanwhile.")
        await running.until_idle()
        await running.type("and then")
        hold.gate.set()
        await running.until_shown("Create this file?")
        assert "general, working for build" in running.text()
        await running.pilot.press("o")
        await running.until_shown("It is written.")
        assert running.prompt == "and then"
    assert (work / "late.txt").read_text() == "x"


async def test_the_row_shows_the_work_and_then_its_report(
    start: Starter, scripted: ModelServer
) -> None:
    hold = Hold()
    scripted.always(
        Script(
            answer(task("look", background=True)),
            answer(Text("Meanwhile.")),
            answer(Text("It found three.")),
            look=[answer(hold, Text("Three files."))],
        )
    )
    async with start(size=(100, 30)) as running:
        await running.until_ready()
        await running.type("go", "enter")
        await running.until_shown("Meanwhile.")
        await running.until_idle()
        await running.until_shown("1 sub-agent")
        assert "◇ General reports" not in running.text()
        hold.gate.set()
        await running.until_shown("It found three.")
        await running.until_idle()
        assert "General reports: look" in running.text()
        assert "1 sub-agent" not in running.text()


async def test_a_second_escape_stops_the_background_too(
    start: Starter, scripted: ModelServer
) -> None:
    holds = [Hold(), Hold()]
    scripted.always(
        Script(
            answer(task("look", background=True)),
            answer(holds[0]),
            look=[answer(holds[1], Text("never"))],
        )
    )
    async with start(size=(100, 30)) as running:
        await running.until_ready()
        await running.type("go", "enter")
        await running.until(holds[0].reached.is_set)
        await running.until(holds[1].reached.is_set)
        view = running.app.controller.live.view
        assert view is not None
        await running.until(lambda: bool(view.background_tasks.running))
        await running.pilot.press("escape")
        await running.until(lambda: isinstance(view.status, Idle))
        assert view.background_tasks.running
        await running.pilot.press("escape")
        await running.until(lambda: not view.background_tasks.running)
        await running.until_shown("was stopped")
