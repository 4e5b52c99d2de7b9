"""The models that the user chose recently, and those marked as favorites."""

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from agent.config.private_file import write_private
from agent.records.json import Json

FILE_NAME = "models.json"
MAX_RECENT = 8


class ModelPreferences:
    """Full names of models (``provider/model``), stored in the file *path*; None stores nothing.

    The file is read again for each change, so that the changes of other instances are kept. A
    missing or broken file counts as empty, and a failure to write it is ignored.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lists: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def recent(self) -> tuple[str, ...]:
        """The recently chosen models, the latest first."""
        return self._known()[0]

    @property
    def favorites(self) -> tuple[str, ...]:
        """The favorites in the order in which they were marked."""
        return self._known()[1]

    def add_recent(self, model: str) -> None:
        """Store that *model* was chosen."""
        recent, favorites = self._read()
        others = [name for name in recent if name != model]
        self._store([model, *others][:MAX_RECENT], favorites)

    def toggle_favorite(self, model: str) -> None:
        """Mark *model* as a favorite, or remove the mark."""
        recent, favorites = self._read()
        others = [name for name in favorites if name != model]
        self._store(recent, others if model in favorites else [*others, model])

    def _known(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self._lists is None:
            self._lists = self._read()
        return self._lists

    def _read(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self._path is None:
            return self._lists or ((), ())
        try:
            data: Json = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            data = None
        if not isinstance(data, dict):
            return self._lists or ((), ())
        return _names(data.get("recent")), _names(data.get("favourites"))

    def _store(self, recent: Iterable[str], favorites: Iterable[str]) -> None:
        self._lists = (tuple(recent), tuple(favorites))
        if self._path is None:
            return
        text = json.dumps({"recent": self._lists[0], "favourites": self._lists[1]}, indent=1)
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(self._path, text)


def _names(value: Json) -> tuple[str, ...]:
    names = value if isinstance(value, list) else []
    return tuple(name for name in names if isinstance(name, str) and "/" in name)
