"""An app that shows one screen, with nothing else that could differ between runs."""

from collections.abc import Callable

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from app.theme import themes
from app.tui.app import OpencodeApp


class Host(App[None]):
    """Shows one screen."""

    HORIZONTAL_BREAKPOINTS = OpencodeApp.HORIZONTAL_BREAKPOINTS
    VERTICAL_BREAKPOINTS = OpencodeApp.VERTICAL_BREAKPOINTS

    def __init__(
        self, shown: Screen[object] | Callable[[], Screen[object]], *, below: bool = False
    ) -> None:
        """*shown* is the screen, or a function that creates it once the app runs; with *below*
        there is another screen under it."""
        super().__init__()
        themes.register(self)
        self.animation_level = "none"
        self.shown = shown
        self.outcomes: list[object] = []
        self._below = below

    @property
    def dialog(self) -> Screen[object]:
        assert isinstance(self.shown, Screen)
        return self.shown

    def on_mount(self) -> None:
        if not isinstance(self.shown, Screen):
            self.shown = self.shown()
        if self._below:
            self.push_screen(Screen(name="below"))
        self.push_screen(self.shown, self.outcomes.append)


async def settle(pilot: Pilot[object]) -> None:
    """Wait until a dialog has distributed its height, which happens after the first layout."""
    for _ in range(3):
        await pilot.pause()
