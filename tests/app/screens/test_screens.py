"""Snapshots of the screens at two sizes, dark and light, over the sample session. Nothing
in them depends on the clock or this machine."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.screens.base.small_dialogs import ErrorScreen
from tests.app.conftest import Starter
from tests.app.screens.sample_session import (
    TEST_EDIT,
    command_dialog,
    edit_dialog,
    opened,
    show_session,
)
from tests.support import records
from tests.support.snapshots import SIZES, assert_both_themes, assert_pictures, assert_snapshot

DAY = 86_400.0


async def test_the_home_page(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (80, 24)) as running:
        await running.until_shown("tour")
        await assert_pictures(running.pilot, "screen-home")


async def test_the_picture_of_the_readme(start: Starter, tmp_path: Path) -> None:
    keys = {"ANTHROPIC_API_KEY": "sk-ant-1234567890"}
    async with opened(start, tmp_path, (120, 37), keys=keys) as running:
        await show_session(running, "anthropic/claude-sonnet-5-5", 0.0431, [TEST_EDIT])
        await running.until_shown("claude-sonnet-5-5")
        assert_snapshot(running.app, "readme", title="opencode-py in ~/shop")


@pytest.mark.parametrize("size", SIZES)
async def test_a_session(start: Starter, tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(start, tmp_path, size) as running:
        await show_session(running)
        await assert_both_themes(running.pilot, "screen-session")


@pytest.mark.parametrize(("name", "heading"), [("command", "Run this"), ("edit", "Change this")])
async def test_the_permission_dialog(
    start: Starter, tmp_path: Path, name: str, heading: str
) -> None:
    async with opened(start, tmp_path, (80, 24)) as running:
        await show_session(running)
        running.app.push_screen(command_dialog() if name == "command" else edit_dialog())
        await running.until_shown(heading)
        await assert_pictures(running.pilot, f"screen-permission-{name}")


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
