"""``/goal`` and ``/loop`` on the screen."""

from tests.app.conftest import Running, Starter
from tests.support.model_server import ModelServer
from tests.support.script import Call, Hold, Text, Tokens, answer

GOAL = '/goal Write the file --check "test -f done.txt" --rounds 5'
WRITES = Call("write", {"file_path": "done.txt", "content": "yes\n"})


async def allow_edits(running: Running) -> None:
    running.runtime.permissions.mode = "accept edits"


async def test_rounds_and_their_evidence_are_shown(scripted: ModelServer, start: Starter) -> None:
    scripted.script(
        answer(Text("It is done!"), Tokens(100, 1)),
        answer(WRITES, Tokens(100, 1)),
        answer(Text("Now it is."), Tokens(100, 1)),
    )
    async with start() as running:
        await allow_edits(running)
        await running.type(GOAL, "enter")
        await running.until_shown("Goal reached: Write the file · 2 rounds")
        await running.until_idle()
        assert "Goal, round 2 of 5: the check fails with exit code 1." in running.text()
        await running.type("/goal", "enter")
        await running.until_shown("is reached (round 2 of 5)")


async def test_a_goal_can_be_paused_and_resumed(scripted: ModelServer, start: Starter) -> None:
    hold = Hold()
    scripted.script(answer(Text("Working"), hold))
    async with start() as running:
        await allow_edits(running)
        await running.type(GOAL, "enter")
        await running.until_shown("Working")
        await running.pilot.press("escape")
        await running.until_shown("Goal paused: Write the file · 1 round")
        hold.gate.set()
        scripted.script(answer(WRITES), answer(Text("Done.")))
        await running.type("/goal resume", "enter")
        await running.until_shown("Goal reached")


async def test_what_is_missing_is_said(start: Starter) -> None:
    async with start() as running:
        await running.type("/goal Fix it", "enter")
        await running.until_shown("a command that exits with 0")
        await running.type("/goal", "enter")
        await running.until_shown("This session has no goal")
        await running.type("/loop 10x Look", "enter")
        await running.until_shown("/loop 10m PROMPT")
        assert running.app.controller.live.session is None


async def test_a_prompt_is_repeated_until_it_is_stopped(
    scripted: ModelServer, start: Starter
) -> None:
    scripted.always(answer(Text("All green.")))
    async with start() as running:
        await running.type("/loop 10m Look at the build", "enter")
        await running.until_shown("All green.")
        await running.until_idle()
        await running.type("/loop", "enter")
        await running.until_shown("Every 10m 0s: Look at the build")
        await running.type("/loop stop", "enter")
        await running.until_shown("The loop is stopped.")
