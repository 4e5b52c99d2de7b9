"""Themes of the user's own: ``themes/*.json`` beside the settings (spec 8, U16).

A file is one object. ``base`` names the theme that it changes (``opencode-py-dark`` or
``opencode-py-light``, the dark one if it says none); every other key is a tone of
``app.theme.themes.Tones`` with its colour as ``#rrggbb``. The file's name is the theme's.
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
"""Bytes above which a file is no theme."""

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_NAMES = tuple(field.name for field in fields(Palette) if field.name != "dark")


def load_themes(folder: Path) -> tuple[list[Theme], list[str]]:
    """The themes in *folder*, by name, and a sentence for each file that is none."""
    themes: list[Theme] = []
    faults: list[str] = []
    for path in sorted(folder.glob("*.json")):
        try:
            themes.append(own_theme(path.stem, _tones(path)))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            faults.append(
                f"The theme {sanitize_line(path.name)} was left out: {sanitize_line(why)}."
            )
    return themes, faults


def _tones(path: Path) -> Palette:
    """Raises ``ValueError`` with what is wrong."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError("it is larger than 64 KB")
    try:
        read = json.loads(data)
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from error
    if not isinstance(read, dict):
        raise ValueError("it is not an object of colours")  # noqa: TRY004 - a fault of the file
    given = dict(cast("dict[str, object]", read))
    base = given.pop("base", DARK)
    if not isinstance(base, str) or base not in OWN_PALETTES:
        raise ValueError(f"its base is none of {', '.join(OWN_PALETTES)}")
    colors: dict[str, str] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in _NAMES:
            raise ValueError(f"there is no tone {key}; there are {', '.join(_NAMES)}")
        if not isinstance(value, str) or not _HEX.fullmatch(value):
            raise ValueError(f"{key} is not a colour as #rrggbb")
        colors[name] = value.lower()
    return replace(OWN_PALETTES[base], **colors)
