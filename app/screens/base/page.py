"""A page of text that scrolls and that any of the usual keys closes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static

from app.screens.base.dialog import Dialog
from app.screens.base.fitted import Fitted
from app.screens.base.hints import KeyHints


class PageScreen(Dialog[None]):
    """Shows *text* (already sanitized) under *title*.

    Text whose layout depends on the width is passed as a function of the width in cells. *hints*
    are further keys with their descriptions, *close* is what closing it does.
    """

    CSS_PATH = str(Path(__file__).with_name("page.tcss"))
    AUTO_FOCUS = "#page-text"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Close")]

    def __init__(
        self,
        title: str,
        text: Content | Callable[[int], Content],
        *,
        hints: Sequence[tuple[str, str]] = (),
        close: str = "close",
    ) -> None:
        super().__init__()
        self._hints = (*hints, ("esc", close))
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with Fitted(id="page"):
            yield Static(Content.styled(self._title, "bold"), id="page-title")
            with VerticalScroll(id="page-text"):
                yield (
                    Static(self._text) if isinstance(self._text, Content) else FluidText(self._text)
                )
            yield Static(KeyHints(*self._hints), id="page-keys")


class FluidText(Widget):
    """Text that is laid out again for each width."""

    DEFAULT_CSS = "FluidText { height: auto; }"

    def __init__(
        self,
        lay_out: Callable[[int], Content],
        *,
        id: str | None = None,  # Textual's parameter
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._lay_out = lay_out

    def show(self, lay_out: Callable[[int], Content]) -> None:
        self._lay_out = lay_out
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._lay_out(width).plain.count("\n") + 1

    def render(self) -> Content:
        return self._lay_out(max(1, self.content_size.width))
