"""Scrolling and painting of the transcript: the visible lines stay in place."""

from dataclasses import replace

from textual.geometry import Offset
from textual.selection import Selection

from agent.records.blocks import ShellBlock
from agent.records.events import (
    PartUpdated,
)
from app.session_state.view import SessionView
from app.theme import themes
from app.theme.themes import DARK_PALETTE
from app.widgets.transcript.layout import KEPT_AROUND, MAX_CACHED, Layout
from app.widgets.transcript.lines import Page
from app.widgets.transcript.transcript import Transcript
from tests.support.records import (
    completed,
    pending,
    running,
    session,
    snapshot,
    text_part,
    tool,
    user,
)
from tests.support.snapshots import screen_text
from tests.support.transcripts import (
    SIZE,
    TranscriptApp,
    grow,
    history,
    painted,
    rows,
    say,
    streaming,
)


async def test_sticks_to_the_bottom_while_text_comes() -> None:
    app = TranscriptApp(streaming())
    async with app.run_test(size=SIZE) as pilot:
        for n in range(30):
            grow(app, f"\n\nparagraph {n}")
            await pilot.pause()
            assert any(f"paragraph {n}" in row for row in rows(app)[-4:])
        assert app.transcript.following
        assert app.messages == []


async def test_the_visible_lines_never_move() -> None:
    """Neither new text below nor a growing tool above moves it."""
    view = streaming()
    say_tool = tool("prt_0029b", "msg_0029b", running("Bash", "make", ShellBlock("make")))
    app = TranscriptApp(view)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        before = painted(app)[:-1]
        for n in range(30):
            grow(app, f"\n\nparagraph {n}")
            await pilot.pause()
            assert painted(app)[:-1] == before
        assert not app.transcript.following
        state = replace(say_tool.state, output="\n".join("x" * n for n in range(9)))
        for part in (say_tool, replace(say_tool, state=state)):
            top = painted(app)[0]
            say(app, PartUpdated(part))
            await pilot.pause()
            assert painted(app)[0] == top
        await pilot.press("end")
        await pilot.pause()
        assert app.transcript.following
        grow(app, "\n\nlast words")
        await pilot.pause()
        assert any("last words" in row for row in rows(app)[-4:])


async def test_scrolling_up_shows_every_line_once() -> None:
    """Estimated heights are corrected without moving the visible lines."""
    view = SessionView(snapshot(*history(25)))
    layout = Layout(view, Page(SIZE[0] - 1, DARK_PALETTE))
    for index in range(len(layout.items)):
        layout.lay_out(index)
    wanted = [layout.line(row).strip.text.rstrip() for row in range(layout.height)]
    app = TranscriptApp(view)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        seen = painted(app)
        while app.transcript.scroll_offset.y > 0:
            old, position = painted(app), app.transcript.scroll_offset.y
            await pilot.press("up")
            await pilot.pause()
            new = painted(app)
            assert new[1:] == old[:-1], position
            seen.insert(0, new[0])
        assert seen == wanted


async def test_new_items_below_are_counted_and_shown() -> None:
    app = TranscriptApp(streaming())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("pageup")
        grow(app, "\n\nmore")
        await pilot.pause()
        assert "1 new below" in rows(app)[-1]
        say(app, PartUpdated(tool("prt_9999b", "msg_9999", pending())))
        await pilot.pause()
        assert "2 new below" in rows(app)[-1]
        await pilot.click(Transcript, offset=(SIZE[0] - 8, SIZE[1] - 1))
        await pilot.pause()
        assert app.transcript.following
        assert "new below" not in screen_text(app)
    counts = [m.count for m in app.messages if isinstance(m, Transcript.NewBelow)]
    assert counts == [1, 2, 0]


async def test_a_rebuilt_view_keeps_place_and_folds() -> None:
    """After a gap in the events the same session is shown again from a new snapshot."""
    view = streaming()
    app = TranscriptApp(view)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        before = painted(app)
        app.transcript.show(SessionView(view.snapshot()))
        await pilot.pause()
        assert painted(app) == before
        other = replace(snapshot(user("msg_1", "hello")), session=session("ses_2"))
        app.transcript.show(SessionView(other))
        await pilot.pause()
        assert rows(app)[2].strip("▌ ") == "hello"
        app.transcript.show(None)
        await pilot.pause()
        assert screen_text(app).strip() == ""


async def test_resize_and_theme_redraw_from_the_source() -> None:
    """No line keeps the old width, and all lines fit at 20x8."""
    app = TranscriptApp(streaming(5))
    async with app.run_test(size=SIZE) as pilot:
        for width, height in ((20, 8), (8, 3), (140, 45), SIZE):
            await pilot.resize_terminal(width, height)
            grow(app, " more")
            await pilot.pause()
            assert app.transcript.following
        whole = painted(app)
        app.theme = themes.LIGHT
        await pilot.pause()
        assert painted(app) == whole


async def test_fewer_than_100_widgets_whatever_the_length() -> None:
    app = TranscriptApp(streaming(500))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert len(list(app.screen.walk_children())) < 10


async def test_rows_off_screen_are_not_laid_out() -> None:
    """Opening a long session costs one page."""
    view = SessionView(snapshot(*history(500)))
    layout = Layout(view, Page(80, DARK_PALETTE))
    assert not any(item.lines for item in layout.items)
    app = TranscriptApp(view)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.press("home")
        await pilot.pause()
        assert "question 0" in screen_text(app)
        assert app.transcript.scroll_offset.y == 0


def test_lines_far_off_screen_are_dropped() -> None:
    """Memory stays flat and heights stay known."""
    layout = Layout(SessionView(snapshot(*history(600))), Page(80, DARK_PALETTE))
    for index in range(len(layout.items)):
        layout.lay_out(index)
    height = layout.height
    layout.trim(0, 20)
    assert sum(item.lines is not None for item in layout.items) <= 20 + KEPT_AROUND + 1 < MAX_CACHED
    assert layout.height == height


async def test_a_selection_stays_on_its_text_when_heights_are_corrected() -> None:
    app = TranscriptApp(SessionView(snapshot(*history(40))))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        y = app.transcript.scroll_offset.y
        app.screen.selections = {app.transcript: Selection(Offset(0, y + 4), Offset(70, y + 6))}
        held = app.screen.get_selected_text()
        assert held
        for _ in range(6):
            await pilot.press("pageup")
            await pilot.pause()
        assert app.screen.selections[app.transcript].start != Offset(0, y + 4)
        assert app.screen.get_selected_text() == held


async def test_clock_runs_only_while_something_runs() -> None:
    """There is no timer when nothing moves."""
    app = TranscriptApp(streaming(1))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert not _clock_runs(app)
        part = tool("prt_9999b", "msg_9999", running("Bash", "make", ShellBlock("make")))
        say(app, PartUpdated(part))
        assert _clock_runs(app)
        say(app, PartUpdated(replace(part, state=replace(part.state, waiting="per_1"))))
        assert not _clock_runs(app)
        say(app, PartUpdated(part))
        say(app, PartUpdated(replace(part, state=completed("Bash", "make"))))
        assert not _clock_runs(app)


def _clock_runs(app: TranscriptApp) -> bool:
    timer = app.transcript._timer
    assert timer is not None
    return timer._active.is_set()


async def test_a_key_waits_for_a_slice_of_a_long_text_only() -> None:
    app = TranscriptApp(streaming(3, "It begins.\n\n"))
    text = "".join(f"- item {number} with *some* words\n" for number in range(600)) + "\nthe end"
    async with app.run_test(size=SIZE) as pilot:
        layout = app.transcript._current_layout
        assert layout is not None
        before = layout.height
        grow(app, text)
        assert layout.behind
        assert layout.height - before < 60, "a slice is drawn at once"
        while layout.behind:
            await pilot.pause(0)
        assert layout.height - before > 600
        assert any("the end" in row for row in rows(app)), "the rest follows by itself"


async def test_a_text_that_ends_while_it_is_behind_is_drawn_like_any_other() -> None:
    text = "It begins.\n\n" + "```python\n" + "value = [1, 'two']\n" * 200 + "```\n\nthe end"
    app = TranscriptApp(streaming(3, "It begins.\n\n"))
    async with app.run_test(size=SIZE) as pilot:
        grow(app, text.removeprefix("It begins.\n\n"))
        say(app, PartUpdated(text_part("prt_9999", "msg_9999", text)))
        layout = app.transcript._current_layout
        assert layout is not None
        assert layout.behind
        while layout.behind:
            await pilot.pause(0)
        streamed = [row[: SIZE[0] - 1].rstrip() for row in rows(app)]
    whole = TranscriptApp(streaming(3, text))
    async with whole.run_test(size=SIZE) as pilot:
        say(whole, PartUpdated(text_part("prt_9999", "msg_9999", text)))
        await pilot.pause()
        assert [row[: SIZE[0] - 1].rstrip() for row in rows(whole)] == streamed
