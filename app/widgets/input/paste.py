"""Text that is pasted or dropped into the prompt: long text folds to a label, and file paths become
mentions."""

import mimetypes
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.text.mentions import mention_of
from app.text.units import count

MAX_LINES = 5
"""Lines up to which pasted text is shown in full."""

MAX_CHARACTERS = 1_000
"""Characters up to which it is shown in full: long single lines fold too."""

MAX_PATH = 4_096
"""Characters above which pasted text is not tried as a path (Linux' PATH_MAX)."""

MEDIA = ("image/", "application/pdf")

_ESCAPED = re.compile(r"\\.")


@dataclass(slots=True)
class PastedTexts:
    """The full texts of the labels in prompts.

    They are kept as long as the program runs, because a label can come back from the prompt
    history.
    """

    _texts: dict[str, str] = field(default_factory=dict[str, str])

    def fold(self, text: str) -> str:
        """Return *text* itself if it is short, else a label for it."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MAX_LINES and len(text) <= MAX_CHARACTERS:
            return text
        for label, text_ in self._texts.items():
            if text_ == text:
                return label
        size = count(lines, "line") if lines > 1 else f"{len(text):,} characters"
        label = f"[Pasted {len(self._texts) + 1}: {size}]"
        self._texts[label] = text
        return label

    def unfold(self, text: str) -> str:
        """Return *text* with its labels replaced by the full texts."""
        for label, text_ in self._texts.items():
            text = text.replace(label, text_)
        return text

    def label_before(self, text: str) -> str:
        """Return the label that *text* ends with, "" if none."""
        return next((label for label in self._texts if text.endswith(label)), "")


def mentions_of_dropped(text: str, directory: Path) -> str | None:
    """Return the mentions for a paste that consists only of paths of existing files, else None.

    Images and PDFs are accepted in any spelling, other files only in the forms in which terminals
    write a dropped file (quoted, escaped or as a URL): a bare path can be part of a sentence.
    """
    text = text.strip()
    if not text or len(text) > MAX_PATH or "\n" in text:
        return None
    explicit = text[0] in "'\"" or text.startswith("file://") or bool(_ESCAPED.search(text))
    found = [_existing_file(word) for word in _split_paths(text)]
    if not found or any(path is None for path in found):
        return None
    paths = [path for path in found if path is not None]
    if not explicit and not all(_is_media(path) for path in paths):
        return None
    return " ".join(mention_of(_relative_path(path, directory)) for path in paths) + " "


def _split_paths(text: str) -> list[str]:
    if _existing_file(text) is not None:  # contains spaces without quotes
        return [text]
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _existing_file(word: str) -> Path | None:
    if word.startswith("file://"):
        word = unquote(urlsplit(word).path)
    try:
        path = Path(word).expanduser()
        return path if path.is_absolute() and path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _is_media(path: Path) -> bool:
    kind = mimetypes.guess_type(path.name)[0] or ""
    return kind.startswith(MEDIA)


def _relative_path(path: Path, directory: Path) -> str:
    """Return the path for the prompt: relative if it is inside the opened folder."""
    return str(path.relative_to(directory)) if path.is_relative_to(directory) else str(path)
