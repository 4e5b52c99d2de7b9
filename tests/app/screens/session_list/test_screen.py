"""The list of sessions, drafts, and messages that are sent while the agent works."""

from dataclasses import replace

from agent.records.amounts import duration
from agent.store.listing import SessionHit, SessionListItem
from agent.store.search import SearchHit
from app.screens.session_list.screen import (
    SessionFilter,
    highlight_words,
    session_row,
    session_rows,
    similar_titles,
    text_around,
)
from app.text.dates import day
from tests.app.conftest import Running, Starter
from tests.support import records
from tests.support.transcripts import history, moved


def test_sessions_are_grouped_by_day() -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 3, 11, 12, tzinfo=UTC).timestamp()  # a Wednesday
    hours = {
        1: "Today",
        25: "Yesterday",
        49: "Monday",
        24 * 30: "February 9",
        24 * 400: "February 4, 2025",
    }
    for back, name in hours.items():
        assert day(now - back * 3600, now, UTC) == name


def test_a_row_shows_title_turns_and_cost() -> None:
    row = session_row(replace(line("", 1000.0, turns=6), cost=0.42), 1000.0)
    assert row.title == "Untitled"
    assert "6 turns" in row.right
    assert "$0.42" in row.right


def test_amounts_and_durations_are_formatted() -> None:
    assert [duration(s) for s in (4.9, 72, 3723)] == ["4s", "1m 12s", "1h 2m"]


def line(title: str, updated: float, turns: int = 1, **more: object) -> SessionListItem:
    values = {"cost": None, "archived": False, "pinned": False, "parent_id": None, **more}
    return SessionListItem(f"ses_{title}", "/w", title, updated, turns, **values)


def test_matching_titles_come_before_similar_titles_and_messages() -> None:
    """Titles by day, then similar titles, then messages; nothing twice."""
    now = 1_000_000.0
    lines = [line("Fix the reader", now), line("Write docs", now - 200_000, pinned=True)]
    hit = SessionHit(lines[0], SearchHit("ses_Fix the reader", "msg_1", "prt_1", "a reader"))
    session_filter = SessionFilter()
    rows = session_rows(lines, [hit], lines, typed="reader", session_filter=session_filter, now=now)
    assert [(row.group, row.key) for row in rows] == [
        ("Today", "ses_Fix the reader"),
        ("Similar titles", "ses_Write docs"),
        ("Found in messages", "ses_Fix the reader msg_1"),
    ]
    assert [
        row.group
        for row in session_rows(lines, [], [], typed="", session_filter=session_filter, now=now)
    ] == [
        "Today",
        "Pinned",
    ]
    assert session_rows(lines, [], [], typed="zebra", session_filter=session_filter, now=now) == []


async def test_a_misspelt_title_is_found() -> None:
    lines = [line("Fix the import of empty files", 1.0), line("Write docs", 2.0)]
    assert [found.title for found in await similar_titles("imprt of empty", lines)] == [
        lines[0].title
    ]
    assert await similar_titles("zebra", lines) == []


def test_an_excerpt_is_around_the_word_and_marks_it() -> None:
    text = "pad " * 100 + "the needle is here"
    shown = text_around(text, ["needle"])
    assert shown.startswith("…")
    assert shown.endswith("the needle is here")
    spans = highlight_words(shown, ["needle"]).spans
    assert [shown[span.start : span.end] for span in spans] == ["needle"]


async def two_sessions(running: Running) -> None:
    """Create two sessions; the second is open."""
    await running.type("read README.md", "enter")
    await running.until_idle()
    await running.type("/new", "enter")
    await running.until(lambda: running.app.controller.live.view is None)
    await running.type("list", "enter")
    await running.until_idle()


async def test_typing_filters_and_enter_resumes(start: Starter) -> None:
    async with start() as running:
        await two_sessions(running)
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("Sessions of this folder")
        await running.type("readme", "enter")
        await running.until(
            lambda: (
                running.app.controller.on_main_screen()
                and "README" in getattr(running.app.controller.live.session, "title", "")
            )
        )
        await running.until_shown("read README.md")


async def seeded(running: Running, session_id: str, title: str, directory: str = "") -> None:
    """Create a session of 1,000 messages in the open folder or another one."""
    store = running.runtime.store
    session = replace(
        records.session(session_id),
        directory=directory or str(running.runtime.directory),
        title=title,
        turns=500,
    )
    held = [moved(item, session_id) for item in history(500)]
    await store.save(session, *(r for item in held for r in (item.message, *item.parts)))


async def test_a_hit_in_a_message_is_previewed_and_opened(start: Starter) -> None:
    """The text of every session is searched; Enter opens it at the hit, though that page was not
    loaded."""
    async with start(size=(80, 24)) as running:
        await seeded(running, "ses_long", "A long one")
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("A long one")
        await running.type("question 123")
        await running.until_shown("Found in messages")
        await running.until_shown("You  question 123")
        await running.pilot.press("enter")
        await running.until_shown("answer 123.")
        assert "question 123" in running.text()
        assert not running.app.controller.main.transcript.following


async def test_tab_lists_the_sessions_of_all_folders(start: Starter) -> None:
    async with start(size=(80, 24)) as running:
        await seeded(running, "ses_here", "Made here")
        await seeded(running, "ses_there", "Made there", "/elsewhere/shop")
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("Made here")
        assert "Made there" not in running.text()
        assert "tab all folders" in running.text()
        await running.pilot.press("tab")
        await running.until_shown("Made there")
        await running.until_shown("Sessions of all folders")
        await running.pilot.press("tab")
        await running.until(lambda: "Made there" not in running.text())


async def test_pin_and_archive(start: Starter) -> None:
    async with start(size=(80, 24)) as running:
        await two_sessions(running)
        directory = running.runtime.sessions.repository
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("Sessions of this folder")
        await running.type("readme")
        await running.until(lambda: "\n  list" not in running.text())
        await running.pilot.press("ctrl+f")
        await running.until(lambda: "pinned" in running.text().lower())
        assert [found.pinned for found in await directory.lines()] == [True, False]
        await running.pilot.press("ctrl+e")
        await running.until_shown("No matching sessions")
        assert [found.title for found in await directory.lines()] == ["list"]
        await running.pilot.press("shift+tab")
        await running.until_shown("archived too")
        await running.until_shown("  archived")
        await running.pilot.press("ctrl+e")
        await running.until(lambda: "  archived\n" not in running.text())
        assert len(await directory.lines()) == 2


async def test_a_session_is_forked_from_the_list(start: Starter) -> None:
    async with start(size=(80, 24)) as running:
        await two_sessions(running)
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("Sessions of this folder")
        await running.type("readme")
        await running.pilot.press("ctrl+k")
        await running.until_shown("Forked.")
        held = running.app.controller.live.session
        assert held is not None
        assert held.forked_from is not None


async def test_delete_asks_first(start: Starter) -> None:
    async with start() as running:
        await two_sessions(running)
        directory = running.runtime.sessions.repository
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("Sessions of this folder")
        await running.type("readme", "ctrl+d")
        await running.until_shown("Delete")
        await running.pilot.press("enter", "n")
        await running.until(lambda: not running.app.screen.query(".dialog"))
        assert len(await directory.list()) == 2
        await running.pilot.press("ctrl+d")
        await running.until_shown("deleted permanently")
        await running.pilot.press("y")
        await running.until_shown("No matching sessions")
        assert [s.title for s in await directory.list()] == ["list"]


async def test_rename_shows_the_new_title_as_it_was_typed(start: Starter) -> None:
    """Brackets are plain text."""
    async with start() as running:
        await running.type("list", "enter")
        await running.until_idle()
        await running.type("/rename [/] [red", "enter")
        await running.until(
            lambda: getattr(running.app.controller.live.session, "title", "") == "[/] [red"
        )
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("[/] [red")


async def test_deleting_the_open_session_shows_the_home_page(start: Starter) -> None:
    async with start() as running:
        await running.type("list", "enter")
        await running.until_idle()
        await running.type("/delete", "enter")
        await running.until_shown("This cannot be undone")
        await running.pilot.press("y")
        await running.until(lambda: running.app.controller.live.view is None)
        await running.until_shown("a coding agent for this folder")


async def test_a_draft_stays_with_its_session(start: Starter) -> None:
    async with start() as running:
        await two_sessions(running)
        second = running.app.controller.live.session
        assert second is not None
        await running.type("half of it")
        await running.pilot.press("ctrl+x", "n")
        await running.until(lambda: running.app.controller.live.view is None)
        assert running.prompt == ""
        await running.app.controller.live.open(second.id)
        await running.until(lambda: running.prompt == "half of it")


async def test_resume_opens_the_latest_session_and_its_history(start: Starter) -> None:
    async with start() as running:
        await two_sessions(running)
    async with start(resume=True) as running:
        await running.until_shown("list")
        assert getattr(running.app.controller.live.session, "title", "") == "list"
        await running.until(lambda: bool(running.app.controller.main.prompt._history))
        await running.pilot.press("up", "up")
        assert running.prompt == "read README.md"


async def test_a_message_sent_while_busy_waits_and_is_sent_once(start: Starter) -> None:
    """It is shown as queued and picked up in order."""
    async with start() as running:
        await running.type("run touch made.txt", "enter")
        await running.until(lambda: not running.app.controller.on_main_screen())
        live = running.app.controller.live
        running.app.controller.sender.send("list")
        running.app.controller.sender.send("read README.md")
        await running.until(lambda: live.view is not None and len(live.view.queued) == 2)
        await running.pilot.press("o")
        await running.until_idle()
        view = live.view
        assert view is not None
        texts = [
            part.text
            for message_id in view.message_ids
            if (entry := view.entry(message_id)) is not None and entry.message.role == "user"
            for part in entry.parts
            if part.type == "text"
        ]
        assert texts == ["run touch made.txt", "list", "read README.md"]


async def test_esc_interrupts_and_the_prompt_keeps_its_text(start: Starter) -> None:
    """In the stream: the turn stops, the draft is kept, the next prompt is answered."""
    async with start() as running:
        await running.type("stream 5000 words", "enter")
        await running.until(lambda: running.app.controller.live.busy)
        await running.until_shown("esc to interrupt")
        await running.type("draft", "escape")
        await running.until_idle()
        assert running.prompt == "draft"
        await running.pilot.press("ctrl+u")
        await running.type("list", "enter")
        await running.until_shown("List .")
        await running.until_idle()
