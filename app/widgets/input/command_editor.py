"""The editor of a command in the permission dialog."""

from dataclasses import dataclass

from textual import events
from textual.message import Message

from app.widgets.input.textarea import TextArea

NEW_LINE = {"shift+enter", "alt+enter", "ctrl+j"}


class CommandEditor(TextArea):
    """Enter is done, shift+enter or ctrl+j inserts a line break, Esc discards the changes."""

    DEFAULT_CSS = """
    CommandEditor {
        height: auto;
        max-height: 50%;
        margin-bottom: 1;
        padding: 1 2;
        border: none;
        background: $tone-ground;
    }
    """

    @dataclass
    class Done(Message):
        """Editing ended; *command* is None if the changes were discarded."""

        command: str | None

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", soft_wrap=True, show_line_numbers=False, id=id)

    def begin(self, command: str) -> None:
        self.load_text(command)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            self.post_message(self.Done(self.text))
        elif event.key == "escape":
            self.post_message(self.Done(None))
        elif event.key in NEW_LINE:
            self.insert("\n")
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
