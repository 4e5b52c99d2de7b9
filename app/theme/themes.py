"""Themes: our own dark and light ones, palettes for all of Textual's, and the user's files.

A ``Palette`` holds the colors that the transcript draws with; a tone is the name of one of them.
Every theme maps to a palette, and each registered theme carries it as CSS variables too:
``$tone-ground``, ``$tone-panel``, ``$tone-muted``, ``$tone-added-word`` and so on, one for each
field of ``Palette``.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from rich.style import Style
from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from agent.records.frozen import frozen
from app.text.sanitize import sanitize_line

DARK = "opencode-py-dark"
LIGHT = "opencode-py-light"
ANSI_THEMES = ("ansi-dark", "ansi-light")
"""Textual's themes with the terminal's own 16 colors."""

MIDDLE_LUMINANCE = 0.18
"""The relative luminance that separates dark from light pages."""

MIN_CONTRAST = 4.5
"""The minimum contrast of text with the backgrounds it is used on (WCAG AA)."""


@frozen
class Palette:
    """The colors of a theme as Rich takes them: ``#rrggbb``, or names where the terminal's own
    colors are used."""

    ground: str
    """The page's background."""
    panel: str
    """The background of a surface on the page."""
    raised: str
    """The background of a dialog."""
    text: str
    muted: str
    faint: str
    """Text that matters least; not for raised surfaces."""
    rule: str
    """Lines."""
    accent: str
    """An agent that speaks or works."""
    plan: str
    """The planning agent."""
    blue: str
    """The user."""
    ok: str
    """Done."""
    warn: str
    """Waits for the user."""
    err: str
    """Failed."""
    added: str
    """The background of added lines in a diff; the next five are for diffs too."""
    added_word: str
    added_text: str
    removed: str
    removed_word: str
    removed_text: str
    selection: str
    cursor: str
    """The background of the highlighted row of a list."""
    dark: bool = True

    def style(self, tone: str = "text", on: str = "ground", attributes: str = "") -> Style:
        """Return a style from the names of two tones and Rich attributes (``"bold italic"``)."""
        return _style(self, tone, on, attributes)

    def legible_tone(self, tone: str, on: str) -> str:
        """Return *tone*, or a stronger one where it cannot be read on the background *on*."""
        return _legible(self, tone, on)


@lru_cache(1024)
def _style(palette: Palette, tone: str, on: str, attributes: str) -> Style:
    return Style.parse(f"{attributes} {getattr(palette, tone)} on {getattr(palette, on)}")


@lru_cache(1024)
def _legible(palette: Palette, tone: str, on: str) -> str:
    ground = getattr(palette, on)
    for name in (tone, "muted"):
        color = getattr(palette, name)
        if "#" not in color or "#" not in ground or contrast(color, ground) >= MIN_CONTRAST:
            return name
    return "text"


DARK_PALETTE = Palette(
    ground="#0e1116",
    panel="#151a21",
    raised="#1c222b",
    text="#d6dae1",
    muted="#9aa3b2",
    faint="#7d8797",
    rule="#2a313c",
    accent="#5cc8b0",
    plan="#e8a45c",
    blue="#79b0f5",
    ok="#7cc386",
    warn="#e3b866",
    err="#ea7f88",
    added="#10281d",
    added_word="#1b4a33",
    added_text="#a9dcb8",
    removed="#2c161a",
    removed_word="#53252c",
    removed_text="#eda6ac",
    selection="#2c4a6e",
    cursor="#23353a",
)

LIGHT_PALETTE = Palette(
    ground="#fbfaf7",
    panel="#f2efe9",
    raised="#e8e4dc",
    text="#23282e",
    muted="#545c67",
    faint="#646c77",
    rule="#d8d3c8",
    accent="#0b6f60",
    plan="#8a4b08",
    blue="#1f5fae",
    ok="#1f6f3a",
    warn="#7a5200",
    err="#a8222f",
    added="#e3f3e6",
    added_word="#bfe3c8",
    added_text="#174f2a",
    removed="#fbe7e7",
    removed_word="#f3c6c8",
    removed_text="#7d1822",
    selection="#c4daf5",
    cursor="#d4e3de",
    dark=False,
)

# The terminal defines these colors; text gets no background of ours.
_ANSI_PALETTE = Palette(
    ground="default",
    panel="default",
    raised="default",
    text="default",
    muted="default",
    faint="bright_black",
    rule="bright_black",
    accent="cyan",
    plan="yellow",
    blue="blue",
    ok="green",
    warn="yellow",
    err="red",
    added="default",
    added_word="default",
    added_text="green",
    removed="default",
    removed_word="default",
    removed_text="red",
    selection="bright_black",
    cursor="default",
)


def _css_color(color: str) -> str:
    return color if color.startswith("#") else f"ansi_{color}"


OWN_PALETTES = {DARK: DARK_PALETTE, LIGHT: LIGHT_PALETTE}


def _blend(first: str, second: str) -> str:
    """Return the color between two."""
    return Color.parse(first).blend(Color.parse(second), 0.4).hex


def own_theme(name: str, palette: Palette) -> Theme:
    """Return a theme made entirely of *palette*."""
    theme = Theme(
        name=name,
        primary=palette.accent,
        secondary=palette.blue,
        warning=palette.warn,
        error=palette.err,
        success=palette.ok,
        accent=palette.accent,
        foreground=palette.text,
        background=palette.ground,
        surface=palette.panel,
        panel=palette.raised,
        boost=palette.raised,
        dark=palette.dark,
        variables={
            "border": palette.accent,
            "border-blurred": palette.rule,
            "footer-key-foreground": palette.accent,
            "input-cursor-background": palette.muted,
            "input-cursor-foreground": palette.ground,
            "input-selection-background": palette.selection,
            "screen-selection-background": palette.selection,
            # On a light dialog, a light thumb would look like the track.
            "scrollbar": palette.rule if palette.dark else _blend(palette.rule, palette.faint),
            "scrollbar-hover": palette.faint,
            "scrollbar-active": palette.faint,
            "scrollbar-background": palette.ground,
            "scrollbar-background-hover": palette.ground,
            "scrollbar-background-active": palette.ground,
            "scrollbar-corner-color": palette.ground,
        },
    )
    return _with_variables(theme, palette)


def with_palette(theme: Theme) -> Theme:
    """Return *theme* with a ``$tone-…`` CSS variable for each tone."""
    return _with_variables(theme, palette_of(theme))


def _with_variables(theme: Theme, palette: Palette) -> Theme:
    variables = {
        f"tone-{field.name.replace('_', '-')}": _css_color(getattr(palette, field.name))
        for field in fields(palette)
        if field.name != "dark"
    }
    return replace(theme, variables={**theme.variables, **_cursor_variables(palette), **variables})


def _cursor_variables(palette: Palette) -> dict[str, str]:
    """Return the variables for the highlighted row of a list and for placeholders: Textual's own
    are too weak for text in our palettes.

    The row looks the same whether the list or the input above it has the focus. Without colors of
    ours it is underlined.
    """
    style = "bold" if "#" in palette.cursor else "bold underline"
    return {
        f"block-cursor{state}-{what}": value
        for state in ("", "-blurred")
        for what, value in (
            ("background", _css_color(palette.cursor)),
            ("foreground", _css_color(palette.text)),
            ("text-style", style),
        )
    } | {"text-disabled": _css_color(palette.muted)}


OWN_THEMES: dict[str, Theme] = {
    name: own_theme(name, palette) for name, palette in OWN_PALETTES.items()
}


def register(app: App[object], *, dark: bool = True, few_colors: bool = False) -> None:
    """Register our themes and choose the default one."""
    for theme in OWN_THEMES.values():
        app.register_theme(theme)
    if few_colors:
        for name in ANSI_THEMES:
            app.register_theme(with_palette(BUILTIN_THEMES[name]))
    app.theme = theme_for(dark=dark, few_colors=few_colors)


def register_textual_themes(app: App[object]) -> None:
    """Give Textual's themes their palettes. Done after the first frame, which uses one of ours:
    these take as long as its layout."""
    for theme in BUILTIN_THEMES.values():
        app.register_theme(with_palette(theme))


def register_themes(app: App[object], themes: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Register *themes*, given as colors by role; return a notice for each bad one."""
    notices: list[str] = []
    for name, colors in themes.items():
        try:
            dark = _luminance(Color.parse(colors.get("background", "#000000"))) < MIDDLE_LUMINANCE
            roles: dict[str, Any] = dict(colors)
            theme = Theme(name=name, dark=dark, **roles)
            app.register_theme(with_palette(theme))
        except (ColorParseError, TypeError) as error:
            notices.append(f"The theme {name} is ignored: {error}.")
    return notices


def palette_of(theme: Theme) -> Palette:
    """Return the palette of any theme: our own as it is, others derived from their main colors.

    A color that is too weak for text on its page is moved towards the text color until the contrast
    is at least ``MIN_CONTRAST``.
    """
    if theme.name in OWN_PALETTES:
        return OWN_PALETTES[theme.name]
    if theme.ansi:
        return replace(_ANSI_PALETTE, dark=theme.dark)
    if "tone-ground" in theme.variables:
        return _palette_in_variables(theme)
    return _derive_palette(
        theme.background or ("#121212" if theme.dark else "#efefef"),
        theme.foreground or ("#e0e0e0" if theme.dark else "#1e1e1e"),
        (
            theme.accent or theme.primary,
            theme.warning or theme.primary,
            theme.secondary or theme.primary,
            theme.success or "#4ebf71",
            theme.error or "#ba3c5b",
        ),
        theme.dark,
    )


def _palette_in_variables(theme: Theme) -> Palette:
    """Return the palette that a theme has as its variables."""
    names = [field.name for field in fields(Palette) if field.name != "dark"]
    colors = {name: theme.variables[f"tone-{name.replace('_', '-')}"] for name in names}
    return Palette(**colors, dark=theme.dark)


@lru_cache(64)
def _derive_palette(
    ground: str, text: str, colors: tuple[str, str, str, str, str], dark: bool
) -> Palette:
    base = Color.parse(ground).rgb
    page = Color(*base)
    strong = _readable(Color.parse(text), page, Color(255, 255, 255) if dark else Color(0, 0, 0))
    accent, warn, blue, ok, err = (
        _readable(Color.parse(color), _mix(page, strong, 0.12), strong) for color in colors
    )

    def pair(color: Color) -> tuple[str, str, str]:
        surface, word = _mix(page, color, 0.12), _mix(page, color, 0.22)
        return surface.hex6, word.hex6, _readable(_mix(strong, color, 0.4), word, strong).hex6

    added, removed = pair(ok), pair(err)
    return Palette(
        ground=page.hex6,
        panel=_mix(page, strong, 0.04).hex6,
        raised=_mix(page, strong, 0.09).hex6,
        text=strong.hex6,
        muted=_readable(_mix(page, strong, 0.68), _mix(page, strong, 0.09), strong).hex6,
        faint=_readable(_mix(page, strong, 0.5), _mix(page, strong, 0.04), strong).hex6,
        rule=_mix(page, strong, 0.18).hex6,
        accent=accent.hex6,
        plan=warn.hex6,
        blue=blue.hex6,
        ok=ok.hex6,
        warn=warn.hex6,
        err=err.hex6,
        added=added[0],
        added_word=added[1],
        added_text=added[2],
        removed=removed[0],
        removed_word=removed[1],
        removed_text=removed[2],
        selection=_mix(page, blue, 0.25).hex6,
        cursor=_mix(page, accent, 0.12).hex6,
        dark=dark,
    )


def has_few_colors(env: Mapping[str, str]) -> bool:
    """Return whether the terminal of *env* has 16 colors at most, by the rules of Rich, or the user
    wants none: shades of ours could not be told apart."""
    term = env.get("TERM", "")
    rich = env.get("COLORTERM", "").lower() in {"truecolor", "24bit"}
    few = bool(term) and not rich and not term.endswith(("256color", "kitty"))
    return few or bool(env.get("NO_COLOR"))


def theme_for(*, dark: bool, few_colors: bool = False) -> str:
    """Return the name of the theme for a terminal with a dark or light background: our own, or
    Textual's with the terminal's 16 colors."""
    if few_colors:
        return ANSI_THEMES[0 if dark else 1]
    return DARK if dark else LIGHT


def contrast(first: str, second: str) -> float:
    """Return the WCAG contrast ratio of two colors (1 to 21)."""
    return _contrast(Color.parse(first), Color.parse(second))


def _contrast(first: Color, second: Color) -> float:
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Color) -> float:
    """Return the relative luminance as WCAG 2.1 defines it."""

    def linear(channel: int) -> float:
        value = channel / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def _mix(first: Color, second: Color, share: float) -> Color:
    return first.blend(second, share)


def _readable(color: Color, ground: Color, towards: Color) -> Color:
    """Return *color*, moved towards another until it can be read on *ground*."""
    for tenth in range(10):
        moved = _mix(color, towards, tenth / 10)
        if _contrast(moved, ground) >= MIN_CONTRAST:
            return moved
    return towards


@lru_cache(512)
def readable(color: str, ground: str, fallback: str) -> str:
    """Return *color* if it can be read on *ground*, else *fallback*."""
    if "#" not in color or "#" not in ground:
        return color
    return color if contrast(color, ground) >= 3 else fallback


MAX_THEME_BYTES = 64 * 1024
"""The largest theme file in bytes."""

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_TONES = tuple(field.name for field in fields(Palette) if field.name != "dark")


def load_themes(folder: Path) -> tuple[list[Theme], list[str]]:
    """Return the user's themes in *folder* by name, and a notice for each invalid file.

    Each file is one object. ``base`` names the theme that it changes (``opencode-py-dark``, the
    default, or ``opencode-py-light``); every other key is a tone of ``Palette`` with its color as
    ``#rrggbb``. The name of the file is the name of the theme.
    """
    themes: list[Theme] = []
    notices: list[str] = []
    for path in sorted(folder.glob("*.json")):
        try:
            themes.append(own_theme(path.stem, _read_palette(path)))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            notices.append(
                f"The theme {sanitize_line(path.name)} was ignored: {sanitize_line(why)}."
            )
    return themes, notices


def _read_palette(path: Path) -> Palette:
    """Return the palette of a theme file. Raises ``ValueError`` that says what is wrong."""
    with path.open("rb") as file:
        data = file.read(MAX_THEME_BYTES + 1)
    if len(data) > MAX_THEME_BYTES:
        raise ValueError("it is larger than 64 KB")
    try:
        read = json.loads(data)
    except ValueError as error:
        raise ValueError(f"it is not valid JSON ({error})") from error
    if type(read) is not dict:
        raise ValueError("it is not an object of colors")
    tones = dict(cast("dict[str, object]", read))
    base = tones.pop("base", DARK)
    if not isinstance(base, str) or base not in OWN_PALETTES:
        raise ValueError(f"its base is not one of {', '.join(OWN_PALETTES)}")
    colors: dict[str, str] = {}
    for key, value in tones.items():
        name = key.replace("-", "_")
        if name not in _TONES:
            raise ValueError(f"there is no tone {key}; the tones are {', '.join(_TONES)}")
        if not isinstance(value, str) or not _HEX.fullmatch(value):
            raise ValueError(f"{key} is not a color such as #rrggbb")
        colors[name] = value.lower()
    return replace(OWN_PALETTES[base], **colors)
