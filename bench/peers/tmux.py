"""Programs on real terminals: a private tmux server, driven through one control client.

Unlike a bare pty, tmux answers queries of a program to its terminal, and knows the screen when
cells are written one by one.
"""

import contextlib
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS, ROWS = 120, 40
LOOK = 0.004
"""Seconds between two looks at a screen."""

SETTINGS = (
    "set -g status off",
    "set -s escape-time 0",
    "set -g default-terminal tmux-256color",
    "set -as terminal-features ',*:RGB'",
)


class Tmux:
    """A private tmux server and its client in control mode."""

    def __init__(self) -> None:
        named = f"bench-{os.getpid()}"
        apart = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE")}
        command = ["tmux", "-L", named, "-f", os.devnull, "-C", "new-session", "-s", "none", "cat"]
        self._client = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=apart
        )
        self._answer()
        for setting in SETTINGS:
            self.ask(setting)

    def ask(self, command: str) -> list[str]:
        """Return the lines of tmux's response to *command*. Raises LookupError when tmux refuses
        it."""
        assert self._client.stdin is not None
        self._client.stdin.write(command + "\n")
        self._client.stdin.flush()
        return self._answer()

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError, LookupError, EOFError):
            self.ask("kill-server")
        self._client.wait()

    def _answer(self) -> list[str]:
        assert self._client.stdout is not None
        lines: list[str] | None = None
        for line in map(str.rstrip, self._client.stdout):
            word = line.partition(" ")[0]
            if lines is None:
                lines = [] if word == "%begin" else None
            elif word == "%end":
                return lines
            elif word == "%error":
                raise LookupError("; ".join(lines))
            else:
                lines.append(line)
        raise EOFError("tmux has ended.")


@dataclass(frozen=True)
class Pane:
    """One program's terminal. *begun* is its start, of ``time.monotonic``."""

    tmux: Tmux
    name: str
    pid: int
    begun: float

    def screen(self) -> str:
        """The current screen, empty once the program has ended."""
        try:
            return "\n".join(self.tmux.ask(f"capture-pane -p -t {self.name}:"))
        except LookupError:
            return ""

    def press(self, *keys: str) -> float:
        """Press *keys* by tmux's names; return the time."""
        now = time.monotonic()
        self.tmux.ask(f"send-keys -t {self.name}: {shlex.join(keys)}")
        return now

    def type(self, text: str) -> float:
        now = time.monotonic()
        self.tmux.ask(f"send-keys -t {self.name}: -l {shlex.quote(text)}")
        return now

    def when(self, holds: Callable[[str], object], seconds: float) -> float:
        """Return when *holds* was first true of the screen. Raises TimeoutError after *seconds*."""
        until = time.monotonic() + seconds
        while not holds(shown := self.screen()):
            if time.monotonic() > until:
                raise TimeoutError(shown)
            time.sleep(LOOK)
        return time.monotonic()

    def shows(self, pattern: str, seconds: float = 30.0) -> float:
        found = re.compile(pattern)
        return self.when(found.search, seconds)


@contextlib.contextmanager
def pane(
    tmux: Tmux, name: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path
) -> Iterator[Pane]:
    """Run *argv* on a terminal of its own, with only *env* in its environment."""
    words = ["env", "-i", *(f"{key}={value}" for key, value in env.items()), *argv]
    size = f"-x {COLUMNS} -y {ROWS} -c {shlex.quote(str(cwd))}"
    begun = time.monotonic()
    tmux.ask(f"new-session -d -s {name} {size} {_quoted('exec ' + shlex.join(words))}")
    pid = int(tmux.ask(f"display-message -p -t {name}: '#{{pane_pid}}'")[0])
    try:
        yield Pane(tmux, name, pid, begun)
    finally:
        with contextlib.suppress(LookupError):
            tmux.ask(f"kill-session -t {name}")


def _quoted(text: str) -> str:
    """Return *text* as one word of tmux's command language."""
    for sign in '\\"$':
        text = text.replace(sign, "\\" + sign)
    return f'"{text}"'
