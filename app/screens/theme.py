"""The theme picker: the bar's theme is shown at once, Esc brings the old one back."""

from collections.abc import Sequence

from app.screens.base.picker import Picker, Row
from app.theme.preferences import AUTO, appearance_of
from app.theme.themes import own_theme_for
from app.toolkit.app_of import app_of


class ThemeScreen(Picker):
    """Gives back the name of the chosen theme, or ``auto``, which is in use by then."""

    def __init__(self, themes: Sequence[str], *, current: str) -> None:
        rows = [
            Row(AUTO, AUTO, "light or dark as the terminal is"),
            *(Row(name, name) for name in themes),
        ]
        super().__init__("Themes", rows, current=current)
        self._before = ""

    def on_mount(self) -> None:
        self._before = app_of(self).theme
        super().on_mount()

    def preview_row(self, key: str) -> None:
        app_of(self).theme = own_theme_for(dark=appearance_of(self).dark) if key == AUTO else key

    def action_close(self) -> None:
        app_of(self).theme = self._before
        super().action_close()
