"""The list of sessions, by day: type to filter, Enter resumes (spec 8, U11)."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from agent.model import Session
from app.screens.confirm import ConfirmScreen
from app.screens.picker import Picker, Row
from app.screens.text import TextScreen
from app.tasks import Tasks, ask
from app.typed import app_of
from app.words import clock, count, day, money


def session_row(session: Session, now: float) -> Row:
    """How a session is listed at the time *now* (seconds since the epoch)."""
    facts = [clock(session.updated), count(session.turns, "turn")]
    if session.cost is not None:
        facts.append(money(session.cost))
    return Row(
        key=session.id,
        title=session.title or "Untitled",
        note="  ".join(facts),
        group=day(session.updated, now),
    )


class SessionsScreen(Picker):
    """Gives back the id of the chosen session. Deletes and renames in place through the
    given coroutines; *sessions* are newest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "delete", "Delete", priority=True),
        Binding("ctrl+r", "rename", "Rename", priority=True),
    ]

    def __init__(
        self,
        sessions: Sequence[Session],
        *,
        current: str | None,
        tasks: Tasks,
        delete: Callable[[str], Awaitable[None]],
        rename: Callable[[str, str], Awaitable[object]],
        now: float | None = None,
    ) -> None:
        when = time.time() if now is None else now
        super().__init__(
            "Sessions of this folder",
            [session_row(session, when) for session in sessions],
            current=current,
            hints=(("ctrl+r", "rename"), ("ctrl+d", "delete")),
            empty="No session fits",
        )
        self._tasks = tasks
        self._delete = delete
        self._rename = rename

    def action_delete(self) -> None:
        row = self.highlighted()
        if row is not None:
            self._tasks.spawn(self._confirm_delete(row), "deleting a session")

    def action_rename(self) -> None:
        row = self.highlighted()
        if row is not None:
            self._tasks.spawn(self._ask_name(row), "renaming a session")

    async def _confirm_delete(self, row: Row) -> None:
        question = ConfirmScreen(f"Delete “{row.title}”?", "It is removed for good.")
        if await ask(app_of(self), question):
            await self._delete(row.key)
            self.set_rows([other for other in self.rows if other.key != row.key])

    async def _ask_name(self, row: Row) -> None:
        title = await ask(app_of(self), TextScreen("Name this session", row.title))
        if title is not None:
            await self._rename(row.key, title)
            self.set_rows([replace(o, title=title) if o.key == row.key else o for o in self.rows])
