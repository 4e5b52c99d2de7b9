"""Snapshots of the list of sessions. They show times of day, so the time zone is set."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from textual.content import Content
from textual.widgets import Static

from agent.records.events import PartUpdated, PermissionAsked, SessionIdle, SessionStatusChanged
from agent.records.messages import Busy, Idle, MessageWithParts
from app.screens.session_list.screen import SessionListScreen
from app.session_state.live_sessions import LiveSessions
from tests.app.conftest import Running, Starter
from tests.app.screens.sample_session import KEYS, command_dialog, opened
from tests.support import records
from tests.support.snapshots import SMALL, assert_both_themes, assert_pictures
from tests.support.transcripts import history, moved

NOW = 1_780_000_000.0
HOUR = 3_600.0
MODEL = "anthropic/claude-sonnet-5-5"
TITLES = [
    ("ses_a", "Fix empty CSV import", 1, {"cost": 0.42}),
    ("ses_b", "Move the settings to one file", 50, {"cost": 2.07, "pinned": True}),
    (
        "ses_c",
        "Why is the start slow, and what can be done about it before the release?",
        30,
        {"cost": 0.18},
    ),
    ("ses_d", "取り込みの説明を日本語に訳す", 100, {"cost": 1.5}),
]
STATES = {"working", "needs you", "done", "failed"}
PROMPT = "Why does the import of an empty CSV crash? Fix it and add a test."
ANSWER = (
    "An empty file has no header row, so `next(rows)` raised `StopIteration`. `read_rows` now "
    "yields nothing for it, and a new test covers a file of 0 bytes."
)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def exchanges(turns: int) -> list[MessageWithParts]:
    """Return a session whose last turn is about the empty file."""
    asked = records.user("msg_x", PROMPT, turn="trn_x")
    said = records.text_part("prt_x", "msg_y", ANSWER)
    return [*history(turns - 1), asked, records.assistant("msg_y", said, turn="trn_x")]


async def listed(running: Running, live: LiveSessions | None = None) -> SessionListScreen:
    store = running.runtime.store
    # Stored in the order of their use.
    for n, (session_id, title, hours, more) in sorted(enumerate(TITLES), key=lambda e: -e[1][2]):
        session = replace(
            records.session(session_id),
            directory=str(running.runtime.directory),
            title=title,
            updated=NOW - hours * HOUR,
            turns=n + 1,
            model=MODEL,
            **more,
        )
        held = [moved(item, session_id) for item in exchanges(n + 1)]
        await store.save(session, *(r for item in held for r in (item.message, *item.parts)))
    controller = running.app.controller
    return SessionListScreen(
        running.runtime,
        current="ses_a",
        tasks=controller.tasks,
        live=live,
        now=NOW,
        home=str(running.runtime.directory.parent),
    )


def marked(running: Running) -> list[str]:
    """Return the words that are marked in the preview."""
    shown = running.app.screen.query_one("#sessions-preview", Static).content
    assert isinstance(shown, Content)
    return [
        shown.plain[span.start : span.end]
        for span in shown.spans
        if "$tone-accent" in str(span.style)
    ]


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_the_list(start: Starter, tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(start, tmp_path, size, keys=KEYS) as running:
        screen = await listed(running)
        await running.app.push_screen(screen)
        await running.until_shown("Agent  An empty file")
        await assert_both_themes(running.pilot, "screen-sessions")


@pytest.mark.parametrize("size", [(80, 24), (140, 45), SMALL])
async def test_the_sessions_that_are_active(
    start: Starter, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with opened(start, tmp_path, size, keys=KEYS) as running:
        clock = [NOW]
        tasks, bus = running.app.controller.tasks, running.runtime.bus
        live = LiveSessions(tasks, lambda: None, lambda *_: None, clock=lambda: clock[0])
        live.follow(running.runtime)
        screen = await listed(running, live)
        for session_id, ago in (
            ("ses_a", 95.0),
            ("ses_b", 310.0),
            ("ses_c", 42.0),
            ("ses_d", 20.0),
        ):
            clock[0] = NOW - ago
            bus.publish(SessionStatusChanged(session_id, Busy(since=NOW - ago)))
            await running.until(lambda name=session_id: live.find(name) is not None)
        command = "uv run pytest -q tests/imports"
        call = records.tool("prt_a", "msg_a", records.running("Bash", command), name="bash")
        bus.publish(PartUpdated(replace(call, session_id="ses_a")))
        asked = replace(command_dialog().request, session_id="ses_c", root_id="ses_c")
        bus.publish(PermissionAsked(asked))
        for session_id, outcome in (("ses_b", "completed"), ("ses_d", "failed")):
            bus.publish(SessionStatusChanged(session_id, Idle()))
            bus.publish(SessionIdle(session_id, "trn_x", outcome))
        clock[0] = NOW
        await running.until(lambda: {one.state for one in live.all} == STATES)
        await running.app.push_screen(screen)
        await running.until_shown("Agent  An empty file" if size != SMALL else "✕ failed")
        await assert_both_themes(running.pilot, "screen-sessions-active")


async def test_hits_in_messages(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (80, 24), keys=KEYS) as running:
        screen = await listed(running)
        await running.app.push_screen(screen)
        await running.type("StopIteration")
        await running.until_shown("Agent  An empty file")
        await running.until(lambda: "StopIteration" in marked(running))
        await assert_pictures(running.pilot, "screen-sessions-search")
