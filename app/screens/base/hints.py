"""The key hints of a dialog: keys and what they do, in as many lines as they need."""

from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual


class KeyHints(Visual):
    """Key hints, laid out for the width: a line break is never within a hint.

    *note* is shown before them, *selected* is a key that is shown as chosen.
    """

    def __init__(
        self, *pairs: tuple[str, str], note: str = "", selected: str = "", gap: int = 3
    ) -> None:
        self._gap = Content(" " * gap)
        self._pieces = [Content.styled(note, "$tone-warn")] if note else []
        self._pieces += [
            Content.styled(f"{key} {what}", "bold reverse")
            if key == selected
            else Content.assemble((key, "bold"), (f" {what}", "$tone-muted"))
            for key, what in pairs
        ]

    def lines(self, width: int) -> Content:
        """Return the hints in lines of *width* cells."""
        rows: list[Content] = []
        for piece in self._pieces:
            longer = rows[-1] + self._gap + piece if rows else piece
            if rows and longer.cell_length <= width:
                rows[-1] = longer
            else:
                rows.append(piece)
        return Content("\n").join(rows)

    @property
    def cell_length(self) -> int:
        """The width of all hints in one line."""
        return self._gap.join(self._pieces).cell_length

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        return self.lines(width).render_strips(width, height, style, options)

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return self.cell_length

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self.lines(width).plain.count("\n") + 1
