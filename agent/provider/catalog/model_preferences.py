"""The models that the user chose before, and those marked as favourites (spec 8, U11)."""

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from agent.records.json import Json

FILE_NAME = "models.json"
MAX_RECENT = 8


class ModelPreferences:
    """Full names of models (``provider/model``), kept in the file *path*; None keeps nothing
    beyond the program's end.

    The file is read anew for each change, so that what other instances wrote counts; one that
    is missing or broken holds nothing, and one that can't be written is no fault of the user's.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lists: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def recent(self) -> tuple[str, ...]:
        """Those chosen last, the latest first."""
        return self._known()[0]

    @property
    def favorites(self) -> tuple[str, ...]:
        """In the order in which they were marked."""
        return self._known()[1]

    def add_recent(self, model: str) -> None:
        """Remember that *model* was chosen."""
        recent, favourites = self._read()
        others = [name for name in recent if name != model]
        self._keep([model, *others][:MAX_RECENT], favourites)

    def toggle_favorite(self, model: str) -> None:
        """Mark *model* as a favourite, or no longer."""
        recent, favourites = self._read()
        others = [name for name in favourites if name != model]
        self._keep(recent, others if model in favourites else [*others, model])

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

    def _keep(self, recent: Iterable[str], favourites: Iterable[str]) -> None:
        self._lists = (tuple(recent), tuple(favourites))
        if self._path is None:
            return
        text = json.dumps({"recent": self._lists[0], "favourites": self._lists[1]}, indent=1)
        temporary = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_text(text, "utf-8")
            temporary.replace(self._path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _names(value: Json) -> tuple[str, ...]:
    names = value if isinstance(value, list) else []
    return tuple(name for name in names if isinstance(name, str) and "/" in name)
