"""The list of sub-agents."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from app.screens.base.picker import Picker, Row


class SubagentsScreen(Picker):
    """Returns the id of the session to open. *stop* ends the work in one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+d", "stop", "Stop", priority=True)]

    def __init__(
        self, rows: Sequence[Row], *, current: str | None, stop: Callable[[str], object]
    ) -> None:
        super().__init__(
            "Sub-agents", rows, current=current, enter="open", hints=(("ctrl+d", "stop"),)
        )
        self._stop = stop

    def action_stop(self) -> None:
        row = self.highlighted_row()
        if row is not None:
            self._stop(row.key)
