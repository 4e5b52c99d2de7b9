"""Loading of the earlier messages of a long session, a page at a time."""

import asyncio
from collections.abc import Callable, Sequence

from agent.records.events import Event
from app.session_state.live import LiveSession
from app.session_state.view import Change, SessionView
from app.widgets.transcript.transcript import Transcript

PAGE_SIZE = 400
"""Messages that are read at once."""


class HistoryPager:
    """Reads the messages before the loaded ones. *changed* is called as for events."""

    def __init__(
        self, live: LiveSession, changed: Callable[[Change, Sequence[Event]], None]
    ) -> None:
        self._live = live
        self._changed = changed
        self._reading = asyncio.Lock()

    async def read(self) -> None:
        """Load the page before the loaded messages, unless one is being loaded."""
        view = self._live.view
        if view is not None and view.older and not self._reading.locked():
            await self._load_page(view)

    async def go_to(self, transcript: Transcript, message_id: str) -> None:
        """Show a message of the open session, loading pages until it is there."""
        view = self._live.view
        while view is not None and view is self._live.view and view.is_unloaded(message_id):
            await self._load_page(view)
        if view is not None and view is self._live.view:
            transcript.go_to(message_id)

    async def _load_page(self, view: SessionView) -> None:
        async with self._reading:
            if view is not self._live.view or not view.older:
                return
            first = view.message_ids[0]
            page = await self._live.runtime.store.page(
                view.session_id, before=first, limit=PAGE_SIZE
            )
            if self._live.view is view:
                self._changed(view.prepend(page.messages, page.older), ())
