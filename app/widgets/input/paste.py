"""What is pasted or dropped into the prompt (spec 8, U9): long text folds to a label that is
sent whole, paths of files become mentions."""

import mimetypes
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.text.mentions import mention_of
from app.text.units import count

MAX_LINES = 5
"""Lines of pasted text up to which it is shown as it is."""

MAX_CHARACTERS = 1_000
"""The same for its length: a long single line folds too."""

MAX_PATH = 4_096
"""Characters above which nothing pasted is tried as a path (Linux' PATH_MAX)."""

MEDIA = ("image/", "application/pdf")

_ESCAPED = re.compile(r"\\.")


@dataclass(slots=True)
class PastedTexts:
    """The texts behind the labels of one prompt. They stay for the program's life, so that a
    label that comes back from the history still means its text."""

    _texts: dict[str, str] = field(default_factory=dict[str, str])

    def fold(self, text: str) -> str:
        """*text* itself if it is short, else the label that stands for it."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MAX_LINES and len(text) <= MAX_CHARACTERS:
            return text
        for label, held in self._texts.items():
            if held == text:
                return label
        size = count(lines, "line") if lines > 1 else f"{len(text):,} characters"
        label = f"[Pasted {len(self._texts) + 1}: {size}]"
        self._texts[label] = text
        return label

    def unfold(self, text: str) -> str:
        """*text* with what its labels stand for."""
        for label, held in self._texts.items():
            text = text.replace(label, held)
        return text

    def label_before(self, text: str) -> str:
        """The label that *text* ends with, "" if it ends with none."""
        return next((label for label in self._texts if text.endswith(label)), "")


def mentions_of_dropped(text: str, directory: Path) -> str | None:
    """The mentions that a paste stands for, if it is nothing but paths of files there are.

    Images and PDFs are taken in any spelling, other files only as terminals write a dropped
    one (quoted, escaped or as a URL): a bare path may just be part of the sentence.
    """
    text = text.strip()
    if not text or len(text) > MAX_PATH or "\n" in text:
        return None
    given = text[0] in "'\"" or text.startswith("file://") or bool(_ESCAPED.search(text))
    found = [_file(word) for word in _words(text)]
    if not found or any(path is None for path in found):
        return None
    paths = [path for path in found if path is not None]
    if not given and not all(_is_media(path) for path in paths):
        return None
    return " ".join(mention_of(_shown(path, directory)) for path in paths) + " "


def _words(text: str) -> list[str]:
    if _file(text) is not None:  # blanks in it, and no quotes around
        return [text]
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _file(word: str) -> Path | None:
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


def _shown(path: Path, directory: Path) -> str:
    """The path as the prompt names it: from the opened folder on where it lies in it."""
    return str(path.relative_to(directory)) if path.is_relative_to(directory) else str(path)
