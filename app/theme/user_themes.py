"""The user's own themes: ``themes/*.json`` next to the settings.

Each file is one object. ``base`` names the theme that it changes (``opencode-py-dark``, the
default, or ``opencode-py-light``); every other key is a tone of ``app.theme.themes.Palette`` with
its color as ``#rrggbb``. The name of the file is the name of the theme.
"""

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import cast

from textual.theme import Theme

from app.text.sanitize import sanitize_line
from app.theme.themes import DARK, OWN_PALETTES, Palette, own_theme

MAX_BYTES = 64 * 1024
"""The largest theme file in bytes."""

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_NAMES = tuple(field.name for field in fields(Palette) if field.name != "dark")


def load_themes(folder: Path) -> tuple[list[Theme], list[str]]:
    """Return the themes in *folder* by name, and a notice for each invalid file."""
    themes: list[Theme] = []
    notices: list[str] = []
    for path in sorted(folder.glob("*.json")):
        try:
            themes.append(own_theme(path.stem, _read_palette(path)))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            notices.append(
                f"The theme {sanitize_line(path.name)} was left out: {sanitize_line(why)}."
            )
    return themes, notices


def _read_palette(path: Path) -> Palette:
    """Return the palette of a theme file. Raises ``ValueError`` that says what is wrong."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError("it is larger than 64 KB")
    try:
        read = json.loads(data)
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from error
    if type(read) is not dict:
        raise ValueError("it is not an object of colours")
    tones = dict(cast("dict[str, object]", read))
    base = tones.pop("base", DARK)
    if not isinstance(base, str) or base not in OWN_PALETTES:
        raise ValueError(f"its base is none of {', '.join(OWN_PALETTES)}")
    colors: dict[str, str] = {}
    for key, value in tones.items():
        name = key.replace("-", "_")
        if name not in _NAMES:
            raise ValueError(f"there is no tone {key}; there are {', '.join(_NAMES)}")
        if not isinstance(value, str) or not _HEX.fullmatch(value):
            raise ValueError(f"{key} is not a colour as #rrggbb")
        colors[name] = value.lower()
    return replace(OWN_PALETTES[base], **colors)
