"""A login with a code that the user enters in a browser."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from app.screens.base.page import PageScreen
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # loads httpx2
    from agent.provider.device_login import LoginCode

WAITING = "Waiting for the login…"


class CodeLoginScreen(PageScreen):
    """Shows a code and the page that takes it, for the provider *title*; closing it gives up.

    *open_page* and *copy* do so, *paste* is called if the user has a token and wants no login.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open_page", "Open the page"),
        Binding("c", "copy", "Copy the code"),
        Binding("t", "paste", "Paste a token"),
    ]

    def __init__(
        self,
        title: str,
        *,
        open_page: Callable[[str], Awaitable[bool]],
        copy: Callable[[str], object],
        paste: Callable[[], object],
    ) -> None:
        super().__init__(
            f"Log in to {sanitize_line(title)}",
            Content.styled("Asking for a code…", "$tone-muted"),
            hints=(("enter", "open page"), ("c", "copy code"), ("t", "paste a token")),
            close="cancel",
        )
        self._page = self._code = ""
        self._open, self._copy, self._paste = open_page, copy, paste

    def show_code(self, code: "LoginCode") -> None:
        """Show *code* from now on."""
        self._page, self._code = sanitize_line(code.page), sanitize_line(code.user_code)
        self._say(WAITING)

    async def action_open_page(self) -> None:
        if self._page:
            opened = await self._open(self._page)
            self._say(WAITING if opened else "No browser opens here; any other device will do.")

    def action_copy(self) -> None:
        if self._code:
            self._copy(self._code)
            self._say("The code is copied.")

    def action_paste(self) -> None:
        self._paste()
        self.dismiss(None)

    def _say(self, sentence: str) -> None:
        """Show the code and, below it, *sentence*."""
        address = Content.from_rich_text(Text(self._page, Style(link=self._page)))
        self._text = Content.assemble(
            "Open this page in a browser:\n\n  ",
            address.stylize("$tone-accent"),
            "\n\nEnter this code there:\n\n  ",
            (self._code, "bold $tone-accent"),
            (f"\n\n{sentence}", "$tone-muted"),
        )
        for shown in self.query("#page-text Static").results(Static):
            shown.update(self._text)

    def on_mount(self) -> None:
        """Show a code that came while the screen was composed."""
        if self._code:
            self._say(WAITING)
