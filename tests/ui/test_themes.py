"""U16: contrast of our own themes, and tones for every theme."""

from dataclasses import fields

import pytest
from textual.app import App
from textual.theme import BUILTIN_THEMES, Theme

from app import themes
from app.themes import CONTRAST, DARK_TONES, LIGHT_TONES, Tones, contrast, tones_for

TEXTS = ("text", "muted", "accent", "plan", "blue", "ok", "warn", "err")
PAIRS = [
    *[(text, ground) for text in TEXTS for ground in ("ground", "panel", "raised")],
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


@pytest.mark.parametrize("tones", [DARK_TONES, LIGHT_TONES], ids=["dark", "light"])
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_own_themes_meet_wcag_aa(tones: Tones, text: str, ground: str) -> None:
    assert contrast(getattr(tones, text), getattr(tones, ground)) >= CONTRAST


def test_contrast_is_wcags() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", BUILTIN_THEMES.values(), ids=BUILTIN_THEMES.keys())
def test_every_theme_has_readable_tones(theme: Theme) -> None:
    tones = tones_for(theme)
    assert tones.dark is theme.dark
    for text in TEXTS:
        tones.style(text, "panel", "bold")
        if not theme.ansi:
            assert contrast(getattr(tones, text), tones.ground) >= CONTRAST


def test_ansi_theme_lays_no_ground_of_ours() -> None:
    tones = tones_for(BUILTIN_THEMES["ansi-dark"])
    assert {tones.ground, tones.panel, tones.raised, tones.added, tones.removed} == {"default"}


async def test_every_registered_theme_has_tones_as_css_variables() -> None:
    class Probe(App[None]):
        CSS = "Screen { background: $tone-ground; color: $tone-added-word; }"

        def __init__(self) -> None:
            super().__init__()
            themes.register(self, dark=False)

    app = Probe()
    async with app.run_test():
        assert app.theme == themes.LIGHT
        for name in app.available_themes:
            app.theme = name
            for field in fields(Tones):
                if field.name != "dark":
                    assert f"tone-{field.name.replace('_', '-')}" in app.theme_variables
