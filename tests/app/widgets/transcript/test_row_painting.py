"""The fast path of a row to the screen shows what Textual's own path shows, and the scrollbar is
painted where its thumb moves."""

import pytest
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from app.session_state.view import SessionView
from app.theme import themes
from tests.support.records import snapshot
from tests.support.transcripts import SIZE, TranscriptApp, grow, history, streaming

WHOLE = Region(0, 0, *SIZE)
PART = Region(3, 2, SIZE[0] - 9, SIZE[1] - 5)


def cells(strips: list[Strip]) -> list[list[tuple[str, object, object, object]]]:
    """Return each row, character by character, with its colors and whether it is bold."""
    found: list[list[tuple[str, object, object, object]]] = []
    for strip in strips:
        row = [
            (letter, style.color, style.bgcolor, style.bold)
            for segment in strip
            if (style := segment.style) is not None
            for letter in segment.text
        ]
        found.append(row)
    return found


def thumb(app: TranscriptApp) -> list[bool]:
    """Return for each cell of the scrollbar whether the thumb fills it."""
    bar = app.transcript.vertical_scrollbar
    rows = bar.render_lines(bar.size.region)
    return [any(style.reverse for _, style, _ in row if style) for row in rows]


@pytest.mark.parametrize("theme", [themes.DARK, themes.LIGHT])
@pytest.mark.parametrize("crop", [WHOLE, PART])
async def test_fast_rows_equal_textuals_rows(theme: str, crop: Region) -> None:
    app = TranscriptApp(SessionView(snapshot(*history(12))), theme=theme)
    async with app.run_test(size=SIZE) as pilot:
        for keys in ((), ("pageup",), ("tab", "k")):
            await pilot.press(*keys)
            await pilot.pause()
            short = cells(app.transcript.render_lines(crop))
            assert short == cells(Widget.render_lines(app.transcript, crop))
            assert any(letter.isalpha() for row in short for letter, *_ in row)


async def test_rows_that_only_moved_are_the_same_strips() -> None:
    """So the cached rendering of a strip stays valid."""
    app = TranscriptApp(SessionView(snapshot(*history(12))))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("pageup")
        await pilot.pause()
        before = app.transcript.render_lines(WHOLE)
        await pilot.press("down")
        await pilot.pause()
        after = app.transcript.render_lines(WHOLE)
        assert all(old is new for old, new in zip(before[1:], after[:-1], strict=True))


async def test_the_bar_is_painted_when_its_thumb_moves() -> None:
    app = TranscriptApp(streaming(40))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        bar = app.transcript.vertical_scrollbar
        painted = 0
        for n in range(12):
            grow(app, f"\n\nparagraph {n}")
            painted += bool(bar._repaint_regions)
            await pilot.pause()
        assert bar.window_virtual_size == app.transcript.virtual_size.height
        assert bar.position == app.transcript.scroll_offset.y
        assert painted < 6
        await pilot.press("home")
        await pilot.pause()
        assert bar.position == 0
        top = thumb(app)
        await pilot.press("end")
        await pilot.pause()
        assert thumb(app) == top[::-1] != top
