"""The prompts sent before, over all sessions: type to search, Enter takes one (spec 8, U7)."""

from collections.abc import Sequence

from app.screens.base.picker import Picker, Row
from app.text.units import count


class PromptsScreen(Picker):
    """Gives back the place, as text, of the chosen prompt in *prompts* (newest first)."""

    def __init__(self, prompts: Sequence[str]) -> None:
        super().__init__(
            "Prompts sent before",
            [prompt_row(place, text) for place, text in enumerate(prompts)],
            empty="No prompt fits",
        )


def prompt_row(place: int, text: str) -> Row:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    more = f"+{count(len(lines) - 1, 'line')}" if len(lines) > 1 else ""
    return Row(key=str(place), title=lines[0] if lines else "", note=more, hidden=text)
