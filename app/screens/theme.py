"""The theme picker: the bar's theme is shown at once, Esc brings the old one back."""

from collections.abc import Sequence

from app.screens.picker import Picker, Row
from app.typed import app_of


class ThemeScreen(Picker):
    """Gives back the name of the chosen theme, which is in use by then."""

    def __init__(self, themes: Sequence[str], *, current: str) -> None:
        super().__init__("Themes", [Row(name, name) for name in themes], current=current)
        self._before = current

    def previewed(self, key: str) -> None:
        app_of(self).theme = key

    def action_close(self) -> None:
        app_of(self).theme = self._before
        super().action_close()
