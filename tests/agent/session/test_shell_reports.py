"""Commands in the background tell the model when they end, and what it watches for."""

from pathlib import Path

import pytest

from agent.records.context_parts import ReportPart
from agent.records.messages import Completed, Session, TextPart, UserMessage
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Hold, Text, answer

ALLOWED = {"bash": "allow"}


def start(command: str, **more: object) -> Call:
    return Call("bash", {"command": command, "background": True, **more})


def wait_for(name: str) -> str:
    return f"while [ ! -f {name} ]; do sleep 0.02; done"


async def reports(harness: Harness, session: Session) -> list[ReportPart]:
    return [part for part in await harness.parts(session) if isinstance(part, ReportPart)]


async def told(harness: Harness, session: Session) -> str:
    """Return what the program told the model in messages of its own."""
    return "\n".join(
        part.text
        for item in await harness.messages(session)
        if isinstance(item.message, UserMessage) and item.message.synthetic
        for part in item.parts
        if isinstance(part, TextPart)
    )


async def test_an_idle_session_starts_a_turn_when_a_command_ends(tmp_path: Path) -> None:
    async with open_harness(tmp_path, holds=False, permission=ALLOWED) as harness:
        session = await harness.session()
        command = f"{wait_for('go')}; echo built 7 files; exit 3"
        harness.server.script(answer(start(command)), answer(Text("It runs.")))
        await harness.turn(session, "build it")
        before = len(harness.events)
        harness.server.script(answer(Text("The build failed.")))
        (harness.folder / "go").touch()
        assert (await harness.idle(session, after=before)).outcome == "completed"
        (report,) = await reports(harness, session)
        assert (report.outcome, report.text) == ("failed", "built 7 files")
        assert report.linked_session is None
        assert report.headline.startswith(f"Command failed: {command} · exit 3 · ")
        sent = str(harness.server.requests[-1].body)
        assert f"{report.child_id} ended with exit code 3 after" in sent
        assert "built 7 files" in sent
        assert "not from the user" in sent


async def test_a_running_turn_is_told_at_its_next_step(tmp_path: Path) -> None:
    async with open_harness(tmp_path, holds=False, permission=ALLOWED) as harness:
        session = await harness.session()
        hold = Hold()
        harness.server.script(
            answer(start(f"{wait_for('go')}; echo done")),
            answer(hold, Call("read", {"file_path": "."})),
            answer(Text("It is done.")),
        )
        await harness.send(session, "build it")
        await hold.reached.wait()
        (harness.folder / "go").touch()
        await harness.until(lambda e: isinstance(getattr(e, "part", None), ReportPart))
        hold.gate.set()
        await harness.idle(session)
        (report,) = await reports(harness, session)
        assert report.outcome == "completed"
        assert "ended with exit code 0" in str(harness.server.requests[-1].body)
        assert len(harness.server.requests) == 3


async def test_an_end_that_a_call_returned_is_not_reported_again(tmp_path: Path) -> None:
    async with open_harness(tmp_path, holds=False, permission=ALLOWED) as harness:
        session = await harness.session()
        harness.server.script(
            answer(start("echo at once")),
            answer(start(f"{wait_for('never')}; echo x")),
            answer(Text("Both.")),
        )
        await harness.turn(session, "go")
        running = harness.runtime.shells.snapshot()[-1]
        harness.server.script(
            answer(Call("bash_output", {"id": running.id, "kill": True})), answer(Text("Ended."))
        )
        await harness.turn(session, "end it")
        *_, killed = await harness.tools(session)
        assert isinstance(killed.state, Completed)
        assert "was ended after" in killed.state.output
        assert await reports(harness, session) == []
        assert len(harness.server.requests) == 5


async def test_a_command_that_the_user_ends_starts_no_turn(tmp_path: Path) -> None:
    async with open_harness(tmp_path, holds=False, permission=ALLOWED) as harness:
        session = await harness.session()
        harness.server.script(answer(start(wait_for("never"))), answer(Text("It runs.")))
        await harness.turn(session, "go")
        (running,) = harness.runtime.shells.snapshot()
        await harness.runtime.shells.kill(running.id)
        await harness.until(lambda e: isinstance(getattr(e, "part", None), ReportPart))
        harness.server.script(answer(Text("I see.")))
        await harness.turn(session, "go on")
        assert len(harness.server.requests) == 3
        assert f"{running.id} was ended after" in str(harness.server.requests[-1].body)


@pytest.mark.parametrize("watch", ["ready", "never|READY to", "listening |ready"])
async def test_watched_output_is_reported_once(tmp_path: Path, watch: str) -> None:
    async with open_harness(tmp_path, holds=False, permission=ALLOWED) as harness:
        session = await harness.session()
        command = (
            f"{wait_for('go')}; echo Starting; echo Ready to serve; {wait_for('more')}; "
            f"echo ready again; {wait_for('never')}"
        )
        harness.server.script(answer(start(command, watch=watch)), answer(Text("It starts.")))
        await harness.turn(session, "serve")
        before = len(harness.events)
        harness.server.script(answer(Text("It serves.")))
        (harness.folder / "go").touch()
        await harness.idle(session, after=before)
        (report,) = await reports(harness, session)
        assert (report.outcome, report.text) == ("running", "Ready to serve")
        assert "printed what you watch for" in await told(harness, session)
        (running,) = harness.runtime.shells.snapshot()
        (harness.folder / "more").touch()
        harness.server.script(
            answer(Call("bash_output", {"id": running.id, "wait": 20_000})), answer(Text("Yes."))
        )
        await harness.turn(session, "and now?")
        assert len(await reports(harness, session)) == 1


async def test_without_a_user_an_idle_session_stays_idle(tmp_path: Path) -> None:
    """The report waits for the next prompt, and the end of the program reports nothing."""
    async with open_harness(tmp_path, holds=True, permission=ALLOWED) as harness:
        session = await harness.session()
        harness.server.script(answer(start(wait_for("go"))), answer(Text("It runs.")))
        await harness.turn(session, "build it")
        (harness.folder / "go").touch()
        await harness.until(lambda e: isinstance(getattr(e, "part", None), ReportPart))
        assert not harness.runtime.sessions.busy
        harness.server.script(answer(start(wait_for("never"))), answer(Text("Thanks.")))
        await harness.turn(session, "and?")
        assert "ended with exit code 0" in str(harness.server.requests[2].body)
    assert len(harness.server.requests) == 4


async def test_the_command_of_a_finished_sub_agent_is_reported_to_its_caller(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, holds=False, permission=ALLOWED) as harness:
        session = await harness.session()
        task = {"description": "serve", "prompt": "Serve it.", "subagent_type": "general"}
        harness.server.script(
            answer(Call("task", task)),
            answer(start(f"{wait_for('go')}; echo gone")),
            answer(Text("It serves.")),
            answer(Text("Thanks.")),
        )
        await harness.turn(session, "serve")
        before = len(harness.events)
        harness.server.script(answer(Text("It is gone.")))
        (harness.folder / "go").touch()
        await harness.idle(session, after=before)
        (report,) = await reports(harness, session)
        assert report.text == "gone"
