"""The code in a diff in the colours of its language, by the name of the file."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from agent.records.blocks import DiffLine, Hunk
from app.text.sanitize import sanitize_line
from app.theme.themes import Palette
from app.widgets.transcript.highlight import MAX_CHARACTERS, Piece, token_lines, token_style
from app.widgets.transcript.word_diff import MarkedLine

_GROUND = {"context": "ground", "add": "added", "remove": "removed"}
_PLAIN = {"context": "muted", "add": "added_text", "remove": "removed_text"}


class DiffCode:
    """Colours the lines of one diff, at most ``LIMIT`` characters of it: a long one is plain
    from there on. Lines are lexed when they are drawn."""

    def __init__(self, path: str, tones: Palette) -> None:
        self._path = path
        self._tones = tones
        self._left = MAX_CHARACTERS

    def hunk(self, hunk: Hunk) -> "HunkCode":
        # What stands before a hunk is not known: a text that began there is taken for code.
        old = [line for line in hunk.lines if line.kind != "add"]
        new = [line for line in hunk.lines if line.kind != "remove"]
        return HunkCode(self._tokens(old), self._tokens(new), self._tones)

    def _tokens(self, lines: Sequence[DiffLine]) -> Iterator[list[Piece]]:
        taken: list[str] = []
        for line in lines:
            if len(line.text) > self._left:
                break
            taken.append(sanitize_line(line.text))
            self._left -= len(line.text) + 1
        found = token_lines("\n".join(taken), path=self._path) if taken else None
        return found if found is not None else iter(())


class HunkCode:
    """The lines of a hunk's two sides. Ask for them in order."""

    def __init__(
        self, old: Iterator[list[Piece]], new: Iterator[list[Piece]], tones: Palette
    ) -> None:
        self._old = old
        self._new = new
        self._tones = tones

    def old(self, marked: MarkedLine) -> Text:
        return self._text(marked, next(self._old, None))

    def new(self, marked: MarkedLine) -> Text:
        return self._text(marked, next(self._new, None))

    def both(self, marked: MarkedLine) -> Text:
        """A line that both sides have."""
        next(self._old, None)
        return self.new(marked)

    def _text(self, marked: MarkedLine, pieces: list[Piece] | None) -> Text:
        tones, kind = self._tones, marked.line.kind
        ground = _GROUND[kind]
        # Without grounds of its own a theme tells what was added by the colour of the text.
        told = kind == "context" or getattr(tones, ground) != tones.ground
        if not told or not pieces or "".join(text for _, text in pieces) != marked.text:
            pieces = [("", marked.text)]
        text = Text(style=tones.style(_PLAIN[kind], ground))
        for token, piece in pieces:
            start, end = len(text), len(text) + len(piece)
            text.append(piece, token_style(token, tones, ground) if token else None)
            for left, right in marked.changed:
                left, right = max(left, start), min(right, end)  # noqa: PLW2901 - cut to the piece
                if left < right:
                    word = f"{ground}_word"
                    style = token_style(token, tones, word) if token else None
                    style = style or tones.style(_PLAIN[kind], word)
                    text.stylize(style, left, right)
                    text.stylize("bold", left, right)
        return text
