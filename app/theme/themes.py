"""Themes and tones: our own default dark and light, and all of Textual's (spec 8, U16).

``Tones`` are the colours that the transcript draws with. Every theme maps onto them, and
each registered theme carries them as CSS variables too: ``$tone-ground``, ``$tone-panel``,
``$tone-muted``, ``$tone-added-word`` and so on, one for each field of ``Tones``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from rich.style import Style
from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

DARK = "opencode-py-dark"
LIGHT = "opencode-py-light"

MIDDLE_LUMINANCE = 0.18
"""The luminance between dark and light pages, as the eye sees it."""

MIN_CONTRAST = 4.5
"""The least contrast of a text tone on the grounds it is used on (WCAG AA)."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours as Rich takes them: ``#rrggbb``, or names where the terminal's own are used.

    *ground* is the page, *panel* a surface on it, *raised* a dialog. Text is *text*,
    *muted* or *faint* (not on raised surfaces); *rule* is for lines. *accent* is an agent
    that speaks or works, *plan* the planning agent, *blue* the user, *ok* done, *warn*
    waits for the user, *err* failed. *cursor* lies under the row of a list that the keys are
    on. The rest is for diffs.
    """

    ground: str
    panel: str
    raised: str
    text: str
    muted: str
    faint: str
    rule: str
    accent: str
    plan: str
    blue: str
    ok: str
    warn: str
    err: str
    added: str
    added_word: str
    added_text: str
    removed: str
    removed_word: str
    removed_text: str
    selection: str
    cursor: str
    dark: bool = True

    def style(self, tone: str = "text", on: str = "ground", attributes: str = "") -> Style:
        """A style by the names of two tones and Rich attributes (``"bold italic"``)."""
        return _style(self, tone, on, attributes)

    def legible_tone(self, tone: str, on: str) -> str:
        """*tone*, or a stronger one where it cannot be read on the ground *on*."""
        return _legible(self, tone, on)


@lru_cache(1024)
def _style(tones: Palette, tone: str, on: str, attributes: str) -> Style:
    return Style.parse(f"{attributes} {getattr(tones, tone)} on {getattr(tones, on)}")


@lru_cache(1024)
def _legible(tones: Palette, tone: str, on: str) -> str:
    ground = getattr(tones, on)
    for name in (tone, "muted"):
        color = getattr(tones, name)
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

# The terminal decides what these names look like; no ground of our own is laid under text.
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


def _css(color: str) -> str:
    return color if color.startswith("#") else f"ansi_{color}"


OWN_PALETTES = {DARK: DARK_PALETTE, LIGHT: LIGHT_PALETTE}


def own_theme(name: str, tones: Palette) -> Theme:
    """A theme that is all of *tones*."""
    theme = Theme(
        name=name,
        primary=tones.accent,
        secondary=tones.blue,
        warning=tones.warn,
        error=tones.err,
        success=tones.ok,
        accent=tones.accent,
        foreground=tones.text,
        background=tones.ground,
        surface=tones.panel,
        panel=tones.raised,
        boost=tones.raised,
        dark=tones.dark,
        variables={
            "border": tones.accent,
            "border-blurred": tones.rule,
            "footer-key-foreground": tones.accent,
            "input-cursor-background": tones.muted,
            "input-cursor-foreground": tones.ground,
            "input-selection-background": tones.selection,
            "screen-selection-background": tones.selection,
            "scrollbar": tones.rule,
            "scrollbar-hover": tones.faint,
            "scrollbar-active": tones.faint,
            "scrollbar-background": tones.ground,
            "scrollbar-background-hover": tones.ground,
            "scrollbar-background-active": tones.ground,
            "scrollbar-corner-color": tones.ground,
        },
    )
    return _carrying(theme, tones)


def with_palette(theme: Theme) -> Theme:
    """*theme* with a ``$tone-…`` CSS variable for each tone."""
    return _carrying(theme, palette_of(theme))


def _carrying(theme: Theme, tones: Palette) -> Theme:
    variables = {
        f"tone-{field.name.replace('_', '-')}": _css(getattr(tones, field.name))
        for field in fields(tones)
        if field.name != "dark"
    }
    return replace(theme, variables={**theme.variables, **_cursors(tones), **variables})


def _cursors(tones: Palette) -> dict[str, str]:
    """What lies under the row of a list that the keys are on, and the words of an empty line to
    type in: Textual's own are too weak for text in our tones. The list looks the same while the
    keys go to the line above it. Without colours of ours the row is underlined."""
    style = "bold" if "#" in tones.cursor else "bold underline"
    return {
        f"block-cursor{state}-{what}": value
        for state in ("", "-blurred")
        for what, value in (
            ("background", _css(tones.cursor)),
            ("foreground", _css(tones.text)),
            ("text-style", style),
        )
    } | {"text-disabled": _css(tones.muted)}


OWN_THEMES: dict[str, Theme] = {
    name: own_theme(name, tones) for name, tones in OWN_PALETTES.items()
}


def register(app: App[object], *, dark: bool = True) -> None:
    """Register our themes and choose the default one."""
    for theme in OWN_THEMES.values():
        app.register_theme(theme)
    app.theme = DARK if dark else LIGHT


def register_textual_themes(app: App[object]) -> None:
    """Give Textual's themes their tones. Apart, since the first frame is in one of ours and
    these take as long as its layout."""
    for theme in BUILTIN_THEMES.values():
        app.register_theme(with_palette(theme))


def register_themes(app: App[object], themes: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Register further *themes*: colours by role. Sentences on those that cannot be used."""
    left: list[str] = []
    for name, colours in themes.items():
        try:
            dark = _luminance(Color.parse(colours.get("background", "#000000"))) < MIDDLE_LUMINANCE
            theme = Theme(name=name, dark=dark, **colours)  # pyright: ignore[reportArgumentType] - roles are text
            app.register_theme(with_palette(theme))
        except (ColorParseError, TypeError) as error:
            left.append(f"The theme {name} is left out: {error}.")
    return left


def palette_of(theme: Theme) -> Palette:
    """The tones of any theme: our own as they are, others from their main colours.

    Where a theme's colour is too weak for text on its page it is moved towards the text
    colour until the contrast is at least ``CONTRAST``.
    """
    if theme.name in OWN_PALETTES:
        return OWN_PALETTES[theme.name]
    if theme.ansi:
        return replace(_ANSI_PALETTE, dark=theme.dark)
    if "tone-ground" in theme.variables:
        return _carried(theme)
    return _derived(
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


def _carried(theme: Theme) -> Palette:
    """The tones that a theme has as its variables."""
    names = [field.name for field in fields(Palette) if field.name != "dark"]
    held = {name: theme.variables[f"tone-{name.replace('_', '-')}"] for name in names}
    return Palette(**held, dark=theme.dark)


@lru_cache(64)
def _derived(ground: str, text: str, colors: tuple[str, str, str, str, str], dark: bool) -> Palette:
    base = Color.parse(ground).rgb
    page = Color(*base)
    ink = _readable(Color.parse(text), page, Color(255, 255, 255) if dark else Color(0, 0, 0))
    accent, warn, blue, ok, err = (
        _readable(Color.parse(color), _mix(page, ink, 0.12), ink) for color in colors
    )

    def pair(color: Color) -> tuple[str, str, str]:
        surface, word = _mix(page, color, 0.12), _mix(page, color, 0.22)
        return surface.hex6, word.hex6, _readable(_mix(ink, color, 0.4), word, ink).hex6

    added, removed = pair(ok), pair(err)
    return Palette(
        ground=page.hex6,
        panel=_mix(page, ink, 0.04).hex6,
        raised=_mix(page, ink, 0.09).hex6,
        text=ink.hex6,
        muted=_readable(_mix(page, ink, 0.68), _mix(page, ink, 0.09), ink).hex6,
        faint=_readable(_mix(page, ink, 0.5), _mix(page, ink, 0.04), ink).hex6,
        rule=_mix(page, ink, 0.18).hex6,
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


def own_theme_for(*, dark: bool) -> str:
    """Our own theme for a terminal with such a background."""
    return DARK if dark else LIGHT


def contrast(first: str, second: str) -> float:
    """The WCAG contrast ratio of two colours (1 to 21)."""
    return _contrast(Color.parse(first), Color.parse(second))


def _contrast(first: Color, second: Color) -> float:
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Color) -> float:
    """Relative luminance as WCAG 2.1 defines it."""

    def linear(channel: int) -> float:
        value = channel / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def _mix(first: Color, second: Color, share: float) -> Color:
    return first.blend(second, share)


def _readable(color: Color, ground: Color, towards: Color) -> Color:
    """*color*, moved towards another until it can be read on *ground*."""
    for tenth in range(10):
        moved = _mix(color, towards, tenth / 10)
        if _contrast(moved, ground) >= MIN_CONTRAST:
            return moved
    return towards


@lru_cache(512)
def readable(color: str, ground: str, fallback: str) -> str:
    """*color* if it can be read on *ground*, else *fallback* (colours chosen by a program)."""
    if "#" not in color or "#" not in ground:
        return color
    return color if contrast(color, ground) >= 3 else fallback
