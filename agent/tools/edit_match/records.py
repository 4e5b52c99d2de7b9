"""What an edit comes to: replacements in the file's text, or a refusal."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.records.errors import ToolError


class EditRefused(ToolError):
    """No edit was made. *hint* quotes the file, so it may be kept back from the model."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.reason = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Replacement:
    """``text[start:end]`` of the file becomes *text* (offsets in characters)."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Splice:
    """Lines *first* to *stop* (exclusive, from 0) of the file become *lines* (no endings)."""

    first: int
    stop: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """The new *text* of the file, the *places* that matched, and *notes* on what was bent."""

    text: str
    replacements: tuple[Replacement, ...]
    places: int = 1
    notes: tuple[str, ...] = ()


def rebuild(text: str, replacements: Iterable[Replacement]) -> str:
    """*text* with *replacements* made, which are in order and do not overlap."""
    pieces: list[str] = []
    position = 0
    for replacement in replacements:
        pieces.append(text[position : replacement.start])
        pieces.append(replacement.text)
        position = replacement.end
    pieces.append(text[position:])
    return "".join(pieces)
