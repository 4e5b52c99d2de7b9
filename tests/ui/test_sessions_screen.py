"""The session list, drafts, and what waits while the agent works (U7, U10, U11)."""

from agent.model import Session
from app.screens.sessions import session_row
from app.words import day, duration, money, tokens
from tests.ui.conftest import Running, Starter


def session(title: str, updated: float, turns: int = 1) -> Session:
    return Session(
        id=f"ses_{title}",
        directory="/w",
        project="/w",
        title=title,
        created=updated,
        updated=updated,
        turns=turns,
    )


def test_sessions_are_grouped_by_day() -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 3, 11, 12, tzinfo=UTC).timestamp()  # a Wednesday
    hours = {
        1: "Today",
        25: "Yesterday",
        49: "Monday",
        24 * 30: "9 February",
        24 * 400: "4 February 2025",
    }
    for back, name in hours.items():
        assert day(now - back * 3600, now, UTC) == name


def test_a_row_tells_title_turns_and_cost() -> None:
    from dataclasses import replace

    row = session_row(replace(session("", 1000.0, turns=6), cost=0.42), 1000.0)
    assert row.title == "Untitled"
    assert "6 turns" in row.note
    assert "$0.42" in row.note


def test_numbers_are_written_as_the_design_says() -> None:
    assert [duration(s) for s in (4.9, 72, 3723)] == ["4s", "1m 12s", "1h 2m"]
    assert [tokens(n) for n in (950, 2_100, 128_000, 1_200_000)] == ["950", "2.1k", "128k", "1.2M"]
    assert [money(m) for m in (None, 0.0, 0.42)] == ["–", "$0.00", "$0.42"]


async def two_sessions(running: Running) -> None:
    """Leaves two sessions behind, the second open."""
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
                running.app.controller.at_main()
                and "README" in getattr(running.app.controller.live.session, "title", "")
            )
        )
        await running.until_shown("read README.md")


async def test_delete_asks_first(start: Starter) -> None:
    async with start() as running:
        await two_sessions(running)
        directory = running.runtime.sessions.directory
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("Sessions of this folder")
        await running.type("readme", "ctrl+d")
        await running.until_shown("Delete")
        await running.pilot.press("enter", "n")
        await running.until(lambda: not running.app.screen.query(".dialog"))
        assert len(await directory.list()) == 2
        await running.pilot.press("ctrl+d")
        await running.until_shown("removed for good")
        await running.pilot.press("y")
        await running.until_shown("No session fits")
        assert [s.title for s in await directory.list()] == ["list"]


async def test_rename_shows_the_new_title_as_it_was_typed(start: Starter) -> None:
    """TUI-MARKUP: brackets are only text."""
    async with start() as running:
        await running.type("list", "enter")
        await running.until_idle()
        await running.type("/rename [/] [red", "enter")
        await running.until(
            lambda: getattr(running.app.controller.live.session, "title", "") == "[/] [red"
        )
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("[/] [red")


async def test_deleting_the_open_session_goes_back_to_the_first_page(start: Starter) -> None:
    async with start() as running:
        await running.type("list", "enter")
        await running.until_idle()
        await running.type("/delete", "enter")
        await running.until_shown("removed for good")
        await running.pilot.press("y")
        await running.until(lambda: running.app.controller.live.view is None)
        await running.until_shown("a coding agent for this folder")


async def test_a_draft_stays_with_its_session(start: Starter) -> None:
    """U7."""
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
    """INPUT-QUEUE and U10: shown as waiting, taken up in order."""
    async with start() as running:
        await running.type("run touch made.txt", "enter")
        await running.until(lambda: not running.app.controller.at_main())
        live = running.app.controller.live
        running.app.controller.send("list")
        running.app.controller.send("read README.md")
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
    """CANCEL-STOP in the stream: stopped, draft kept, the next prompt is answered."""
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
