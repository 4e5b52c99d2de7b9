"""The row above a sub-agent's session: where it belongs, and how to get back (spec 8, U12)."""

from textual.content import Content
from textual.widgets import Static

from app.session.family import SessionFamily
from app.text.sanitize import sanitize_line

BACK, AROUND = "ctrl+x ↑", "ctrl+x ↑←→"
MIN_NAMES = 24
"""Cells for the names, below which the keys are left out."""


def breadcrumbs_text(kin: SessionFamily, width: int) -> Content:
    """One line of *width* cells: the names of what is above, then this one; on the right its
    place among its siblings and the keys. The names give way from the left."""
    names = [sanitize_line(one.title) or "Untitled" for one in (*kin.ancestors, kin.session)]
    several = len(kin.siblings) > 1
    place = f"{kin.position} of {len(kin.siblings)}" if several else ""
    keys = AROUND if several else BACK
    for right in (f"{place}   {keys}".strip(), place, ""):
        room = width - len(right) - 2 if right else width
        if room >= MIN_NAMES or not right:
            break
    last = Content.assemble((sanitize_line(kin.session.agent), "bold"), f"  {names.pop()}")
    trail = Content.styled("".join(f"{name} › " for name in names), "$tone-muted")
    if trail.cell_length + last.cell_length > room:
        trail = Content.styled("… › " if names else "", "$tone-muted")
    left = (trail + last).truncate(max(1, room), ellipsis=True)
    gap = Content(" " * max(0, width - left.cell_length - len(right)))
    return left + gap + Content.styled(right, "$tone-muted")


class Breadcrumbs(Static):
    """Shows a ``Kin``; takes no room while there is none."""

    def __init__(self, *, id: str | None = None) -> None:  # Textual's name
        super().__init__("", id=id, markup=False)
        self._kin: SessionFamily | None = None
        self.display = False

    def show(self, kin: SessionFamily | None) -> None:
        self._kin = kin
        self.display = kin is not None
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if self._kin is not None and self.content_size.width:
            self.update(breadcrumbs_text(self._kin, self.content_size.width), layout=False)
