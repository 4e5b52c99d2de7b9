"""The messages that wait for the turn that runs: edit, drop, say when they go (spec 8, U10)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType

from agent.records.messages import Delivery, Idle, SessionStatus
from app.screens.base.picker import Picker, Row
from app.session.queue_text import delivery_time
from app.toolkit.tasks import Tasks

CHANGES = (("tab", "change when"),)


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """One message that waits: its id, its text, when it is to be taken up."""

    id: str
    text: str
    delivery: Delivery


def queue_row(one: QueuedMessage, status: SessionStatus) -> Row:
    first = next((line.strip() for line in one.text.splitlines() if line.strip()), "")
    return Row(key=one.id, title=first, note=delivery_time(status, one.delivery))


class QueueScreen(Picker):
    """Gives back the id of the message to edit. *status* is that of the session: without a
    turn there is nothing to choose of when a message goes. *drop* removes one, *deliver* says
    when one is to be taken up; both are false for a message that was taken up meanwhile."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "drop", "Drop", priority=True),
        Binding("tab", "change", "When", priority=True),
    ]

    def __init__(
        self,
        messages: Sequence[QueuedMessage],
        *,
        status: SessionStatus,
        tasks: Tasks,
        drop: Callable[[str], Awaitable[bool]],
        deliver: Callable[[str, Delivery], Awaitable[bool]],
    ) -> None:
        super().__init__(
            "Messages that wait",
            [queue_row(one, status) for one in messages],
            hints=(*(() if isinstance(status, Idle) else CHANGES), ("ctrl+d", "drop")),
            empty="No message waits",
        )
        self._messages = {one.id: one for one in messages}
        self._status = status
        self._tasks = tasks
        self._drop = drop
        self._deliver = deliver

    def action_drop(self) -> None:
        row = self.highlighted_row()
        if row is not None:
            self._tasks.spawn(self._dropped(row.key), "dropping a message")

    def action_change(self) -> None:
        row = self.highlighted_row()
        if row is not None and not isinstance(self._status, Idle):
            self._tasks.spawn(self._changed(row.key), "changing when a message goes")

    async def _dropped(self, key: str) -> None:
        await self._drop(key)
        self._messages.pop(key, None)
        self._list()

    async def _changed(self, key: str) -> None:
        one = self._messages.get(key)
        if one is None:
            return
        other: Delivery = "follow_up" if one.delivery == "steer" else "steer"
        if await self._deliver(key, other):
            self._messages[key] = QueuedMessage(one.id, one.text, other)
        else:
            self._messages.pop(key, None)
        self._list()

    def _list(self) -> None:
        self.set_rows([queue_row(one, self._status) for one in self._messages.values()])
