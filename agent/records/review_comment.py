"""Comments on lines of a diff."""

from agent.records.frozen import frozen


@frozen
class ReviewComment:
    """A comment on the lines *first* to *last* (from 1) of a file; *removed* ones have the numbers
    of the old side. *quoted* is their text."""

    path: str
    first: int
    last: int
    quoted: tuple[str, ...]
    text: str
    removed: bool = False

    @property
    def place(self) -> str:
        """The location in the usual form: ``src/a.py:3``, or ``src/a.py:3-7 (removed)``."""
        lines = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.path}:{lines}{' (removed)' if self.removed else ''}"
