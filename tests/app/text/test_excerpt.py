"""Excerpts of Markdown as plain text on one line."""

import pytest

from app.text.excerpt import excerpt


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        (
            "## Done\n\nThe **reader** takes `read_rows` now.",
            "Done The reader takes read_rows now.",
        ),
        ("- one\n- two\n  1. three", "one two three"),
        (
            "See [the page](https://example.org) of\nthe_long_name.",
            "See the page of the_long_name.",
        ),
        ("```py\nx  =  1\n```\nand", "x = 1 and"),
        ("> quoted\n\n| a | b |\n| - | - |\n| 1 | 2 |", "quoted a b 1 2"),
        ("", ""),
        ("[door] <b>x</b> 5 * 3 * 2", "[door] x 5 * 3 * 2"),
    ],
)
def test_markup_is_removed(markdown: str, shown: str) -> None:
    assert excerpt(markdown) == shown


def test_the_first_block_with_text() -> None:
    assert excerpt("---\n\n**Looking** at\nit\n\nIt may be `x`.", 1) == "Looking at it"
