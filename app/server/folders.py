"""The folders that the server has open, each with its runtime and its events."""

import asyncio
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import Request

from agent.bus import Subscription
from agent.config.paths import Paths
from agent.permission.protected import (
    Identity,
    credential_paths,
    is_secret,
    kept_identities,
    shared_identity,
)
from agent.records.errors import SessionNotFound
from agent.records.events import Event, SessionIdle
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.records.messages import Session
from agent.runtime.pool import RuntimePool
from agent.runtime.runtime import Runtime
from agent.runtime.worktrees import worktrees_folder
from app.server.errors import RequestError
from app.server.event_feed import EventFeed, Reader

CLOSING = "The server is closing."

DIRECTORY_HEADER = "x-opencode-directory"

SYSTEM_FOLDERS = ("/proc", "/sys", "/dev")


def private_paths(paths: Paths) -> frozenset[Path]:
    """Return the folders with the program's keys and data, those of the system's processes, and the
    files and folders of the home folder that hold credentials."""
    return _private_paths(paths.data, paths.config, Path.home())


@lru_cache(maxsize=8)
def _private_paths(data: Path, config: Path, home: Path) -> frozenset[Path]:
    credentials = map(Path, credential_paths(str(home.resolve())))
    return frozenset((data.resolve(), config.resolve(), *map(Path, SYSTEM_FOLDERS), *credentials))


def is_private(paths: Paths, found: Path) -> bool:
    """Return whether no client may read *found* (resolved), which can be a file. Worktrees are
    folders of projects, though they are among the data."""
    worktrees = worktrees_folder(paths).resolve()
    if found != worktrees and found.is_relative_to(worktrees):
        return False
    return not private_paths(paths).isdisjoint((found, *found.parents))


def resolved_inside(runtime: Runtime, path: str) -> Path:
    """Return *path* of a folder, links followed. Blocks. Raises ``RequestError`` outside the
    project and for private files in it, unless the folder itself is private."""
    found = (runtime.directory / path).resolve()
    if not found.is_relative_to(runtime.project.resolve()):
        raise RequestError(403, f"{path} is outside the project.")
    if is_private(runtime.paths, found) and not is_private(runtime.paths, runtime.directory):
        raise RequestError(
            403, f"{path} holds credentials, or data of opencode-py or of the system."
        )
    return found


class PrivateFiles:
    """The files below the folder of *runtime* that a search for a client passes over: those with
    secrets, under whichever name, and those of this program and the system."""

    def __init__(self, runtime: Runtime) -> None:
        self._paths = runtime.paths
        self._root = str(runtime.directory)
        self._is_inside = is_private(runtime.paths, runtime.directory.resolve())
        self._linked: dict[Identity, str] | None = None
        self._verdicts: dict[str, bool] = {}

    def __contains__(self, path: str) -> bool:
        """Return whether the file *path* (absolute) is one. Blocks."""
        if path not in self._verdicts:
            self._verdicts[path] = self._is_secret(path) or (
                not self._is_inside and is_private(self._paths, Path(path).resolve())
            )
        return self._verdicts[path]

    def _is_secret(self, path: str) -> bool:
        if self._has_secret_name(path):
            return True
        if (identity := shared_identity(path)) is None:
            return False
        if self._linked is None:
            self._linked = kept_identities(self._root, self._has_secret_name)
        return identity in self._linked

    def _has_secret_name(self, path: str) -> bool:
        return is_secret(path[len(self._root) :])


@frozen
class Folder:
    """One open folder."""

    runtime: Runtime
    feed: EventFeed

    async def session(self, session_id: str) -> Session:
        """Return a session of this folder's project. Raises ``SessionNotFound``."""
        session = await self.runtime.store.session(session_id)
        if session.project != str(self.runtime.project):
            raise SessionNotFound(f"There is no session {session_id} in {self.runtime.project}.")
        return session

    @contextmanager
    def turn_ends(self, session_id: str) -> Generator["TurnEnds"]:
        """Follow the ends of a session's turns for the duration of the block."""

        def is_end(event: Event) -> bool:
            return isinstance(event, SessionIdle) and event.session_id == session_id

        with self.runtime.bus.subscribe(is_end) as subscription:
            yield TurnEnds(self.runtime, session_id, subscription)


@frozen
class TurnEnds:
    """The ends of a session's turns, as they come."""

    runtime: Runtime
    session_id: str
    subscription: Subscription

    async def wait_for(self, message_id: str) -> None:
        """Return once the turn has ended that the message *message_id* belongs to."""
        async for _ in self.subscription:
            if message_id not in self.runtime.queues.ids(self.session_id):
                return
        raise RequestError(503, CLOSING)


class Folders:
    """Opens a folder when a client first names it. *default* is used by those that name none."""

    def __init__(self, pool: RuntimePool, default: str, version: str) -> None:
        self._pool = pool
        self.default = default
        self.version = version
        self.on_screen_event: Callable[[str, JsonObject], None] | None = None
        """Gets the events that are meant for the full screen; None without one."""
        self._open: dict[str, Folder] = {}
        self._readers: set[Reader] = set()
        self._opening = asyncio.Lock()
        self._closing = False

    async def of(self, request: Request) -> Folder:
        """Return the folder that a request names. Raises what ``RuntimePool.open`` raises."""
        named = request.query_params.get("directory") or unquote(
            request.headers.get(DIRECTORY_HEADER, "")
        )
        if "\0" in named:
            raise RequestError(400, "The name of the folder contains a NUL byte.")
        if named and await asyncio.to_thread(self._is_private, named):
            raise RequestError(403, f"{named} is no folder of a project.")
        return await self.open(named or self.default)

    def _is_private(self, named: str) -> bool:
        """Return whether a folder is private, or holds what is, as the home folder does. The one
        that the server was started in is served in any case."""
        found = Path(named).resolve()
        if found == Path(self.default).resolve():
            return False
        inside = (path.is_relative_to(found) for path in private_paths(self._pool.paths))
        return is_private(self._pool.paths, found) or any(inside)

    async def open(self, directory: str) -> Folder:
        """Return a folder. Raises what ``RuntimePool.open`` raises, and ``RequestError`` while the
        server closes: a client that connects again would open what was just closed."""
        async with self._opening:
            if self._closing:
                raise RequestError(503, CLOSING)
            held = self._open.get(await asyncio.to_thread(os.path.realpath, directory))
            if held is not None:
                return held
            return self._added(await self._pool.open(directory))

    async def serve(self, runtime: Runtime) -> None:
        """Serve a folder that the program has open itself, in place of its earlier runtime."""
        before = self._open.pop(str(runtime.directory), None)
        if before is not None:
            await before.feed.close()
        self._added(runtime)

    def all(self) -> Iterator[Folder]:
        return iter(tuple(self._open.values()))

    def publish(self, kind: str, properties: JsonObject) -> None:
        """Send an event to the readers of all folders, and to the program's own screen."""
        for folder in self._open.values():
            folder.feed.publish(kind, properties)
        if self.on_screen_event is not None:
            self.on_screen_event(kind, properties)

    @contextmanager
    def reader_of_all(self) -> Generator[Reader]:
        """Give a reader of the events of all folders, also of those that are opened later."""
        reader = Reader()
        self._readers.add(reader)
        for folder in self._open.values():
            folder.feed.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)
            for folder in self._open.values():
                folder.feed.disconnect(reader)

    async def close(self) -> None:
        """End all turns, then all streams: clients see how the turns ended."""
        self._closing = True
        await self._pool.close()
        for folder in self._open.values():
            await folder.feed.close()
        self._open.clear()

    def _added(self, runtime: Runtime) -> Folder:
        key = str(runtime.directory)
        if key not in self._open:
            self._open[key] = Folder(runtime, EventFeed(runtime, self.version))
            for reader in self._readers:
                self._open[key].feed.add(reader)
        return self._open[key]
