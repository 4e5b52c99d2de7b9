"""Snapshots of the list of sessions. They show times of day, so the time zone is set."""

import time
from dataclasses import replace

import pytest

from app.screens.session_list.screen import SessionListScreen
from tests.app.conftest import Running, Starter
from tests.support import records
from tests.support.snapshots import assert_both_themes, assert_pictures
from tests.support.transcripts import history, moved

NOW = 1_780_000_000.0
HOUR = 3_600.0
TITLES = [
    ("ses_a", "Fix empty CSV import", 1, {"cost": 0.42}),
    ("ses_b", "Move the settings to one file", 50, {"pinned": True}),
    ("ses_c", "Why is the start slow, and what can be done about it before the release?", 30, {}),
    ("ses_d", "表の幅を測る", 100, {"cost": 1.5}),
]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def listed(running: Running) -> SessionListScreen:
    store = running.runtime.store
    # Stored in the order of their use.
    for n, (session_id, title, hours, more) in sorted(enumerate(TITLES), key=lambda e: -e[1][2]):
        session = replace(
            records.session(session_id),
            directory=str(running.runtime.directory),
            title=title,
            updated=NOW - hours * HOUR,
            turns=n + 1,
            model="demo/offline",
            **more,
        )
        held = [moved(item, session_id) for item in history(n + 1)]
        await store.save(session, *(r for item in held for r in (item.message, *item.parts)))
    controller = running.app.controller
    return SessionListScreen(running.runtime, current="ses_a", tasks=controller.tasks, now=NOW)


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_the_list(start: Starter, size: tuple[int, int]) -> None:
    async with start(size=size) as running:
        screen = await listed(running)
        await running.app.push_screen(screen)
        await running.until_shown("Agent  answer 0.")
        folder = str(running.runtime.directory)
        screen.query_one("Input").cursor_blink = False
        preview = screen.query_one("#sessions-preview")
        shown = preview.content.plain.replace(folder, "/shop")
        preview.update(shown)
        await running.pilot.pause()
        await assert_both_themes(running.pilot, "screen-sessions")


async def test_hits_in_messages(start: Starter) -> None:
    async with start(size=(80, 24)) as running:
        screen = await listed(running)
        await running.app.push_screen(screen)
        await running.type("question 2")
        await running.until_shown("You  question 2")
        screen.query_one("Input").cursor_blink = False
        preview = screen.query_one("#sessions-preview")
        preview.update(preview.content.plain.replace(str(running.runtime.directory), "/shop"))
        await running.pilot.pause()
        await assert_pictures(running.pilot, "screen-sessions-search")
