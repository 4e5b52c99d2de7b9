"""The row with the live sessions that are not open: their state, and the key that leads there."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from app.session.live_sessions import GLYPHS, LiveState, State
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
    for title, full in ((MAX_TITLE, True), (SHORT_TITLE, True), (SHORT_TITLE, False)):
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
