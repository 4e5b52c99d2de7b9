"""A program on a real pty, with a terminal emulator that reads its screen."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import pyte

GUARD = 30.0
"""Seconds after which a wait for the screen is taken to hang: no figure."""

PATIENCE = 2.0
"""Seconds between attempts to be heard, longer than a new dialog ignores keys."""

LOOKS = 3
"""Looks, one after each read, in which something must be missing to be gone."""

CHOICES = r"once +(always +)?reject"
"""The answers of the permission dialog."""


class Terminal:
    """Runs *argv* on a pty of *columns* × *rows*. As a context manager, it ends everything that it
    started."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self.raw = bytearray()
        self._interpreted = 0
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._master, slave = pty.openpty()
        self.resize(columns, rows)
        self.modes_before = termios.tcgetattr(slave)
        self._slave = slave
        self._process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env={**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - one system call, in a child of tests
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in pids():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getsid(pid) == self._process.pid:  # the jobs of a shell too
                    os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._close()

    def hang_up(self) -> int:
        """Take the terminal away, like a window that is closed; return the program's exit code."""
        self._close()
        return self._process.wait(GUARD)

    def _close(self) -> None:
        for descriptor in {self._slave, self._master} - {-1}:
            os.close(descriptor)
        self._slave = self._master = -1

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def screen(self) -> str:
        """Return the rows as text. What was read since the last call is interpreted only now."""
        self._stream.feed(bytes(self.raw[self._interpreted :]))
        self._interpreted = len(self.raw)
        # Not ``display``, which stumbles over half of a wide character that was painted over.
        rows = (self._screen.buffer[y] for y in range(self._screen.lines))
        columns = range(self._screen.columns)
        return "\n".join("".join(row[x].data for x in columns).rstrip() for row in rows)

    def colours(self) -> list[tuple[str, str, str]]:
        """Return the shown characters, each with its color and background (six hex digits)."""
        _ = self.screen
        cells = [
            self._screen.buffer[y][x]
            for y in range(self._screen.lines)
            for x in range(self._screen.columns)
        ]
        shown = [cell for cell in cells if cell.data.strip()]
        return [
            (cell.data, cell.bg, cell.fg) if cell.reverse else (cell.data, cell.fg, cell.bg)
            for cell in shown
        ]

    @property
    def modes_now(self) -> list[object]:
        return termios.tcgetattr(self._slave)

    def blank(self) -> None:
        """Forget the painted screen. The emulator has one screen, so this represents the change to
        the alternate one."""
        _ = self.screen
        self._screen.reset()

    def resize(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)
        self._screen.resize(rows, columns)
        if hasattr(self, "_process"):
            os.killpg(self._process.pid, signal.SIGWINCH)

    def send(self, data: str | bytes) -> None:
        os.write(self._master, data.encode() if isinstance(data, str) else data)

    def enter(self, text: str) -> None:
        """Type a line and, once it is echoed, press Enter, unlike a paste."""
        self.send(text)
        self.wait(re.escape(text[-20:]))
        self.send("\r")

    def answer(self, key: str) -> None:
        """Answer the permission dialog, which ignores keys for a moment."""
        self.wait(CHOICES)
        asked = self._dialog()
        while True:
            self.again(key, CHOICES, gone=True)
            # A frame that was read partly, or that is laid out again, has no choices either.
            if not (left := self._dialog()) or left != asked:
                return

    def _dialog(self) -> str:
        """Return the rows of the open dialog once they have not changed for a moment; empty without
        one."""
        rows, since = "", time.monotonic()
        while time.monotonic() - since < 0.3:
            self._read(0.05)
            open_ = re.search(CHOICES, self.screen) is not None
            now = [row for row in self.screen.splitlines() if "  ▌ " in row] if open_ else []
            if "\n".join(now) != rows:
                rows, since = "\n".join(now), time.monotonic()
        return rows

    def again(self, keys: str, pattern: str, *, gone: bool = False) -> None:
        """Send *keys* from time to time until *pattern* is on the screen, or *gone* from it."""
        shown = self._shown(pattern, gone=gone)
        sent = 0.0

        def holds() -> bool:
            nonlocal sent
            if shown():
                return True
            if time.monotonic() - sent > PATIENCE:
                self.send(keys)
                sent = time.monotonic()
            return False

        self.until(holds, f"{pattern!r} {'still on' if gone else 'never on'} the screen")

    def pass_time(self, seconds: float) -> None:
        """Read for a while whatever arrives."""
        self._read(seconds)

    def signal(self, number: int) -> None:
        os.kill(self._process.pid, number)

    def wait(self, pattern: str, *, gone: bool = False) -> str:
        """Return the screen once *pattern* (a regular expression) is on it, or *gone* from it."""
        return self.until(
            self._shown(pattern, gone=gone),
            f"{pattern!r} {'still on' if gone else 'never on'} the screen",
        )

    def _shown(self, pattern: str, *, gone: bool) -> Callable[[], bool]:
        """Return whether *pattern* is on the screen, or *gone* from it, in several consecutive
        looks: half of a frame that is being written lacks a part of it."""
        found = re.compile(pattern)
        looks = 0

        def look() -> bool:
            nonlocal looks
            looks = looks + 1 if bool(found.search(self.screen)) is not gone else 0
            return looks >= (LOOKS if gone else 1)

        return look

    def until(self, holds: Callable[[], bool], complaint: str) -> str:
        deadline = time.monotonic() + GUARD
        while not holds():
            if time.monotonic() > deadline or (not self._read(0.05) and self._ended()):
                if any(holds() for _ in range(LOOKS)):
                    break
                raise AssertionError(f"{complaint}:\n{self.screen}")
        return self.screen

    def sees(self, *words: bytes) -> float:
        """Wait until the program writes one of *words*, from now on, and return that time (of
        ``time.monotonic``). For benchmarks: nothing is interpreted, so nothing is late."""
        start, deadline = len(self.raw), time.monotonic() + GUARD
        while all(self.raw.find(word, start) < 0 for word in words):
            if time.monotonic() > deadline or (not self._read(0.05) and self._ended()):
                raise AssertionError(f"{words!r} was never written:\n{self.screen}")
        return time.monotonic()

    def exit_code(self) -> int:
        """Wait for the program's end and return its exit code."""
        self.until(self._ended, "the program did not end")
        while self._read(0):
            pass
        return self._process.returncode

    def end(self) -> int:
        """Ask the program to end, if it has not, and wait for that; return its exit code."""
        if self._ended():
            return self._process.returncode
        self._process.terminate()
        return self.exit_code()

    @property
    def hung_up(self) -> bool:
        return self._master < 0

    def _ended(self) -> bool:
        return self._process.poll() is not None

    def _read(self, wait: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], wait)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the program's side is closed
            return False
        self.raw += data
        return bool(data)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def pids() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]


def command_line(pid: int) -> str:
    """Return the command line of a process; nothing once it has ended."""
    return read_of(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")


def processes_with(word: str) -> list[str]:
    """Return the command lines of living processes that contain *word*."""
    return [line for pid in pids() if word in (line := command_line(pid))]


def wait_for_end(found: Callable[[], list[int]]) -> None:
    """Wait until all processes that *found* returns have ended, also after the program."""
    while living := found():
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                process = os.pidfd_open(pid)
                ended, _, _ = select.select([process], [], [], GUARD)
                os.close(process)
                assert ended, f"{command_line(pid)} lives on"


def read_of(pid: int, name: str) -> bytes:
    """Return the file *name* that the system keeps of a process; nothing once it has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def children_of(pid: int) -> list[int]:
    """Return the living processes that *pid* started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
