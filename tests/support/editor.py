"""An editor with open files, as the agent package sees one (``agent.files.Editor``)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from agent.files import EditorRefused


def _as_it_is(text: str) -> bytes:
    return text.encode()


@dataclass
class OpenFiles:
    """An editor with *unsaved* texts by path. *stores* returns the text that this editor writes to
    disk, None for one that keeps it in its buffer; *refuses* maps paths that it does not write to
    the reason."""

    unsaved: dict[str, str] = field(default_factory=dict)
    writes: bool = True
    stores: Callable[[str], bytes] | None = _as_it_is
    refuses: dict[str, str] = field(default_factory=dict)
    reads: list[tuple[str, str]] = field(default_factory=list)
    saved: list[tuple[str, str]] = field(default_factory=list)

    def text(self, session_id: str, path: str) -> str | None:
        self.reads.append((session_id, path))
        if path in self.unsaved:
            return self.unsaved[path]
        with open(path, encoding="utf-8", newline="") as file:  # noqa: PTH123 - line endings are kept
            return file.read()

    async def save(self, session_id: str, path: str, text: str) -> None:
        if path in self.refuses:
            raise EditorRefused(self.refuses[path])
        self.saved.append((path, text))
        self.unsaved.pop(path, None)
        if self.stores is not None:
            self._store(path, self.stores(text))

    def _store(self, path: str, data: bytes) -> None:
        Path(path).write_bytes(data)
