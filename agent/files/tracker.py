"""The files that each session has read, and a write lock for each file."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from agent.files.disk import FileStamp
from agent.files.editor import Editor

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
