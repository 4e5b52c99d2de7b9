"""The bars above a session: the other active sessions, and the way from a sub-agent to the root."""

import itertools
from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from app.session_state.live import SessionFamily
from app.session_state.live_sessions import GLYPHS, LiveState, State
from app.text.sanitize import sanitize_line
from app.widgets.transcript.lines import cut

TONES: dict[State, str] = {
    "working": "$tone-accent",
    "needs you": "$tone-warn",
    "done": "$tone-ok",
    "failed": "$tone-err",
    "interrupted": "$tone-warn",
}
MAX_TITLE, SHORT_TITLE = 24, 14
"""Cells of a title with enough room, and without."""
MAX_ACTIVITY = 20
"""Cells of an activity."""


def strip_text(states: Sequence[LiveState], width: int, key: str = "", folder: str = "") -> Content:
    """Return one line of *width* cells. Sessions that do not fit are counted; with enough room each
    has its activity, its cost, and its folder if that is not *folder*."""
    right = Content.assemble((key, "bold $tone-muted"), (" next", "$tone-muted")) if key else ""
    room = width - (len(right) + 3 if key else 0)
    items: list[Content] = []
    left = Content("")
    for full, title in itertools.product((True, False), range(MAX_TITLE, SHORT_TITLE - 1, -2)):
        items = [_item(state, folder, title, full=full) for state in states]
        left = _joined(items, 0)
        if left.cell_length <= room:
            break
    else:
        shown = len(items)
        while shown > 1 and left.cell_length > room:
            shown -= 1
            left = _joined(items[:shown], len(items) - shown)
    left = left.truncate(max(1, room), ellipsis=True)
    return left + Content(" " * max(0, width - left.cell_length - len(right))) + right


def _item(state: LiveState, folder: str, title: int, *, full: bool) -> Content:
    facts = [state.state] if state.state != "working" else []
    if full:
        facts += [
            cut(sanitize_line(state.activity), MAX_ACTIVITY) if state.busy else "",
            state.cost,
            state.folder_name if state.session.directory != folder else "",
        ]
    return Content.assemble(
        (f"{GLYPHS[state.state]} ", TONES[state.state]),
        cut(state.title, title),
        *((f"  {fact}", "$tone-muted") for fact in facts if fact),
    )


def _joined(items: Sequence[Content], more: int) -> Content:
    extra = [Content.styled(f"+{more}", "$tone-muted")] if more else []
    return Content("   ").join([*items, *extra])


class LiveStrip(Static):
    """Shows the states of sessions; hidden without any."""

    def __init__(self, *, id: str | None = None) -> None:  # Textual's parameter
        super().__init__("", id=id, markup=False)
        self._shown: tuple[tuple[LiveState, ...], str, str] = ((), "", "")
        self.display = False

    def show(self, states: Sequence[LiveState], key: str, folder: str) -> None:
        """Show *states* with the *key* that opens the next one; *folder* is the open one."""
        shown = tuple(states), key, folder
        if shown != self._shown:
            self._shown = shown
            self.display = bool(states)
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        states, key, folder = self._shown
        if states and self.content_size.width:
            text = strip_text(states, self.content_size.width, key, folder)
            self.update(text, layout=False)


# The row above a sub-agent's session: its parents, and the keys that lead back.

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
