"""The whole screen in difficult terminals: wide characters, narrow and light terminals, and every
width with CJK, emoji and right-to-left text."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.geometry import Offset
from textual.selection import Selection

from agent.records.messages import Session
from app.theme.themes import DARK, LIGHT, contrast
from app.widgets.input.prompt import Prompt
from tests.app.conftest import Running, Starter
from tests.app.screens.sample_session import command_dialog, edit_dialog, opened, show_session
from tests.support import records
from tests.support.model_server import ModelServer
from tests.support.script import Hold, Text, answer

FAMILY = "👩‍👩‍👧"
MIXED = f"こんにちは{FAMILY}é"
FOREIGN = (
    "漢字とかな、表の幅を測る。" * 6,
    f"emoji {FAMILY}{FAMILY} 🇩🇪 👍🏽 ❤️ " * 5,
    "שלום עולם وهذا نص عربي " * 6,
    "combining e\u0301 a\u0300 n\u0303 " * 8,
    "| 名前 | wert |\n|---|---|\n| 表の幅 | שלום |\n| x | " + "y" * 200 + " |",
)


async def test_a_click_and_keys_land_on_the_right_cell(start: Starter) -> None:
    async with start(size=(80, 24)) as running:
        prompt = running.app.controller.main.prompt
        prompt.set_text(MIXED)
        await running.pilot.pause()
        await running.pilot.click(Prompt, offset=(5, 0))
        column = prompt.cursor_location[1]
        assert column in {2, 3}
        await running.pilot.press("x")
        assert prompt.text in {f"こんxにちは{FAMILY}é", f"こんにxちは{FAMILY}é"}
        await running.pilot.press("backspace", "end", "backspace", "x")
        assert prompt.text == f"こんにちは{FAMILY}x"


async def shown(running: Running, *texts: str) -> Session:
    """Open a session with a title and texts in foreign scripts."""
    parts = [records.text_part(f"prt_{n}", "msg_b", text) for n, text in enumerate(texts)]
    session = replace(
        records.session(),
        directory=str(running.runtime.directory),
        title="表題" * 40 + FAMILY,
        model="demo/offline",
    )
    for item in (records.user("msg_a", " ".join(texts)), records.assistant("msg_b", *parts)):
        await running.runtime.store.save(session, item.message, *item.parts)
    await running.app.controller.live.open(session.id)
    await running.until(lambda: running.app.controller.main.transcript.display)
    return session


@pytest.mark.parametrize("width", [20, 40, 59, 80, 155, 156, 240])
async def test_no_row_is_longer_than_the_screen_in_any_script(start: Starter, width: int) -> None:
    async with start(size=(width, 30)) as running:
        await shown(running, *FOREIGN)
        await running.pilot.pause()
        strips = running.app.screen._compositor.render_strips()
        assert len(strips) == 30
        for strip in strips:
            assert sum(cell_len(segment.text) for segment in strip) == width


async def test_titles_in_wide_characters_keep_the_columns_of_a_list(start: Starter) -> None:
    async with start(size=(60, 24)) as running:
        await shown(running, "one")
        await running.type("/sessions", "enter")
        await running.until_shown("表題")
        edges = {
            cell_len(row.split("▌")[0]) for row in running.text().splitlines()[2:-6] if "▌" in row
        }
        assert len(edges) <= 2


async def test_the_terminal_shrinks_to_20_by_8_while_a_response_streams(
    scripted: ModelServer, start: Starter
) -> None:
    hold = Hold()
    scripted.script(answer(Text("The answer begins. "), hold, Text("It ends here.")))
    async with start(size=(80, 24)) as running:
        await running.type("go", "enter")
        await running.until_shown("The answer begins.")
        await running.pilot.resize_terminal(20, 8)
        await running.pilot.pause()
        await running.type("typed")
        await running.until_shown("typed")
        hold.gate.set()
        await running.until_idle()
        await running.until_shown("here.")
        await running.pilot.resize_terminal(80, 24)
        await running.until_shown("The answer begins. It ends here.")
        assert running.prompt == "typed"


@pytest.mark.parametrize("size", [(20, 8), (26, 10), (40, 12)])
@pytest.mark.parametrize("make", [command_dialog, edit_dialog])
async def test_the_choices_of_a_dialog_are_visible_at_any_size(
    start: Starter, size: tuple[int, int], make
) -> None:
    async with start(size=(80, 24)) as running:
        await show_session(running)
        running.app.push_screen(make())
        await running.until_shown("once")
        await running.pilot.resize_terminal(*size)
        await running.pilot.pause()
        assert "once" in running.text()
        assert "reject" in running.text()


def faint_texts(running: Running, least: float) -> list[tuple[str, float]]:
    """Return the texts on the screen whose contrast with the background is less than *least*."""
    found: list[tuple[str, float]] = []
    for strip in running.app.screen._compositor.render_strips():
        for segment in strip:
            style = segment.style
            if style is None or style.color is None or style.bgcolor is None:
                continue
            if not any(char.isalnum() for char in segment.text):
                continue
            fore, back = style.color, style.bgcolor
            if style.reverse:
                fore, back = back, fore
            if fore.triplet is not None and back.triplet is not None:
                value = contrast(fore.triplet.hex, back.triplet.hex)
                if value < least:
                    found.append((segment.text, round(value, 2)))
    return found


@pytest.mark.parametrize(
    ("theme", "least"),
    [(DARK, 4.5), (LIGHT, 4.5), ("nord", 3.0), ("solarized-light", 3.0), ("gruvbox", 3.0)],
)
async def test_everything_on_the_screen_can_be_read(
    start: Starter, tmp_path: Path, theme: str, least: float
) -> None:
    async with opened(start, tmp_path, (160, 45), theme=theme) as running:
        await show_session(running)
        await running.type("a prompt that is typed")
        assert faint_texts(running, least) == []
        main = running.app.controller.main
        main.selections = {main.transcript: Selection(Offset(0, 0), Offset(200, 40))}
        await running.pilot.pause()
        assert faint_texts(running, 3.0) == []
        running.app.push_screen(edit_dialog())
        await running.until_shown("once")
        dialog = [one for one in faint_texts(running, least) if "once" in one[0]]
        assert dialog == []
