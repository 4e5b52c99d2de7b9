"""Titles, names and paths in wide characters are cut at a cell and keep their neighbors aligned."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent.records.messages import Session
from app.session_state.live import SessionFamily
from app.widgets.session_bars import breadcrumbs_text
from tests.app.conftest import Starter
from tests.support import records
from tests.support.model_server import ModelServer
from tests.support.script import Call, Text, answer

WIDE = "漢字かな交じりの題名" * 6
PLAIN = "a title in plain letters " * 5


@pytest.mark.parametrize("size", [(80, 24), (61, 24), (30, 12)])
async def test_a_list_of_sessions_keeps_its_columns(
    start: Starter, scripted: ModelServer, size: tuple[int, int]
) -> None:
    scripted.always(answer(Text("ok")))
    async with start(size=size) as running:
        for title in (WIDE, PLAIN):
            running.app.controller.sender.send(title)
            await running.until_idle()
            await running.type("/new", "enter")
            await running.until(lambda: running.app.controller.live.view is None)
        await running.type("/sessions", "enter")
        await running.until_shown("✓ done")
        rows = [row for row in running.text().splitlines() if "✓ done" in row]
        assert len(rows) == 2
        assert len({cell_len(row.rstrip()) for row in rows}) == 1, running.text()
        assert all("…" in row for row in rows), rows


@pytest.mark.parametrize("width", range(12, 81))
def test_the_breadcrumbs_are_as_wide_as_the_screen(width: int) -> None:
    def named(number: int) -> Session:
        return replace(records.session(f"ses_{number}"), title=f"{WIDE} {number}")

    kin = SessionFamily(named(0), ancestors=(named(1), named(2)), siblings=(named(0), named(3)))
    shown = breadcrumbs_text(kin, width)
    assert shown.cell_length == width
    assert "…" in shown.plain


async def test_a_question_about_a_file_with_a_wide_name_keeps_its_frame(
    start: Starter, scripted: ModelServer, tmp_path: Path
) -> None:
    work = tmp_path / "漢字の作業場" / ("長い名前の場所" * 6)
    work.mkdir(parents=True)
    call = Call("write", {"file_path": f"{'題' * 60}.txt", "content": "漢字" * 60})
    scripted.script(answer(call), answer(Text("All done.")))
    async with start(size=(61, 24), directory=work) as running:
        await running.type("go", "enter")
        await running.until_shown("once")
        (head,) = (row for row in running.text().splitlines() if "new file" in row)
        assert "題…" in head
        assert head.rstrip().endswith(("+1 −0", "▁", "▂")), head
        assert cell_len(head) == 61
        dialog = [row for row in running.text().splitlines() if "題" in row]
        assert all(row.startswith("▌  ") for row in dialog), running.text()
        assert "".join(running.text().split()).count("題") >= 60, "the whole name can be read"
        await running.pilot.press("o")
        await running.until_shown("All done.")
        for row in running.text().splitlines():
            assert cell_len(row) == 61
    assert len(list(work.iterdir())) == 1
