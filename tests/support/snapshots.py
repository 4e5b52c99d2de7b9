"""Snapshots of the screen: ``snapshots/<name>.svg`` and, to read a difference in,
``snapshots/<name>.txt``.

With SNAPSHOT_UPDATE=1 they are written, else compared.
"""

import html
import io
import os
import re
from difflib import unified_diff
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from textual.app import App
from textual.pilot import Pilot

from app.theme.themes import LIGHT

FOLDER = Path(__file__).resolve().parents[2] / "snapshots"

UPDATING = os.environ.get("SNAPSHOT_UPDATE") == "1"

PAUSES = 20
"""How often a picture that differs is given time to be painted."""

SIZES = ((80, 24), (140, 45))
"""Columns and rows at which each screen has a snapshot."""

# Ids are made from the content and from chance; the fonts are named by web address.
_IDS = re.compile(r"terminal-\d+")
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


_TEXT = re.compile(
    r'<text (class="[^"]*") x="([\d.]+)" (y="[\d.]+") textLength="[\d.]+" (clip-path="[^"]*")>'
    r"([^<]*)</text>"
)
_CELL = 12.2
"""The width of a cell in a picture."""


def _with_cells(match: re.Match[str]) -> str:
    """Return a text with its wide characters in elements of their own, two cells each. Rich counts
    one cell for each, so that a browser squeezes them."""
    kind, x, y, clip, content = match.groups()
    text = html.unescape(content)
    if all(cell_len(character) < 2 for character in text):
        return match.group()
    runs: list[str] = []
    for character in text:
        alike = runs and cell_len(character) in {0, cell_len(runs[-1][0])}
        runs[-1:] = [runs[-1] + character] if alike else [*runs[-1:], character]
    made, at = "", float(x)
    for run in runs:
        width = round(_CELL * cell_len(run), 1)
        shown = html.escape(run).replace("\xa0", "&#160;")
        made += f'<text {kind} x="{at:g}" {y} textLength="{width:g}" {clip}>{shown}</text>'
        at = round(at + width, 1)
    return made


_EDGE = re.compile(r'(<rect x="0" y="0" width=)"([\d.]+)" height="([\d.]+)"')


def _with_last_row(match: re.Match[str]) -> str:
    """Return the area that is shown with room for the last row's descenders and the last column,
    which Rich cuts off."""
    begin, width, height = match.groups()
    return f'{begin}"{float(width) + 1:g}" height="{float(height) + 4:.1f}"'


def normalized(svg: str) -> str:
    """Return an exported picture without what differs between runs."""
    svg = _TEXT.sub(_with_cells, _FONTS.sub("", _IDS.sub("terminal", svg)))
    svg = _EDGE.sub(_with_last_row, svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def screen_text(app: App[object]) -> str:
    """Return the screen as plain text without trailing spaces."""
    width, height = app.size
    console = Console(width=width, height=height, file=io.StringIO(), record=True)
    console.print(app.screen._compositor.render_update(full=True, simplify=False))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    return "\n".join(lines).rstrip("\n") + "\n"


def assert_snapshot(app: App[object], name: str, *, title: str = "") -> None:
    """Compare the screen with the approved snapshot *name* (letters, digits, hyphens). The picture
    is titled *title*, by default its name."""
    svg, text = normalized(app.export_screenshot(title=title or name)), screen_text(app)
    svg_path, text_path = FOLDER / f"{name}.svg", FOLDER / f"{name}.txt"
    if UPDATING:
        FOLDER.mkdir(exist_ok=True)
        svg_path.write_text(svg, encoding="utf-8")
        text_path.write_text(text, encoding="utf-8")
        return
    hint = "look at the change and approve it with SNAPSHOT_UPDATE=1"
    assert text_path.exists(), f"There is no snapshot {name}: {hint}."
    assert text == text_path.read_text(encoding="utf-8"), f"The text of {name} differs: {hint}."
    approved = svg_path.read_text(encoding="utf-8")
    if svg != approved:
        changed = [
            line
            for line in unified_diff(approved.splitlines(), svg.splitlines(), lineterm="", n=0)
            if line.startswith(("+", "-"))
        ]
        shown = "\n".join(line[:300] for line in changed[:12])
        raise AssertionError(f"The colors of {name} differ: {hint}.\n{shown}")


async def _until_approved(pilot: Pilot[object], name: str) -> None:
    """Give a busy machine time to paint the approved picture; the comparison itself follows."""
    approved = FOLDER / f"{name}.svg"
    for _ in range(PAUSES if approved.exists() and not UPDATING else 0):
        if normalized(pilot.app.export_screenshot(title=name)) == approved.read_text("utf-8"):
            return
        await pilot.pause()


async def _stop_blinking(pilot: Pilot[object]) -> None:
    """Stop the cursors from blinking, so that a snapshot does not depend on when it is taken."""
    for editor in pilot.app.screen.query("Input, TextArea").results():
        editor.cursor_blink = False
    await pilot.pause()


async def _laid_out(pilot: Pilot[object]) -> None:
    """Wait until a pause changes nothing: a dialog fits itself to a new size in several steps, and
    the last of them may only move the scroll bar."""
    before, shown = None, pilot.app.screen._compositor.render_strips()
    while shown != before:
        await pilot.pause()
        before, shown = shown, pilot.app.screen._compositor.render_strips()


async def assert_both_themes(pilot: Pilot[object], name: str) -> None:
    """Compare the screen at its size with the snapshots ``<name>-<columns>`` in dark and
    ``<name>-light-<columns>``."""
    app, columns = pilot.app, pilot.app.size.width
    await _stop_blinking(pilot)
    await _until_approved(pilot, f"{name}-{columns}")
    assert_snapshot(app, f"{name}-{columns}")
    dark = app.theme
    app.theme = LIGHT
    await pilot.pause()
    await _until_approved(pilot, f"{name}-light-{columns}")
    assert_snapshot(app, f"{name}-light-{columns}")
    app.theme = dark
    await pilot.pause()


SMALL = (40, 16)
"""The size of the smallest terminal that shows everything that is needed."""


async def assert_small_pictures(pilot: Pilot[object], name: str) -> None:
    """Compare the screen in a small terminal, in dark and in light."""
    await pilot.resize_terminal(*SMALL)
    await _laid_out(pilot)
    await assert_both_themes(pilot, name)


async def assert_pictures(pilot: Pilot[object], name: str, *, rows: int | None = None) -> None:
    """Compare the screen at both sizes, or at both widths with *rows*, in dark and in light. One
    app serves all four."""
    for columns, usual_rows in reversed(SIZES):
        await pilot.resize_terminal(columns, rows or usual_rows)
        await _laid_out(pilot)
        await assert_both_themes(pilot, name)
