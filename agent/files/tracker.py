"""The files that each session has read, a write lock for each file, and the user's editor.

Files are always checked against the disk; an editor adds the unsaved changes of its user, and
receives our changes so that its views of the files are updated.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol
from weakref import WeakValueDictionary

from agent.files.disk import FileStamp


class EditorRefused(Exception):
    """The editor does not write a file; ``str(error)`` says why, in its own words."""


class Editor(Protocol):
    """Both methods are for a session of the user's (the root of a tree) and take the file's path,
    absolute with links resolved."""

    @property
    def writes(self) -> bool:
        """True if ``save`` works. Where it does not, files are written on disk."""
        ...

    def text(self, session_id: str, path: str) -> str | None:
        """Return the text of a file in the editor, None if it provides none. Blocks: for
        threads other than the one of the event loop."""
        ...

    async def save(self, session_id: str, path: str, text: str) -> None:
        """Make *text* the file's, in the editor and on disk. Raises ``EditorRefused``."""
        ...


MAX_REMEMBERED = 10_000
"""Files remembered for a session; the one read longest ago is forgotten first."""


class FileTracker:
    """The files that each session has read, and a lock for each file.

    One tracker serves all sessions of the process, so that two of them never write one
    file at once. Paths are absolute with links resolved. Used from one loop.
    ``editor`` is the user's editor, None without one.
    """

    def __init__(self, editor: Editor | None = None) -> None:
        self.editor = editor
        self._seen: dict[str, dict[str, FileStamp]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def record(self, session_id: str, path: str, stamp: FileStamp) -> None:
        """Note that the session knows the file as it was at *stamp* (read or written)."""
        seen = self._seen.setdefault(session_id, {})
        seen.pop(path, None)
        seen[path] = stamp
        if len(seen) > MAX_REMEMBERED:
            del seen[next(iter(seen))]

    def seen(self, session_id: str, path: str) -> FileStamp | None:
        """The stamp that the session last saw, None if it never read the file."""
        return self._seen.get(session_id, {}).get(path)

    def all_seen(self, session_id: str) -> Mapping[str, FileStamp]:
        """The files that the session has read or written, as it last saw them."""
        return self._seen.get(session_id, {})

    def forget(self, session_id: str) -> None:
        """Drop what a session has read, when it is closed or deleted."""
        self._seen.pop(session_id, None)

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncGenerator[None]:
        """Hold the file alone; other writers of *path* wait."""
        lock = self._locks.get(path)
        if lock is None:
            lock = self._locks[path] = asyncio.Lock()
        async with lock:
            yield
