"""Pictures of the screen count wide characters as two cells, as terminals do."""

import re

from tests.support.snapshots import FOLDER, SIZES, normalized

SVG = (
    '<text class="a" x="244" y="117.6" textLength="85.4" clip-path="url(#l)">'
    "a&#160;表の&lt;b</text>"
)
PART = re.compile(r'x="([\d.]+)" y="117.6" textLength="([\d.]+)"[^>]*>([^<]*)<')


def test_wide_characters_have_two_cells_each() -> None:
    found = PART.findall(normalized(SVG))
    assert found == [
        ("244", "24.4", "a&#160;"),
        ("268.4", "48.8", "表の"),
        ("317.2", "24.4", "&lt;b"),
    ]


def test_other_text_is_left_alone() -> None:
    plain = SVG.replace("表の", "xy")
    assert normalized(plain) == plain + "\n"


def test_each_screen_has_a_picture_at_both_sizes_in_dark_and_in_light() -> None:
    names = {path.stem for path in FOLDER.glob("*.svg")}
    columns = [size[0] for size in SIZES]
    shown = [
        name.rpartition("-") for name in names if name.startswith(("screen-", "dialog-", "live-"))
    ]
    screens = {name.removesuffix("-light") for name, _, width in shown if width in {"80", "140"}}
    assert screens
    wanted = {f"{name}{light}-{n}" for name in screens for light in ("", "-light") for n in columns}
    assert not wanted - names
