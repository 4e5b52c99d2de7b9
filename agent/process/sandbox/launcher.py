"""Starts programs through ``restrict_and_exec.py``, without the start of a Python for each.

``PREFIX`` makes an argv that works anywhere. ``launch`` runs such an argv through a resident
process instead, which forks; the program becomes a child of this one all the same.
"""

import atexit
import marshal
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

SCRIPT = Path(__file__).with_name("restrict_and_exec.py")

PREFIX = (sys.executable, "-I", "-S", str(SCRIPT))

BUBBLEWRAP = "bwrap"

DIES = "--die-with-parent"
BACKGROUND = "background="
"""An order: processes in the background continue after the end of a command. ``launch`` knows how
to end them, so that bubblewrap needn't."""

ENDING = (
    signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGKILL,
    signal.SIGSEGV, signal.SIGSYS, signal.SIGTERM, signal.SIGTRAP,
)  # fmt: skip
"""Signals that a code of 128 and more stands for; programs choose other such codes themselves."""


def is_launched(argv: Sequence[str]) -> bool:
    """Return whether ``launch`` can start *argv*."""
    return tuple(argv[: len(PREFIX)]) == PREFIX


def has_supervisor(argv: Sequence[str]) -> bool:
    """Return whether bubblewrap waits for the program of *argv*, and ends it when it ends."""
    return is_launched(argv) and os.path.basename(argv[argv.index("--") + 1]) == BUBBLEWRAP


def code_of_supervised(code: int) -> int:
    """Return the code that a program ended with, from that of bubblewrap: signals are negative."""
    return 128 - code if code - 128 in ENDING else code


class LaunchedProcess:
    """A child that the resident process started, as ``subprocess.Popen`` has it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        """The exit code, or the number of a signal, negative; None before it was reaped."""
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Reap the child if it has ended, and return its code."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int | None:
        """Wait for the end, and return the code."""
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        return self._reap(0)

    def _reap(self, options: int) -> int | None:
        with self._lock:
            if self.returncode is None:
                pid, status = os.waitpid(self.pid, options)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
            return self.returncode


def launch(
    argv: tuple[str, ...], directory: str, env: Mapping[str, str], output: int
) -> LaunchedProcess | None:
    """Start *argv*, which begins with ``PREFIX``, in a session of its own.

    Returns None if there is no resident process. Raises ``OSError`` if the program can't start.
    """
    if sys.platform != "linux":
        return None
    return _resident.launch(argv[len(PREFIX) :], directory, env, output)


class _Resident:
    """The resident process and the socket to it, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def launch(
        self, words: tuple[str, ...], directory: str, env: Mapping[str, str], output: int
    ) -> LaunchedProcess | None:
        end = words.index("--")
        argv = list(words[end + 1 :])
        if BACKGROUND in words[:end]:
            argv.remove(DIES)
        order = (list(words[:end]), argv, directory, dict(env))
        reading, writing = os.pipe()
        try:
            try:
                with self._lock:
                    pid = self._ask(marshal.dumps(order), (output, writing))
            except (OSError, struct.error):
                self.close()
                return None
            finally:
                os.close(writing)
            if pid < 0:
                raise OSError(-pid, os.strerror(-pid))
            failed = os.read(reading, 4)  # empty once the program has taken over
        finally:
            os.close(reading)
        process = LaunchedProcess(pid)
        if failed:
            process.wait()
            number = struct.unpack("=i", failed)[0]
            raise OSError(number, os.strerror(number), argv[0])
        return process

    def _ask(self, order: bytes, descriptors: tuple[int, int]) -> int:
        near = self._open()
        data = struct.pack("=Q", len(order)) + order
        sent = socket.send_fds(near, [data[:32_768]], descriptors)
        near.sendall(data[sent:])
        return struct.unpack("=q", near.recv(8, socket.MSG_WAITALL))[0]

    def _open(self) -> socket.socket:
        if self._socket is not None and self._owner == os.getpid():
            return self._socket
        near, far = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                (*PREFIX, "serve", str(far.fileno())),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(far.fileno(),),
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            near.close()
            raise
        finally:
            far.close()
        if self._owner == 0:
            atexit.register(self.close)
        self._socket, self._owner = near, os.getpid()
        return near

    def close(self) -> None:
        """End the resident process; programs that it started continue."""
        near, self._socket = self._socket, None
        if near is not None:
            near.close()


_resident = _Resident()
