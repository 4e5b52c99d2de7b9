"""The user's own status line, and the progress in the terminal's tab."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.tui.custom_status_line import first_line
from app.tui.notifier import PROGRESS, TerminalNotifier
from app.widgets.status import Status, custom_text
from tests.app.conftest import Starter
from tests.support.model_server import ModelServer
from tests.support.script import Text, answer


def configured(folders: Mapping[str, str], command: str) -> None:
    """Add a status line to the user's settings."""
    path = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py" / "config.json"
    settings = json.loads(path.read_text())
    settings["statusLine"] = {"type": "command", "command": command, "padding": 0}
    path.write_text(json.dumps(settings))


async def test_the_command_gets_facts_and_its_first_line_is_shown(
    start: Starter, scripted: ModelServer, folders: Mapping[str, str], work: Path
) -> None:
    scripted.script(answer(Text("fine now")))
    configured(folders, "cat > facts.json; printf '\\033[31mmine\\033[0m \\a[x]\\nsecond\\n'")
    async with start() as running:
        await running.until_shown("mine [x]")
        assert "second" not in running.text()
        assert running.text().rstrip().endswith("ask")
        await running.type("go", "enter")
        await running.until_idle()
        live = running.app.controller.live

        def facts() -> dict:
            text = (work / "facts.json").read_text()
            return json.loads(text) if text else {}

        await running.until(lambda: facts().get("session_id") == live.session.id)
        found = facts()
        assert found["model"] == {"id": "scripted/model-1", "display_name": "model-1"}
        assert found["workspace"]["current_dir"] == str(work)
        assert found["permission_mode"] == "ask"
        assert "total_cost_usd" in found["cost"]


async def test_a_failing_command_leaves_the_usual_line(
    start: Starter, scripted: ModelServer, folders: Mapping[str, str], work: Path
) -> None:
    configured(folders, "touch ran; echo mine; exit 3")
    async with start() as running:
        await running.until((work / "ran").exists)
        await running.until_shown("model-1")
        assert "mine" not in running.text()


async def test_a_project_cannot_set_it(start: Starter, scripted: ModelServer, work: Path) -> None:
    setting = {"statusLine": {"type": "command", "command": "touch ran"}}
    (work / "opencode-py.json").write_text(json.dumps(setting))
    async with start(ready=False) as running:
        await running.until(
            lambda: (
                not running.app.controller.on_main_screen() or running.app.controller.live.is_ready
            )
        )
        if not running.app.controller.on_main_screen():
            await running.pilot.press("y")
        await running.until_ready()
        assert running.runtime.config.config.status_line is None
        assert not (work / "ran").exists()


@pytest.mark.parametrize("width", [20, 60, 140])
def test_the_mode_is_always_visible(width: int) -> None:
    line = custom_text(Status(custom="x" * 200, mode="auto", trusted=False), width)
    assert line.cell_length <= width
    assert "auto" in line.plain
    assert "not trusted" in line.plain


def test_the_first_line_is_safe() -> None:
    assert first_line("\n  \n\x1b]0;evil\x07ok\x1b[2J \x1b[1mbold\nmore") == "ok bold"
    assert first_line("") == ""


async def test_the_progress_is_written_once_and_removed_at_the_end(start: Starter) -> None:
    async with start() as running:
        written: list[str] = []

        class Driver:
            def write(self, text: str) -> None:
                written.append(text)

            def flush(self) -> None:
                pass

        app = running.app
        before, app._driver = app._driver, Driver()  # type: ignore[assignment]
        terminal = TerminalNotifier(app, lambda: True)
        for state in ("works", "works", "waits", "works"):
            terminal.set_progress(state)  # type: ignore[arg-type]
        app._driver = before
        assert written == [PROGRESS["works"], PROGRESS["waits"], PROGRESS["works"]]
        assert terminal.restore_sequence() == PROGRESS[""]
        assert TerminalNotifier(app, lambda: True).restore_sequence() == ""


def test_what_is_not_as_usual_is_visible_beside_the_own_line() -> None:
    usual = custom_text(Status(custom="mine", mode="ask"), 80)
    assert usual.plain.split() == ["mine", "ask"]
    other = Status(custom="mine", agent="plan", mode="ask", sandboxed=False, normal=True)
    words = custom_text(other, 80).plain.split()
    assert words == ["mine", "NORMAL", "no", "sandbox", "plan", "ask"]
