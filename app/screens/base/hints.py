"""The key hints of a dialog: keys and what they do, in as many lines as they need."""

from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual


class KeyHints(Visual):
    """Key hints, laid out for the width: a line break is never within a hint.

    *note* is shown before them, *selected* is a key that is shown as chosen. Where they need more
    than *most_lines*, the least important are dropped: those before the last, which closes.
    """

    def __init__(
        self,
        *pairs: tuple[str, str],
        note: str | Content = "",
        selected: str = "",
        gap: int = 3,
        most_lines: int | None = None,
    ) -> None:
        self._gap = Content(" " * gap)
        self._most_lines = most_lines
        first = note if isinstance(note, Content) else Content.styled(note, "$tone-warn")
        self._pieces: list[Content] = [first] if note else []
        self._pieces += [
            Content.styled(f"{key} {what}", "bold reverse")
            if key == selected
            else Content.assemble((key, "bold"), (f" {what}", "$tone-muted"))
            for key, what in pairs
        ]

    def lines(self, width: int) -> Content:
        """Return the hints in lines of *width* cells."""
        pieces = self._pieces
        rows = self._rows(pieces, width)
        while self._most_lines is not None and len(rows) > self._most_lines and len(pieces) > 1:
            pieces = pieces[:-2] + pieces[-1:]
            rows = self._rows(pieces, width)
        return Content("\n").join(rows)

    def _rows(self, pieces: list[Content], width: int) -> list[Content]:
        rows: list[Content] = []
        for piece in pieces:
            longer = rows[-1] + self._gap + piece if rows else piece
            if rows and longer.cell_length <= width:
                rows[-1] = longer
            else:
                rows.append(piece)
        return rows

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
