"""The contrast of our own themes, and a palette for every theme."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.theme import BUILTIN_THEMES, Theme
from textual.widgets import Input, OptionList

from app.theme import themes
from app.theme.themes import (
    MIN_CONTRAST,
    OWN_PALETTES,
    Palette,
    contrast,
    palette_of,
)

APP = Path(themes.__file__).parents[1]
TEXTS = ("text", "muted", "accent", "plan", "blue", "ok", "warn", "err")
PAIRS = [
    *[(text, ground) for text in TEXTS for ground in ("ground", "panel", "raised", "cursor")],
    ("faint", "ground"),
    ("faint", "panel"),
    *[(text, ground) for ground in ("added", "removed") for text in ("muted", "text")],
    ("added_text", "added"),
    ("added_text", "added_word"),
    ("removed_text", "removed"),
    ("removed_text", "removed_word"),
    ("ok", "added"),
    ("err", "removed"),
    ("text", "selection"),
]


@pytest.mark.parametrize("palette", OWN_PALETTES.values(), ids=OWN_PALETTES)
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_own_themes_meet_wcag_aa(palette: Palette, text: str, ground: str) -> None:
    assert contrast(getattr(palette, text), getattr(palette, ground)) >= MIN_CONTRAST


def test_contrast_is_wcags() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", BUILTIN_THEMES.values(), ids=BUILTIN_THEMES.keys())
def test_every_theme_has_a_readable_palette(theme: Theme) -> None:
    palette = palette_of(theme)
    assert palette.dark is theme.dark
    for text in TEXTS:
        palette.style(text, "panel", "bold")
        if not theme.ansi:
            assert contrast(getattr(palette, text), palette.ground) >= MIN_CONTRAST


def test_ansi_themes_use_no_background_of_ours() -> None:
    palette = palette_of(BUILTIN_THEMES["ansi-dark"])
    assert {palette.ground, palette.panel, palette.raised, palette.added, palette.removed} == {
        "default"
    }


@pytest.mark.parametrize("name", [themes.DARK, themes.LIGHT, "nord", "ansi-dark"])
async def test_the_highlighted_row_is_visible_and_readable(name: str) -> None:
    """Also in a list without the focus, whose keys go to the filter above it."""

    class Probe(App[None]):
        def compose(self) -> ComposeResult:
            yield Input(placeholder="Type to filter")
            yield OptionList("one", "two")

    app = Probe()
    themes.register(app)
    themes.register_textual_themes(app)
    app.theme = name
    async with app.run_test() as pilot:
        rows = app.query_one(OptionList)
        rows.highlighted = 0
        await pilot.pause()
        under = rows.get_visual_style("option-list--option-highlighted")
        other = rows.get_visual_style("option-list--option")
        assert under.bold
        if name == "ansi-dark":
            assert under.underline, "it has no ground of ours"
            return
        assert under.background != other.background
        palette = palette_of(app.current_theme)
        assert contrast(palette.muted, under.background.hex6) >= 4.4
        if name == "nord":
            return
        typed = app.query_one(Input)
        faint = typed.get_component_rich_style("input--placeholder")
        assert faint.color is not None
        assert contrast(faint.color.name, typed.background_colors[1].hex6) >= 4.4


async def test_every_registered_theme_has_tones_as_css_variables() -> None:
    class Probe(App[None]):
        CSS = "Screen { background: $tone-ground; color: $tone-added-word; }"

        def __init__(self) -> None:
            super().__init__()
            themes.register(self, dark=False)
            themes.register_textual_themes(self)

    app = Probe()
    async with app.run_test():
        assert app.theme == themes.LIGHT
        for name in app.available_themes:
            app.theme = name
            for field in fields(Palette):
                if field.name != "dark":
                    assert f"tone-{field.name.replace('_', '-')}" in app.theme_variables


def test_every_tone_that_is_used_exists() -> None:
    """A variable that does not exist leaves its text without color, and no error."""
    known = {f"$tone-{field.name.replace('_', '-')}" for field in fields(Palette)}
    sources = [
        path for path in APP.rglob("*") if path.suffix in {".py", ".tcss"} and path.is_file()
    ]
    used = {
        (str(path), tone)
        for path in sources
        for tone in re.findall(r"\$tone-[a-z][a-z-]*", path.read_text(encoding="utf-8"))
    }
    assert len(used) > 100
    assert {pair for pair in used if pair[1] not in known} == set()
