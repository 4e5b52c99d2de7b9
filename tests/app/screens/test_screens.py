"""Snapshots of the screens at two sizes, dark and light, over the sample session. Nothing
in them depends on the clock or this machine."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agent.records.blocks import ShellBlock
from agent.records.events import MessageUpdated, PartUpdated, QueueChanged, SessionStatusChanged
from agent.records.messages import Busy, Usage
from app.screens.base.small_dialogs import ErrorScreen
from tests.app.conftest import Starter
from tests.app.screens.sample_session import (
    KEYS,
    MODEL,
    TEST_EDIT,
    at_work,
    command_dialog,
    edit_dialog,
    opened,
    show_session,
)
from tests.support import records
from tests.support.snapshots import (
    SIZES,
    assert_both_themes,
    assert_pictures,
    assert_small_pictures,
    assert_snapshot,
)

DAY = 86_400.0
RECENT = (
    ("Fix empty CSV import", 0, 6),
    ("Move the settings to one file", 1, 14),
    ("Why is the start slow?", 1, 2),
)
TESTS = "pytest tests/test_reader.py -q"
AT_WORK = (
    records.user("msg_d2", "Run the tests again, and look for other readers.", turn="trn_2"),
    records.assistant(
        "msg_e",
        records.tool(
            "prt_e1",
            "msg_e",
            records.running("Explore", "find other readers", output="Grep DictReader in src"),
            name="task",
        ),
        records.tool(
            "prt_e2",
            "msg_e",
            records.running("Bash", TESTS, ShellBlock(TESTS), output="collected 15 items\n....."),
            name="bash",
        ),
        turn="trn_2",
        completed=None,
        finish=None,
        usage=Usage(input=69_400, output=2_100, cache_read=68_200),
    ),
    records.user("msg_f", "Then write the changelog.", turn=None, delivery="follow_up"),
)
FAULTY_SETTINGS = """\
{
  "modle": "anthropic/claude-sonnet-5-5",
  "limits": {"steps": "many"},
  "theme": "solarised"
}
"""


async def test_the_home_page(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (80, 24)) as running:
        await running.until_shown("tour")
        await assert_pictures(running.pilot, "screen-home")


async def test_the_picture_of_the_readme(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (120, 37), keys=KEYS) as running:
        await show_session(running, MODEL, 0.0431, [TEST_EDIT])
        await running.until_shown("claude-sonnet-5-5")
        assert_snapshot(running.app, "readme", title="opencode-py in ~/shop")


async def test_the_home_page_of_a_project_in_use(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (80, 24)) as running:
        store, now = running.runtime.store, time.time() // DAY * DAY + DAY / 2
        for number, (title, days, turns) in reversed(list(enumerate(RECENT))):
            session = replace(
                records.session(f"ses_{number}"),
                title=title,
                directory=str(running.runtime.directory),
                turns=turns,
                updated=now - days * DAY,
            )
            await store.save(session)
    async with opened(start, tmp_path, (80, 24), keys=KEYS, repository=True) as running:
        await running.until_shown("Recent")
        await running.until_shown("3 changed")
        await assert_pictures(running.pilot, "screen-home-used")
        await assert_small_pictures(running.pilot, "screen-home-used")


async def test_the_home_page_with_faults_of_the_settings(
    start: Starter, tmp_path: Path, folders: Mapping[str, str]
) -> None:
    settings = tmp_path / ".config"
    (settings / "opencode-py").mkdir(parents=True)
    (settings / "opencode-py" / "config.json").write_text(FAULTY_SETTINGS)
    env = {"XDG_CONFIG_HOME": str(settings)}
    async with opened(start, tmp_path, (80, 24), keys={**KEYS, **env}) as running:
        await running.until_shown("config.json:2")
        await running.until_shown("/status")
        await assert_pictures(running.pilot, "screen-home-notices")


@pytest.mark.parametrize("size", SIZES)
async def test_a_session(start: Starter, tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_work(start, tmp_path, size) as running:
        await assert_both_themes(running.pilot, "screen-session")


async def test_a_session_at_work(start: Starter, tmp_path: Path) -> None:
    """A running command, a sub-agent, and a message that waits for the end of the turn."""
    async with opened(start, tmp_path, (80, 24), keys=KEYS, repository=True) as running:
        app, bus = running.app, running.runtime.bus
        app.animation_level = "none"
        for widget in (
            app.controller.main.widgets.activity,
            app.controller.main.widgets.transcript,
        ):
            widget._clock = lambda: records.START + 31
        await show_session(running, MODEL)
        await running.until_shown("+3")
        for item in AT_WORK:
            bus.publish(MessageUpdated(item.message))
            for part in item.parts:
                bus.publish(PartUpdated(part))
        bus.publish(QueueChanged(records.SESSION, ("msg_f",)))
        bus.publish(SessionStatusChanged(records.SESSION, Busy(since=records.START)))
        await running.until_shown("collected 15 items")
        await running.until_shown("1 queued")
        await assert_pictures(running.pilot, "screen-working")
        await assert_small_pictures(running.pilot, "screen-working")


@pytest.mark.parametrize(("name", "heading"), [("command", "Run this"), ("edit", "Change this")])
async def test_the_permission_dialog(
    start: Starter, tmp_path: Path, name: str, heading: str
) -> None:
    async with at_work(start, tmp_path, (80, 24)) as running:
        running.app.push_screen(command_dialog() if name == "command" else edit_dialog())
        await running.until_shown(heading)
        await assert_pictures(running.pilot, f"screen-permission-{name}")
        await assert_small_pictures(running.pilot, f"screen-permission-{name}")


async def test_the_help_page(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (80, 24)) as running:
        await running.pilot.press("f1")
        await running.until_shown("Keys")
        await assert_pictures(running.pilot, "screen-help")


async def test_the_model_picker(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (80, 24)) as running:
        await running.type("/model", "enter")
        await running.until_shown("Demo")
        running.app.screen.query_one("Input").cursor_blink = False
        await assert_pictures(running.pilot, "screen-models")
        await assert_small_pictures(running.pilot, "screen-models")


async def test_commands_are_offered_while_a_slash_is_typed(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (80, 24)) as running:
        await running.type("/s")
        await running.until_shown("/sessions")
        await assert_pictures(running.pilot, "screen-slash")


async def test_the_list_of_sessions(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (80, 24)) as running:
        noon = time.time() // DAY * DAY + DAY / 2
        for number, (title, ago) in enumerate(
            [("Port the exporter to polars", 403), ("Fix empty CSV import", 400)]
        ):
            session = replace(
                records.session(f"ses_{number}"),
                title=title,
                directory=str(running.runtime.directory),
                turns=6 + number,
                updated=noon - ago * DAY,
                cost=1.18,
            )
            await running.runtime.store.save(session)
        await running.type("/sessions", "enter")
        await running.until_shown("Port the exporter")
        text = running.text()
        assert text.index("Fix empty CSV import") < text.index("Port the exporter")
        await running.type("polars")
        await running.until(lambda: "Fix empty" not in running.text())


async def test_the_error_screen(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (80, 24)) as running:
        running.app.push_screen(
            ErrorScreen("ValueError: a fault of the program [/x]", "~/log/opencode-py.log")
        )
        await running.until_shown("a fault of the program [/x]")
