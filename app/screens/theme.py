"""The theme picker: the highlighted theme is previewed, Esc restores the old one."""

from collections.abc import Sequence

from app.screens.base.picker import Picker, Row
from app.terminal.app_of import app_of
from app.theme.appearance import AUTO, appearance_of, own_theme_of


class ThemeScreen(Picker):
    """Returns the name of the chosen theme, or ``auto``; it is applied by then."""

    def __init__(self, themes: Sequence[str], *, current: str) -> None:
        rows = [
            Row(AUTO, AUTO, "light or dark, like the terminal"),
            *(Row(name, name) for name in themes),
        ]
        super().__init__("Themes", rows, current=current)
        self._original_theme = ""

    def on_mount(self) -> None:
        self._original_theme = app_of(self).theme
        super().on_mount()

    def preview_row(self, key: str) -> None:
        app_of(self).theme = own_theme_of(appearance_of(self)) if key == AUTO else key

    def action_close(self) -> None:
        app_of(self).theme = self._original_theme
        super().action_close()
