"""Runs a command inside a terminal of another program. It is a program of its own that imports
nothing of the package, so that it starts in some ten milliseconds.

Its argument is a folder that ``agent.process.relay`` made: ``order.json`` says what to run and
with which variables, ``link`` is the socket that gets all the command prints, and ``status.json``
is written at the end. The command has no controlling terminal, reads nothing and leads a group
of its own, as in a shell of the program. When the link is closed, the group is ended.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # its module takes longer to load than all else together
    from typing import Any

GRACE = 0.25
"""Seconds between the polite and the hard signal."""

DRAIN = 0.2
"""Seconds that output can still come after the command has exited."""

READ = 65_536

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


def environment(order: dict[str, Any]) -> dict[str, str]:
    """Return the environment of the command, taken from that of this program."""
    only: list[str] | None = order["only"]
    dropped: list[str] = order["dropped"]
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in dropped and (only is None or name in only)
    }
    return {**kept, **order["set"]}


def start(argv: list[str], env: dict[str, str]) -> tuple[int, int]:
    """The pid of the command and the end of the pipe that has what it prints."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        os.setsid()
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        os.execve(argv[0], argv, env)  # noqa: S606 - that is the order
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def ignored(number: int, frame: object) -> None:
    """A signal is seen by its number in the pipe; without a handler there is none."""


class Relay:
    """Copies the output to the terminal and over the link, until the command has exited."""

    def __init__(self, pid: int, reading: int, link: socket.socket) -> None:
        self._pid = pid
        self._reading = reading
        self._link = link
        self._kill_at: float | None = None
        self._until: float | None = None
        self.status: int | None = None
        self.open = True
        self._poller = select.poll()
        waking, woken = os.pipe()
        os.set_blocking(waking, False)
        os.set_blocking(woken, False)
        self._waking = waking
        signal.set_wakeup_fd(woken)
        for number in (*ENDING, signal.SIGCHLD):
            signal.signal(number, ignored)
        for descriptor in (reading, waking, link.fileno()):
            self._poller.register(descriptor, select.POLLIN)

    def run(self) -> None:
        self._reap()
        while self.status is None or (self.open and self._left() > 0):
            for descriptor, _ in self._poller.poll(self._pause()):
                if descriptor == self._reading:
                    self._copy()
                elif descriptor == self._waking:
                    for number in os.read(self._waking, READ):
                        if number in ENDING:
                            self._end(number)
                else:  # nothing is ever sent: it was hung up
                    self._poller.unregister(descriptor)
                    self._end(signal.SIGTERM)
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._signal(signal.SIGKILL)
            self._reap()

    def _left(self) -> float:
        return (self._until or 0) - time.monotonic()

    def _pause(self) -> float | None:
        """Milliseconds until something is due."""
        due = self._until if self.status is not None else self._kill_at
        return None if due is None else max(0.0, due - time.monotonic()) * 1000 + 1

    def _reap(self) -> None:
        if self.status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self.status, self._until = status, time.monotonic() + DRAIN

    def _end(self, number: int) -> None:
        """Pass on a signal. Only a key of the user's leaves it at that."""
        self._signal(number)
        if number != signal.SIGINT and self._kill_at is None:
            self._kill_at = time.monotonic() + GRACE

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._pid, number)
        except OSError:
            self._kill_at = None

    def _copy(self) -> None:
        data = os.read(self._reading, READ)
        if not data:
            self.open = False
            self._poller.unregister(self._reading)
            return
        try:
            self._link.sendall(data)
        except OSError:
            self._end(signal.SIGTERM)
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(1, left) :]
        except OSError:
            pass  # the terminal is gone; the link has it all

    def drain(self) -> None:
        """Fork a process that reads the remaining output of background processes."""
        if os.fork() == 0:
            os.setsid()
            self._link.close()
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            while os.read(self._reading, READ):
                pass
            os._exit(0)


def main(folder: str) -> None:
    with open(os.path.join(folder, "order.json"), encoding="utf-8") as file:
        order = json.load(file)
    env, argv = environment(order), order["argv"]
    os.chdir(order["directory"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    link = socket.socket(socket.AF_UNIX)
    try:
        link.connect(os.path.join(folder, "link"))
    except OSError:  # a sandbox: the terminal's own text has to do
        os.execve(argv[0], argv, env)  # noqa: S606
    relay = Relay(*start(argv, env), link)
    relay.run()
    status = relay.status or 0
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    code = None if number else os.WEXITSTATUS(status)
    report = {"code": code, "signal": number, "left": relay.open}
    path = os.path.join(folder, "status.json")
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
    except OSError:
        pass  # the requester is gone
    if relay.open:
        relay.drain()
    link.close()
    if number in {*ENDING, signal.SIGKILL}:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(128 + number if code is None else code)


if __name__ == "__main__":
    main(sys.argv[1])
