"""Lists of prompts: those queued for the running turn, and those sent before."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from agent.records.amounts import count
from agent.records.frozen import frozen
from agent.records.messages import Delivery, Idle, SessionStatus
from app.screens.base.picker import Picker, Row
from app.session_state.session_facts import delivery_time
from app.terminal.tasks import Tasks

DELIVERY_HINT = (("tab", "send now or later"),)


@frozen
class QueuedMessage:
    """One message in the queue."""

    id: str
    text: str
    delivery: Delivery
    """When it is sent."""


def queue_row(message: QueuedMessage, status: SessionStatus) -> Row:
    first = next((line.strip() for line in message.text.splitlines() if line.strip()), "")
    return Row(key=message.id, title=first, note=delivery_time(status, message.delivery))


class QueueScreen(Picker):
    """Returns the id of the message to edit.

    *status* is the session's: without a turn there is no choice of when a message is sent. *drop*
    removes a message and *deliver* changes when it is sent; both return False if it was sent
    meanwhile.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "drop", "Remove", priority=True),
        Binding("tab", "change", "When to send", priority=True),
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
            "Queued messages",
            [queue_row(message, status) for message in messages],
            hints=(*(() if isinstance(status, Idle) else DELIVERY_HINT), ("ctrl+d", "remove")),
            enter="edit",
            empty="No queued messages",
        )
        self._messages = {message.id: message for message in messages}
        self._status = status
        self._tasks = tasks
        self._drop = drop
        self._deliver = deliver

    def action_drop(self) -> None:
        row = self.highlighted_row()
        if row is not None:
            self._tasks.spawn(self._drop_message(row.key), "dropping a message")

    def action_change(self) -> None:
        row = self.highlighted_row()
        if row is not None and not isinstance(self._status, Idle):
            self._tasks.spawn(self._change_delivery(row.key), "changing when a message goes")

    async def _drop_message(self, key: str) -> None:
        await self._drop(key)
        self._messages.pop(key, None)
        self._refresh_rows()

    async def _change_delivery(self, key: str) -> None:
        message = self._messages.get(key)
        if message is None:
            return
        other: Delivery = "follow_up" if message.delivery == "steer" else "steer"
        if await self._deliver(key, other):
            self._messages[key] = QueuedMessage(message.id, message.text, other)
        else:
            self._messages.pop(key, None)
        self._refresh_rows()

    def _refresh_rows(self) -> None:
        self.set_rows([queue_row(message, self._status) for message in self._messages.values()])


class PromptsScreen(Picker):
    """Returns the index, as text, of the chosen prompt in *prompts* (newest first)."""

    def __init__(self, prompts: Sequence[str]) -> None:
        super().__init__(
            "Earlier prompts",
            [prompt_row(index, text) for index, text in enumerate(prompts)],
            enter="insert",
            empty="No matching prompts" if prompts else "No earlier prompts yet",
        )


def prompt_row(index: int, text: str) -> Row:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    more = f"+{count(len(lines) - 1, 'line')}" if len(lines) > 1 else ""
    return Row(key=str(index), title=lines[0] if lines else "", note=more, hidden=text)
