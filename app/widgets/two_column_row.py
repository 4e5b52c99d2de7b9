"""A row of a list with something at its right edge, laid out for the width that there is."""

from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

MIN_LEFT = 10
"""Cells that the left side keeps at least."""


class TwoColumnRow(Visual):
    """*left*, and *right* at the other end of the line. What does not fit of *left* is cut;
    *right* goes only where it would leave less than ``KEPT`` cells."""

    def __init__(self, left: Content, right: Content) -> None:
        self.left = left
        self.right = right

    def line(self, width: int) -> Content:
        """The row in *width* cells."""
        wide = self.right.cell_length
        if not wide or width - wide - 2 < min(MIN_LEFT, self.left.cell_length):
            return self.left.truncate(max(1, width), ellipsis=True)
        left = self.left.truncate(width - wide - 2, ellipsis=True)
        return left + Content(" " * (width - wide - left.cell_length)) + self.right

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        return self.line(width).render_strips(width, height, style, options)

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        del rules, container_width
        return self.left.cell_length + (self.right.cell_length and self.right.cell_length + 2)

    def get_height(self, rules: RulesMap, width: int) -> int:
        del rules, width
        return 1
