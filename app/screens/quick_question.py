"""A quick question outside the session and its streamed response."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Markdown, Static

from agent.records.errors import OpencodePyError
from app.screens.base.dialog import Dialog
from app.screens.base.fitted import Fitted
from app.screens.base.hints import KeyHints
from app.text.sanitize import sanitize

WAITING = "Asking …"
KEPT = "Neither the question nor the answer becomes part of the session."


class QuickQuestionScreen(Dialog[None]):
    """Reads *answer* while it is open; closing it ends the request."""

    CSS_PATH = "base/page.tcss"
    AUTO_FOCUS = "#page-text"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close"),
        Binding("c,y", "copy", "Copy"),
    ]

    def __init__(
        self, question: str, answer: AsyncGenerator[str, None], copy: Callable[[str], None]
    ) -> None:
        super().__init__(classes="page")
        self._question = question
        self._answer = answer
        self._copy = copy
        self._text = ""

    def compose(self) -> ComposeResult:
        with Fitted(id="page"):
            yield Static(Content.styled(sanitize(self._question), "bold"), id="page-title")
            with VerticalScroll(id="page-text"):
                yield Static(Content.styled(WAITING, "$tone-muted"), id="quick-question-note")
                yield Markdown(open_links=False)
            yield Static(KeyHints(("c", "copy"), ("esc", "close")), id="page-keys")

    def on_mount(self) -> None:
        self._read()

    @work
    async def _read(self) -> None:
        note = self.query_one("#quick-question-note", Static)
        stream = Markdown.get_stream(self.query_one(Markdown))
        try:
            async with aclosing(self._answer):
                async for piece in self._answer:
                    self._text += piece
                    await stream.write(sanitize(piece))
        except OpencodePyError as error:
            note.update(Content.styled(sanitize(error.message), "$tone-warn"))
        else:
            note.update(Content.styled(KEPT, "$tone-muted"))
        finally:
            await stream.stop()

    def action_copy(self) -> None:
        self._copy(self._text.strip())
