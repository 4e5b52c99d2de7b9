"""A language server's process: its pipes, its end, its memory."""

import asyncio
import contextlib
import signal
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from agent.process.tree import LINUX, MARKER, ProcessTree, become_subreaper
from agent.records.ids import new_id

GRACE = 0.25
"""Seconds between SIGTERM and SIGKILL, as for shell commands."""

KILL_ROUNDS = 50
"""Checks for survivors after SIGKILL, 10 ms apart."""

LAST_LINES = 20
"""Lines of the error stream that are kept, to report why the server ended."""

READ_LIMIT = 1024 * 1024
"""Bytes of output that are buffered before the server has to wait."""

PAGE_SIZE = 4096
"""Bytes of a memory page, the unit that Linux counts in."""


class ServerProcess:
    """A running server, made by ``start``."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        assert process.stdin is not None  # pipes were requested
        assert process.stdout is not None  # pipes were requested
        self.stdin = process.stdin
        self.stdout = process.stdout
        self._process = process
        self._tree = ProcessTree(mark, process.pid)
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._errors = asyncio.create_task(self._read_errors(), name="errors of a language server")

    @classmethod
    async def start(
        cls, command: tuple[str, ...], root: str, env: Mapping[str, str]
    ) -> "ServerProcess":
        """Start a server. Raises ``OSError`` if that fails. Leaves no process when canceled."""
        making = asyncio.create_task(cls._create(command, root, env), name="starting a program")
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                await (await making).end()
            raise

    @classmethod
    async def _create(
        cls, command: tuple[str, ...], root: str, env: Mapping[str, str]
    ) -> "ServerProcess":
        become_subreaper()
        mark = new_id("cal")
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=root,
            env={**env, MARKER: mark},
            start_new_session=True,
            limit=READ_LIMIT,
        )
        return cls(process, mark)

    @property
    def last_error_line(self) -> str:
        """The last line of the error stream that is not blank."""
        return next((line for line in reversed(self._last) if line.strip()), "").strip()

    @property
    def code(self) -> int | None:
        """The exit code (negative: a signal), None while it runs."""
        return self._process.returncode

    def memory(self) -> int:
        """Return the bytes of memory of the process and its descendants; 0 if unknown.

        Walks the process table, so it has to be called in a thread.
        """
        return sum(_resident(info.pid) for info in self._tree.scan())

    async def end(self) -> None:
        """End the server and all its descendants."""
        if LINUX:
            await asyncio.to_thread(self._tree.scan)
        await asyncio.to_thread(self._tree.signal_all, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await self._process.wait()
        for _ in range(KILL_ROUNDS):
            self._tree.shell_reaped = self._process.returncode is not None
            alive = await asyncio.to_thread(self._tree.signal_all, signal.SIGKILL)
            if not alive and self._process.returncode is not None:
                break
            await asyncio.sleep(0.01)
        await self._process.wait()
        self._errors.cancel()
        await asyncio.gather(self._errors, return_exceptions=True)
        # asyncio has no call for it: pipes that are not read to the end stay open otherwise.
        self._process._transport.close()  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType] - see above

    async def _read_errors(self) -> None:
        stream = self._process.stderr
        while stream is not None:
            try:
                line = await stream.readline()
            except ValueError:  # a line without an end, which is dropped
                continue
            if not line:
                return
            self._last.append(line.decode("utf-8", "replace")[:400])


def _resident(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/statm").read_bytes().split()
        return int(fields[1]) * PAGE_SIZE
    except (OSError, IndexError, ValueError):
        return 0
