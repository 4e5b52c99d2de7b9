"""Text typed between a command and the screen that it opens belongs to that screen."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from textual import events
from textual.screen import Screen
from textual.widgets import Input

from app.action_registry.context import ActionContext
from app.action_registry.registry import Action
from app.actions import actions
from app.screens.base.picker import Picker, Row
from app.screens.base.small_dialogs import ApiKeyScreen, ConfirmScreen
from app.screens.help import HelpScreen, PaletteScreen
from app.screens.model import ModelScreen
from app.screens.session_list.screen import SessionListScreen
from tests.app.conftest import Running, Starter
from tests.app.tui.typing_steps import messages, press_at_once
from tests.support import records
from tests.support.model_server import ModelServer
from tests.support.script import Text, answer

ROWS = [Row(name, name) for name in ("one", "two", "three")]


class SlowAction:
    """An action that shows *screen* once it is let go."""

    def __init__(self, *screens: Screen[Any]) -> None:
        self.screens = screens
        self.gate = asyncio.Event()
        self.results: list[object] = []

    async def __call__(self, context: ActionContext, argument: str) -> None:
        await self.gate.wait()
        for screen in self.screens:
            self.results.append(await context.show(screen))

    def run(self, running: Running) -> None:
        action = Action(id="test.slow", title="Slow", run=self, group="Program")
        running.app.controller.actions.run(action)


async def is_open(running: Running, kind: type[Screen[Any]]) -> None:
    await running.until(lambda: isinstance(running.app.screen, kind))


def field(running: Running) -> str:
    return running.app.screen.query_one(Input).value


async def test_a_filter_gets_what_was_typed_before_it_was_visible(start: Starter) -> None:
    async with start() as running:
        press_at_once(running, *"/model", "enter", *"demo")
        await is_open(running, ModelScreen)
        await running.until(lambda: field(running) == "demo")
        assert running.prompt == ""


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("approves", [True, False])
async def test_an_early_enter_chooses_where_that_approves_nothing(
    start: Starter, *, approves: bool, gated: bool
) -> None:
    """Also one that was typed before the list was pushed (*gated*)."""
    async with start() as running:
        slow = SlowAction(Picker("Slow", ROWS, approves=approves))
        slow.run(running)
        press_at_once(running, *"tw", "enter", *"later", "enter")
        if gated:
            await running.until(lambda: running.prompt == "tw")
        slow.gate.set()
        if approves:
            await is_open(running, Picker)
            await running.until(lambda: field(running) == "tw")
            await running.pilot.press("escape")
        await running.until(lambda: slow.results == [None if approves else "two"])
        await running.until(lambda: running.prompt == "later")
        assert running.app.controller.live.session is None  # nothing was sent


async def test_an_early_enter_chooses_a_theme(start: Starter) -> None:
    async with start() as running:
        press_at_once(running, *"/theme", "enter", *"dracula", "enter")
        await running.until(lambda: running.app.theme == "dracula")
        await running.until(lambda: running.app.screen is running.app.controller.main)
        assert running.app.theme == "dracula"  # not its preview, which ends with the list
        assert running.prompt == ""


@pytest.mark.parametrize(("typed", "runs"), [("them", False), ("/themes", True)])
async def test_an_early_enter_runs_only_an_action_that_was_named(
    start: Starter, typed: str, *, runs: bool
) -> None:
    async with start() as running:
        palette = PaletteScreen(actions(), lambda _: ())
        slow = SlowAction(palette)
        slow.run(running)
        press_at_once(running, *typed, "enter", *"later")
        slow.gate.set()
        await running.until(lambda: running.prompt == "later")
        if runs:
            await running.until(lambda: slow.results == ["view.theme"])
        else:
            assert field(running) == typed
            assert palette.highlighted_key == "view.theme"
            await running.pilot.press("enter")  # it is visible now
            await running.until(lambda: slow.results == ["view.theme"])


class Gated:
    """Stands for *real*; *own* are its attributes that differ."""

    def __init__(self, real: object, **own: object) -> None:
        self._real = real
        self.__dict__ |= own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.parametrize("closes", [False, True])
async def test_an_early_enter_waits_for_the_list_of_sessions(
    start: Starter, *, closes: bool
) -> None:
    """What follows it is for the prompt, also where the list is closed before."""
    async with start() as running:
        real, gate = running.runtime, asyncio.Event()
        for session_id, title in (("ses_a", "alpha"), ("ses_b", "beta")):
            session = replace(records.session(), id=session_id, title=title)
            await real.store.save(replace(session, directory=str(real.directory)))

        async def lines(**which: bool) -> object:
            await gate.wait()
            return await real.sessions.repository.lines(**which)

        repository = Gated(real.sessions.repository, lines=lines)
        runtime: Any = Gated(real, sessions=Gated(real.sessions, repository=repository))
        tasks = running.app.controller.tasks
        screen = SessionListScreen(runtime, current=None, tasks=tasks)
        slow = SlowAction(screen)
        slow.run(running)
        slow.gate.set()
        press_at_once(running, *"alph", "enter", *"la")
        await is_open(running, SessionListScreen)
        await running.until(lambda: field(running) == "alph")
        press_at_once(running, *"ter")
        if closes:
            await running.pilot.press("escape")
        else:
            assert slow.results == []
            gate.set()
        await running.until(lambda: slow.results == [None if closes else "ses_a"])
        await running.until(lambda: running.prompt == "later")
        gate.set()


async def test_text_before_and_after_the_screen_was_pushed_stays_in_order(start: Starter) -> None:
    async with start() as running:
        slow = SlowAction(Picker("Slow", ROWS))
        slow.run(running)
        press_at_once(running, *"th")
        await running.until(lambda: running.prompt == "th")  # it is seen while it is typed
        slow.gate.set()
        press_at_once(running, *"re")
        await is_open(running, Picker)
        press_at_once(running, *"e")
        await running.until(lambda: field(running) == "three")
        assert running.prompt == ""
        await running.pilot.press("enter")
        await running.until(lambda: slow.results == ["three"])


async def test_a_draft_around_what_was_typed_stays(start: Starter) -> None:
    async with start() as running:
        await running.type("fix it", "left", "left")
        slow = SlowAction(Picker("Slow", ROWS))
        slow.run(running)
        press_at_once(running, *"two", "enter", *"later", "enter")
        slow.gate.set()
        await running.until(lambda: slow.results == ["two"])
        await running.until(lambda: running.prompt == "fix laterit")
        assert messages(running) == []


async def test_each_screen_of_a_command_gets_its_text(start: Starter) -> None:
    async with start() as running:
        slow = SlowAction(Picker("Slow", ROWS), ApiKeyScreen("Anthropic"))
        slow.run(running)
        press_at_once(running, *"two", "enter", *"key1", "enter")
        slow.gate.set()
        await is_open(running, ApiKeyScreen)
        await running.until(lambda: field(running) == "key1")
        assert running.prompt == ""
        assert slow.results == ["two"]  # and the key is not entered yet


async def test_a_page_without_a_field_leaves_the_text_in_the_prompt(start: Starter) -> None:
    async with start() as running:
        press_at_once(running, *"/status", "enter", *"quick", "enter")
        await running.until(lambda: running.app.screen is not running.app.controller.main)
        await running.until(lambda: running.prompt == "quick")
        await running.pilot.press("escape")
        await running.until(lambda: running.app.screen is running.app.controller.main)
        assert running.prompt == "quick"
        assert running.app.controller.live.session is None


@pytest.mark.parametrize("text", ["yes do it", "y", "/status"])
async def test_nothing_typed_early_answers_a_question(start: Starter, text: str) -> None:
    async with start(grace=0.4) as running:
        slow = SlowAction(ConfirmScreen("Delete everything?"))
        slow.run(running)
        press_at_once(running, *text, "enter")
        await running.until(lambda: running.prompt == text)
        slow.gate.set()
        await is_open(running, ConfirmScreen)
        await running.until(lambda: running.prompt == text)
        assert slow.results == []
        await running.pilot.press("escape")
        await running.until(lambda: slow.results == [False])
        # A command is still one; anything else may have been meant for the question.
        if text == "/status":
            await running.until(lambda: running.app.screen is not running.app.controller.main)
        else:
            await running.pilot.pause()
            assert running.prompt == text
            assert running.app.controller.live.session is None


async def test_a_prompt_after_a_command_that_opens_nothing_is_sent(
    start: Starter, scripted: ModelServer
) -> None:
    scripted.always(answer(Text("fine now")))
    async with start() as running:
        slow = SlowAction()
        slow.run(running)
        press_at_once(running, *"one", "enter", *"two", "enter", *"rest")
        await running.until(lambda: running.prompt == "one")
        slow.gate.set()
        await running.until(lambda: messages(running) == ["one", "two"])
        await running.until(lambda: running.prompt == "rest")
        await running.until_idle()


async def test_the_help_of_a_question_mark_gets_what_follows(start: Starter) -> None:
    async with start() as running:
        press_at_once(running, "?", *"undo")
        await is_open(running, HelpScreen)
        await running.until(lambda: field(running) == "undo")
        assert running.prompt == ""


async def test_esc_closes_a_screen_that_just_opened(start: Starter) -> None:
    async with start() as running:
        slow = SlowAction(Picker("Slow", ROWS))
        slow.run(running)
        slow.gate.set()
        await running.until(lambda: isinstance(running.app.screen, Picker))
        running.app.post_message(events.Key("escape", None))
        await running.until(lambda: slow.results == [None])
