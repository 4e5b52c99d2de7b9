"""Search in the prompts that were sent before, over all sessions."""

from collections.abc import Sequence

from app.screens.base.picker import Picker, Row
from app.text.units import count


class PromptsScreen(Picker):
    """Returns the index, as text, of the chosen prompt in *prompts* (newest first)."""

    def __init__(self, prompts: Sequence[str]) -> None:
        super().__init__(
            "Prompts sent before",
            [prompt_row(index, text) for index, text in enumerate(prompts)],
            empty="No prompt fits",
        )


def prompt_row(index: int, text: str) -> Row:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    more = f"+{count(len(lines) - 1, 'line')}" if len(lines) > 1 else ""
    return Row(key=str(index), title=lines[0] if lines else "", note=more, hidden=text)
