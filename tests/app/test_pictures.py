"""Pictures of the screen count wide characters as two cells, as terminals do."""

import re

from tests.support.snapshots import normalized

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
