"""``!`` and ``/btw`` on the screen."""

from app.action_registry.registry import SHELL, parse_command
from tests.app.conftest import Starter
from tests.support.model_server import ModelServer
from tests.support.script import Failure, Hold, Text, answer


def test_a_prompt_that_begins_with_an_exclamation_mark_is_a_command() -> None:
    command = parse_command("!git log\n--oneline")
    assert command is not None
    assert command.action is not None
    assert (command.action.id, command.argument) == (SHELL, "git log\n--oneline")
    assert parse_command(" !not this") is None


async def test_a_command_runs_is_shown_and_is_in_the_history(start: Starter) -> None:
    async with start() as running:
        await running.type("!echo $((40+2))")
        assert running.app.controller.main.query_one("#prompt-box").has_class("-shell")
        await running.pilot.press("enter")
        await running.until_shown("You ran echo $((40+2))")
        await running.until_shown("42")
        assert not running.app.controller.main.query_one("#prompt-box").has_class("-shell")
        await running.pilot.press("up")
        assert running.prompt == "!echo $((40+2))"


async def test_while_the_agent_works_the_command_stays_in_the_prompt(start: Starter) -> None:
    async with start() as running:
        await running.type("stream 5000 words", "enter")
        await running.until(lambda: running.app.controller.live.busy)
        await running.type("!true", "enter")
        await running.until_shown("The agent is working")
        assert running.prompt == "!true"
        await running.pilot.press("escape")
        await running.until_idle()


async def test_quick_question(start: Starter, scripted: ModelServer) -> None:
    hold = Hold()
    scripted.script(
        answer(Text("hello")), answer(Text("It was **me**"), hold, Text(" alone.")), Failure(401)
    )
    async with start() as running:
        await running.type("hi", "enter")
        await running.until_idle()
        await running.type("/btw who?", "enter")
        await running.until_shown("It was me")
        hold.gate.set()
        await running.until_shown("alone.")
        await running.until_shown("Neither the question nor the answer")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
        await running.type("/btw who?", "enter")
        await running.until_shown("key")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
        view = running.app.controller.live.view
        assert view is not None
        assert len(view.message_ids) == 2


async def test_closing_the_answer_early_ends_the_request(
    start: Starter, scripted: ModelServer
) -> None:
    hold = Hold()
    scripted.script(answer(Text("hello")), answer(Text("begun"), hold))
    async with start() as running:
        await running.type("hi", "enter")
        await running.until_idle()
        await running.type("/btw who?", "enter")
        await running.until_shown("begun")
        await running.pilot.press("escape")
        await running.until(scripted.requests[1].closed.is_set)
