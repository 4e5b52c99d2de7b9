"""The history of a long session, a page at a time (spec 2, C7; spec 8, U4)."""

from collections.abc import Callable, Sequence

from agent.events import Event
from app.live import LiveSession
from app.state import Change, SessionView

PAGE = 400
"""Messages that are read at once."""


class Paging:
    """Reads what comes before the messages that are held. *changed* is told as of events."""

    def __init__(
        self, live: LiveSession, changed: Callable[[Change, Sequence[Event]], None]
    ) -> None:
        self._live = live
        self._changed = changed
        self._reading: SessionView | None = None

    async def read(self) -> None:
        """Take in the page before what is held; nothing while one is read already."""
        view = self._live.view
        if view is None or not view.older or self._reading is view:
            return
        self._reading = view
        try:
            first = view.message_ids[0]
            page = await self._live.runtime.store.page(view.session_id, before=first, limit=PAGE)
            if self._live.view is view:
                self._changed(view.prepend(page.messages, page.older), ())
        finally:
            if self._reading is view:
                self._reading = None
