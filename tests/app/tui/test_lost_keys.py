"""Keys that must not be lost: without the focus, during start-up, right after a command."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from textual import events

from agent.records.messages import ToolPart
from agent.runtime.runtime import Runtime
from app.screens.help import HelpScreen
from app.screens.undo import UndoScreen
from app.startup.launch import LaunchOptions, load_runtime
from app.terminal.key_parser import EscapeBegun, EscapeTakenBack
from app.tui.app import OpencodeApp
from tests.app.conftest import Running, Starter
from tests.app.tui.typing_steps import messages, press_at_once
from tests.support.model_server import ModelServer
from tests.support.script import Hold, Text, answer


async def test_typing_arrives_in_a_terminal_that_reports_no_focus(start: Starter) -> None:
    async with start() as running:
        running.app.post_message(events.AppBlur())
        await running.until(lambda: not running.app.terminal_focused)
        await running.type("hello")
        assert running.prompt == "hello"
        assert running.app.terminal_focused


async def test_typing_arrives_when_the_first_frame_had_no_focus(
    folders: Mapping[str, str], work: Path
) -> None:
    """tmux reports at once that a window which nobody looks at has no focus."""

    class Detached(OpencodeApp):
        def on_load(self) -> None:
            self.post_message(events.AppBlur())

    app = Detached(LaunchOptions(directory=work), folders, load_runtime, grace=0.0)
    async with app.run_test() as pilot:
        running = Running(app, pilot)
        await running.until_ready()
        await running.type("hello")
        assert running.prompt == "hello"
        await app.controller.close()


async def test_an_escape_shows_at_once_that_the_turn_stops_and_is_taken_back(
    start: Starter, scripted: ModelServer
) -> None:
    more = Hold()
    scripted.script(answer(Text("begun"), more, Text(" and on"), Hold()))
    async with start() as running:
        await running.type("go", "enter")
        await running.until_shown("begun")
        running.app.post_message(EscapeBegun())
        await running.until_shown("Stopping")
        more.gate.set()
        running.app.post_message(EscapeTakenBack())
        await running.until_shown("esc to interrupt")
        await running.until_shown("begun and on")
        assert not scripted.requests[0].closed.is_set()
        await running.pilot.press("escape")
        await running.until_idle()


class SlowStart:
    """Opens the runtime once ``gate`` is set."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    async def __call__(self, *given: Any) -> Runtime:
        await self.gate.wait()
        return await load_runtime(*given)


async def test_what_is_entered_during_start_up_runs_in_order(
    start: Starter, scripted: ModelServer
) -> None:
    scripted.script(answer(Text("fine now")))
    slow = SlowStart()
    async with start(ready=False, open_runtime=slow) as running:
        await running.type("hello", "enter")
        await running.type("/rename Early bird", "enter")
        slow.gate.set()
        await running.until_shown("fine now")
        live = running.app.controller.live
        await running.until(lambda: live.session is not None and live.session.title == "Early bird")
        assert messages(running) == ["hello"]
        assert running.prompt == ""


async def test_a_shell_command_is_entered_during_start_up(
    start: Starter, scripted: ModelServer
) -> None:
    slow = SlowStart()
    async with start(ready=False, open_runtime=slow) as running:
        await running.type("!echo early", "enter")
        slow.gate.set()
        await running.until_idle()
        view = running.app.controller.live.view
        assert view is not None
        entries = [view.entry(message_id) for message_id in view.message_ids]
        parts = [part for entry in entries if entry for part in entry.parts]
        assert any(isinstance(part, ToolPart) and "echo early" in str(part) for part in parts)


@pytest.mark.parametrize("typed_early", [True, False])
async def test_a_prompt_right_after_a_shell_command_goes_to_the_same_session(
    start: Starter, scripted: ModelServer, typed_early: bool
) -> None:
    scripted.always(answer(Text("fine now")))
    slow = SlowStart()
    if not typed_early:
        slow.gate.set()
    async with start(ready=not typed_early, open_runtime=slow) as running:
        await running.pilot.press(*"!true", "enter", *"hello", "enter")
        slow.gate.set()
        await running.until_shown("fine now")
        await running.until_idle()
        sessions = await running.runtime.sessions.repository.list(limit=10)
        assert len(sessions) == 1


@pytest.mark.parametrize("command", ["/status", "/stats", "/mcp", "/permissions"])
async def test_pages_are_called_for_during_start_up(start: Starter, command: str) -> None:
    slow = SlowStart()
    async with start(ready=False, open_runtime=slow) as running:
        await running.type(command, "enter")
        slow.gate.set()
        await running.until(lambda: running.app.screen is not running.app.controller.main)


async def test_the_users_own_commands_can_be_entered_during_start_up(
    start: Starter, scripted: ModelServer, folders: Mapping[str, str]
) -> None:
    folder = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py" / "commands"
    folder.mkdir()
    (folder / "greet.md").write_text("Say hello.")
    scripted.script(answer(Text("hello to you")))
    slow = SlowStart()
    async with start(ready=False, open_runtime=slow) as running:
        await running.type("/greet", "enter")
        await running.type("/no-such", "enter")
        slow.gate.set()
        await running.until_shown("hello to you")
        assert running.prompt == "/no-such"


async def test_help_does_not_wait_for_the_start(start: Starter) -> None:
    slow = SlowStart()
    async with start(ready=False, open_runtime=slow) as running:
        await running.type("/help", "enter")
        await running.until(lambda: isinstance(running.app.screen, HelpScreen))
        slow.gate.set()
        await running.until_ready()


async def undone(running: Running) -> None:
    """Send a prompt and undo it."""
    await running.type("a first try", "enter")
    await running.until_idle()
    await running.type("/undo", "enter")
    await running.until(lambda: isinstance(running.app.screen, UndoScreen))
    await running.pilot.press("enter")
    await running.until(lambda: running.prompt == "a first try")


async def test_redo_typed_right_after_undo_is_a_command(
    start: Starter, scripted: ModelServer
) -> None:
    scripted.script(answer(Text("fine now")))
    async with start() as running:
        await undone(running)
        await running.type("/redo", "enter")
        await running.until_shown("fine now")
        assert running.prompt == ""
        assert messages(running) == ["a first try"]


async def test_another_command_after_undo_leaves_the_restored_text(
    start: Starter, scripted: ModelServer
) -> None:
    scripted.script(answer(Text("fine now")), answer(Text("changed now")))
    async with start() as running:
        await undone(running)
        await running.type("/help", "enter")
        await running.until(lambda: isinstance(running.app.screen, HelpScreen))
        await running.pilot.press("escape")
        assert running.prompt == "a first try"
        await running.type("/of all", "enter")
        await running.until_shown("changed now")
        assert messages(running) == ["a first try/of all"]


async def test_what_is_typed_right_after_a_completed_command_stays(start: Starter) -> None:
    async with start() as running:
        press_at_once(running, *"/vim", "enter", *"ab")
        await running.until(lambda: running.app.controller.main.prompt.vim is not None)
        await running.until(lambda: running.prompt == "ab")


async def test_what_is_typed_right_after_tab_follows_the_completed_name(start: Starter) -> None:
    async with start() as running:
        await running.type("/thin")
        press_at_once(running, "tab", *"on")
        await running.until(lambda: running.prompt == "/thinking on")


async def test_enter_completes_what_was_typed_at_once(start: Starter) -> None:
    """The list may show what matched before the last character."""
    async with start() as running:
        press_at_once(running, *"/hel", "enter")
        await running.until(lambda: isinstance(running.app.screen, HelpScreen))


async def test_what_is_typed_right_after_new_belongs_to_the_new_session(
    start: Starter, scripted: ModelServer
) -> None:
    async with start() as running:
        scripted.script(answer(Text("the first answer")))
        await running.type("the first", "enter")
        await running.until_shown("the first answer")
        await running.until_idle()
        press_at_once(running, *"/new", "enter", *"next")
        await running.until(lambda: running.app.controller.live.view is None)
        await running.until(lambda: running.prompt == "next")


async def test_undo_and_redo_typed_at_once_run_one_after_the_other(
    start: Starter, scripted: ModelServer
) -> None:
    scripted.script(answer(Text("fine now")))
    async with start(grace=0.4) as running:
        await running.type("a first try", "enter")
        await running.until_idle()
        press_at_once(running, *"/undo", "enter", *"/redo", "enter")
        await running.until(lambda: isinstance(running.app.screen, UndoScreen))
        await running.pilot.press("enter")
        await running.until_shown("fine now")
        assert "Nothing to redo" not in running.text()


async def test_text_typed_into_the_preview_of_an_undo_is_text(
    start: Starter, scripted: ModelServer
) -> None:
    scripted.script(answer(Text("fine now")))
    async with start(grace=0.4) as running:
        await running.type("a first try", "enter")
        await running.until_idle()
        await running.type("/undo", "enter")
        await running.until(lambda: isinstance(running.app.screen, UndoScreen))
        await running.type("/redo", "enter")
        assert isinstance(running.app.screen, UndoScreen)
        assert running.prompt.strip() == "/redo"
