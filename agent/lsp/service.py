"""The language servers of one opened folder.

A server starts when a file of its kind is first read or edited, no tool waits long for it, and one
that hangs or uses too much memory is ended.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from agent.bus import Bus
from agent.lsp.client import LspClient
from agent.lsp.connection import Diagnostic, LspStatus, RequestRefused, ServerGone, ServerSpec
from agent.records.events import LspChanged
from agent.records.json import Json, JsonObject

DIAGNOSTICS_WAIT = 1.5
"""Seconds that a tool waits for diagnostics of its change."""

COLD_WAIT = 10.0
"""The same for the first diagnostics of a server, which has to start and to read the project."""

REQUEST_TIMEOUT = 10.0
"""Seconds for a request of the model's own."""

MAX_MISSED = 3
"""Requests in a row without a response after which a server counts as hung."""

MAX_MEMORY = 3 * 1024**3
"""Bytes of memory above which a server counts as leaking (3 GiB: large projects need 1 to 2)."""

MAX_STARTS = 3
"""Starts of a server in one root: one that keeps dying stays dead."""

MAX_FILE_SIZE = 2 * 1024 * 1024
"""Bytes of a file that servers are sent; editors have about the same limit."""

Key = tuple[str, str]


class LspService:
    """Starts, asks and ends the language servers of an opened folder."""

    def __init__(
        self,
        find: Callable[[], Sequence[ServerSpec]],
        project: Path,
        env: Mapping[str, str],
        bus: Bus,
        *,
        root_of: Callable[[str], Path] | None = None,
        max_memory: int = MAX_MEMORY,
        request_timeout: float = REQUEST_TIMEOUT,
        cold_wait: float = COLD_WAIT,
    ) -> None:
        """*find* looks for the servers in use once one can be needed; *project* is the root of the
        folder, unless *root_of* returns that of each path; *request_timeout* and *cold_wait* are in
        seconds."""
        self._find = find
        self._project = project
        self._root_of = root_of
        self._env = env
        self._bus = bus
        self._most_memory = max_memory
        self._answer = request_timeout
        self.cold_wait = cold_wait
        self._clients: dict[Key, LspClient] = {}
        self._starting: dict[Key, asyncio.Task[None]] = {}
        self._starts: dict[Key, int] = {}
        self._missed: dict[Key, int] = {}
        self._warm: set[Key] = set()
        """Servers whose first diagnostics came, or were waited for."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def statuses(self) -> tuple[LspStatus, ...]:
        return tuple(client.status for client in self._clients.values())

    @cached_property
    def specs(self) -> tuple[ServerSpec, ...]:
        """The servers that are started for files of their kind."""
        return tuple(self._find())

    def serves(self, path: str) -> bool:
        return any(spec.handles(path) for spec in self.specs)

    def warm_up(self, paths: Sequence[str]) -> None:
        """Start the servers of *paths* in the background."""
        for path in paths:
            for spec in self.specs:
                if spec.handles(path):
                    self._start_server(spec, self._root(spec, path))

    async def diagnostics(
        self, paths: Sequence[str], wait: float = DIAGNOSTICS_WAIT
    ) -> dict[str, tuple[Diagnostic, ...]]:
        """Return the servers' diagnostics of *paths* as they are on disk, by path.

        A server that has not started or reports nothing within *wait* seconds is skipped; the
        first time each server gets longer.
        """
        wanted = [(path, spec) for path in paths for spec in self.specs if spec.handles(path)]
        found: dict[str, tuple[Diagnostic, ...]] = {}
        results = (self._diagnose(spec, path, wait) for path, spec in wanted)
        for (path, _), diagnostics in zip(wanted, await asyncio.gather(*results), strict=True):
            if diagnostics is not None:
                found[path] = (*found.get(path, ()), *diagnostics)
        return found

    async def request(self, path: str, method: str, params: JsonObject) -> Json:
        """Send a request to the server of *path*, after the file's current text.

        Waits for a server that is starting. Raises ``ServerGone``, ``RequestRefused`` and
        ``TimeoutError``.
        """
        spec = next((spec for spec in self.specs if spec.handles(path)), None)
        if spec is None:
            raise ServerGone("there is no language server for this kind of file")
        key = (spec.id, self._root(spec, path))
        async with asyncio.timeout(self._answer):
            client = await self._ready_client(spec, key)
            if client is None:
                raise ServerGone("it is not running")
            await self._sync_file(client, path)
        return await self._count_missed(key, client.request(method, params, self._answer))

    async def restart(self) -> None:
        """End every server; each starts again when a file of its kind is next used."""
        clients = list(self._clients.values())
        self._clients.clear()
        self._starts.clear()
        await asyncio.gather(*(client.end() for client in clients))
        self._bus.publish(LspChanged(""))

    async def end_in(self, folder: str) -> None:
        """End the servers that work in *folder*, which is being removed."""
        ending = [key for key in self._clients if Path(key[1]).is_relative_to(folder)]
        await asyncio.gather(*(self._clients.pop(key).end() for key in ending))

    async def close(self) -> None:
        self._closing = True
        starting = list(self._starting.values())
        for task in starting:
            task.cancel()
        # Tasks that end a server are short, and one that is cut off would leave its process.
        await asyncio.gather(*starting, *self._tasks, return_exceptions=True)
        await asyncio.gather(*(client.end() for client in self._clients.values()))

    async def _diagnose(
        self, spec: ServerSpec, path: str, wait: float
    ) -> tuple[Diagnostic, ...] | None:
        key = (spec.id, self._root(spec, path))
        if key not in self._warm:
            wait = max(wait, self.cold_wait)
        deadline = asyncio.get_running_loop().time() + wait
        try:
            return await self._diagnose_within(spec, key, path, deadline)
        finally:
            self._warm.add(key)

    async def _diagnose_within(
        self, spec: ServerSpec, key: Key, path: str, deadline: float
    ) -> tuple[Diagnostic, ...] | None:
        """Return the diagnostics of *path*, None if none came until *deadline* (loop time)."""
        try:
            async with asyncio.timeout_at(deadline):
                client = await self._ready_client(spec, key)
                if client is None or not await self._sync_file(client, path):
                    return None
        except (TimeoutError, ServerGone):
            return None
        left = max(0.0, deadline - asyncio.get_running_loop().time())
        with contextlib.suppress(ServerGone):
            diagnostics = await client.diagnose(path, left)
            # A server without diagnostics is not hung: many send nothing where nothing changed.
            self._spawn(self._end_if_unhealthy(key))
            return diagnostics
        return None

    async def _ready_client(self, spec: ServerSpec, key: Key) -> LspClient | None:
        """Return the server once it has started, None if it does not run."""
        self._start_server(spec, key[1])
        starting = self._starting.get(key)
        if starting is not None:
            await asyncio.shield(starting)
        client = self._clients.get(key)
        return client if client is not None and client.state == "ready" else None

    def _start_server(self, spec: ServerSpec, root: str) -> None:
        """Start the server unless it runs, or has died too often."""
        key = (spec.id, root)
        client = self._clients.get(key)
        alive = client is not None and client.state in {"starting", "ready"}
        if alive or self._closing or self._starts.get(key, 0) >= MAX_STARTS:
            return
        self._starts[key] = self._starts.get(key, 0) + 1
        self._warm.discard(key)
        self._missed[key] = 0
        changed = self._change_notifier(spec.id)
        self._clients[key] = begun = LspClient(spec, root, self._env, changed)
        if client is not None:
            self._spawn(client.end("failed", client.status.reason))
        task = asyncio.create_task(begun.start(), name=f"starting {spec.id}")
        self._starting[key] = task
        task.add_done_callback(lambda _: self._starting.pop(key, None))

    def _change_notifier(self, server: str) -> Callable[[], None]:
        return lambda: self._bus.publish(LspChanged(server))

    async def _sync_file(self, client: LspClient, path: str) -> bool:
        """Send a file's text as it is on disk; false if it cannot be read as text."""
        text = await asyncio.to_thread(_text, path)
        if text is None:
            return False
        await client.sync_file(path, text)
        return True

    async def _count_missed(self, key: Key, asking: Coroutine[None, None, Json]) -> Json:
        try:
            answer = await asking
        except TimeoutError:
            self._missed[key] = self._missed.get(key, 0) + 1
            self._spawn(self._end_if_unhealthy(key))
            raise
        except RequestRefused:
            self._missed[key] = 0
            raise
        self._missed[key] = 0
        return answer

    async def _end_if_unhealthy(self, key: Key) -> None:
        """End a server that hangs or uses too much memory."""
        client = self._clients.get(key)
        if client is None or client.state != "ready":
            return
        if self._missed.get(key, 0) >= MAX_MISSED:
            await client.end("failed", f"did not answer {MAX_MISSED} times, so it was stopped")
        elif (held := await client.memory()) > self._most_memory:
            size = f"{held / 1024**3:.1f} GiB"
            await client.end("failed", f"held {size} of memory: it was ended")

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name="looking after a language server")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _root(self, spec: ServerSpec, path: str) -> str:
        """Return the nearest folder above *path*, inside the project, that has one of the
        markers."""
        folder = Path(path).parent
        project = self._root_of(path) if self._root_of is not None else self._project
        if folder.is_relative_to(project):
            for above in (folder, *folder.parents):
                if any((above / marker).exists() for marker in spec.markers):
                    return str(above)
                if above == project:
                    break
        return str(project)


def _text(path: str) -> str | None:
    try:
        file = Path(path)
        if file.stat().st_size > MAX_FILE_SIZE:
            return None
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
