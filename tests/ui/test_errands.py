"""U12, U6: sub-agents in the background on the screen: their rows, how many, how they end."""

from agent.model import Idle
from tests.support.model_server import ModelServer
from tests.support.script import Hold, Text, answer
from tests.support.subagents import Script, task
from tests.ui.conftest import Starter


async def test_u12_the_row_shows_the_work_and_then_its_report(
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


async def test_u6_a_second_escape_stops_the_background_too(
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
        await running.until(lambda: bool(view.errands.running))
        await running.pilot.press("escape")
        await running.until(lambda: isinstance(view.status, Idle))
        assert view.errands.running
        await running.pilot.press("escape")
        await running.until(lambda: not view.errands.running)
        await running.until_shown("was stopped")
