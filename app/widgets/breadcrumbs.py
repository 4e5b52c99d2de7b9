"""The row above a sub-agent's session: its parents, and the keys that lead back."""

from textual.content import Content
from textual.widgets import Static

from app.session.live import SessionFamily
from app.text.sanitize import sanitize_line

BACK, AROUND = "ctrl+x ↑", "ctrl+x ↑←→"
MIN_NAMES = 24
"""Cells for the names below which the keys are left out."""


def breadcrumbs_text(family: SessionFamily, width: int) -> Content:
    """Return one line of *width* cells: the parents' names and this one's; at the right its
    position among its siblings, and the keys. Names are cut from the left."""
    names = [sanitize_line(one.title) or "Untitled" for one in (*family.ancestors, family.session)]
    several = len(family.siblings) > 1
    place = f"{family.position} of {len(family.siblings)}" if several else ""
    keys = AROUND if several else BACK
    for right in (f"{place}   {keys}".strip(), place, ""):
        names_width = width - len(right) - 2 if right else width
        if names_width >= MIN_NAMES or not right:
            break
    last = Content.assemble((sanitize_line(family.session.agent), "bold"), f"  {names.pop()}")
    trail = Content.styled("".join(f"{name} › " for name in names), "$tone-muted")
    if trail.cell_length + last.cell_length > names_width:
        trail = Content.styled("… › " if names else "", "$tone-muted")
    left = (trail + last).truncate(max(1, names_width), ellipsis=True)
    gap = Content(" " * max(0, width - left.cell_length - len(right)))
    return left + gap + Content.styled(right, "$tone-muted")


class Breadcrumbs(Static):
    """Shows a ``SessionFamily``; hidden without one."""

    def __init__(self, *, id: str | None = None) -> None:  # Textual's parameter
        super().__init__("", id=id, markup=False)
        self._family: SessionFamily | None = None
        self.display = False

    def show(self, family: SessionFamily | None) -> None:
        self._family = family
        self.display = family is not None
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if self._family is not None and self.content_size.width:
            self.update(breadcrumbs_text(self._family, self.content_size.width), layout=False)
