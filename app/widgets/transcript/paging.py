"""The history of a long session, a page at a time (spec 2, C7; spec 8, U4)."""

import asyncio
from collections.abc import Callable, Sequence

from agent.records.events import Event
from app.session.live import LiveSession
from app.session.view import Change, SessionView
from app.widgets.transcript.transcript import Transcript

PAGE_SIZE = 400
"""Messages that are read at once."""


class HistoryPager:
    """Reads what comes before the messages that are held. *changed* is told as of events."""

    def __init__(
        self, live: LiveSession, changed: Callable[[Change, Sequence[Event]], None]
    ) -> None:
        self._live = live
        self._changed = changed
        self._reading = asyncio.Lock()

    async def read(self) -> None:
        """Take in the page before what is held; nothing while one is read already."""
        view = self._live.view
        if view is not None and view.older and not self._reading.locked():
            await self._page(view)

    async def go_to(self, transcript: Transcript, message_id: str) -> None:
        """Show a message of the open session, reading pages until it is there."""
        view = self._live.view
        while (
            view is not None
            and view is self._live.view
            and view.older
            and message_id < view.message_ids[0]
        ):
            await self._page(view)
        if view is not None and view is self._live.view:
            transcript.go_to(message_id)

    async def _page(self, view: SessionView) -> None:
        async with self._reading:
            if view is not self._live.view or not view.older:
                return
            first = view.message_ids[0]
            page = await self._live.runtime.store.page(
                view.session_id, before=first, limit=PAGE_SIZE
            )
            if self._live.view is view:
                self._changed(view.prepend(page.messages, page.older), ())
