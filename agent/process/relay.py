"""The relay that controls a command in a terminal of another program, such as an editor.

A terminal has an environment of its own, keys and all, which can be added to and not taken from;
it keeps what it likes of the output; and what ends its command leaves what that has started. So
the command's bash begins, by ``BASH_ENV``, with a program that sees to all three:
``relay_child.py``. Where a terminal cannot reach it, bash runs the command alone, with the
variables that it should not see emptied.
"""

import asyncio
import atexit
import json
import os
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agent.process.child_environment import NON_INTERACTIVE, STARTUP_FILES
from agent.process.tree import MARKER
from agent.records.frozen import frozen
from agent.records.ids import new_id

CHILD_SCRIPT = Path(__file__).with_name("relay_child.py")

SPECIAL = frozenset("$`\\\"'")
"""Characters that bash would expand in the value of ``BASH_ENV``."""


@frozen(kw_only=True)
class EnvironmentFilter:
    """The variables of a terminal that a command gets."""

    excluded: frozenset[str] = frozenset()
    """Variables that are removed."""
    only: frozenset[str] | None = None
    """The only variables that are kept; None keeps all that are not excluded."""


@frozen
class RelayStatus:
    """The end of a command."""

    code: int | None
    """The exit code; None if a signal ended the command."""
    signal: int
    """The number of the signal; 0 if there was none."""
    left: bool
    """True if a background process still has its output open."""


class Relay:
    """The near end: a private folder, and the socket in it. Made in a thread or not, it is used
    from one loop. ``close`` it."""

    def __init__(self, argv: tuple[str, ...], directory: str, passing: EnvironmentFilter) -> None:
        """*argv* is a bash with its command as the last word. Raises ``OSError``."""
        self.id = new_id("cal")
        self._folder = Path(tempfile.mkdtemp(prefix="opencode-py-"))
        self._start = self._folder / "start"
        self._dropped = STARTUP_FILES | passing.excluded
        self._command = argv[-1]
        self._listening = socket.socket(socket.AF_UNIX)
        self._link: socket.socket | None = None
        try:
            _check(self._folder)
            self._listening.bind(str(self._folder / "link"))
            self._listening.listen(1)
            self._listening.settimeout(0)
            self._begin(f"exec {shlex.join(_program(self._folder))}")
            given = {**NON_INTERACTIVE, MARKER: self.id}
            only = None if passing.only is None else sorted(passing.only)
            order = {
                "argv": argv,
                "directory": directory,
                "dropped": sorted(self._dropped),
                "only": only,
                "set": given,
            }
            (self._folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        except OSError:
            self.close()
            raise

    def _begin(self, line: str) -> None:
        """Write the script that bash runs first.

        It acts only for this very command: other shells, and scripts that these run as they start,
        inherit the variable too.
        """
        python = shlex.quote(sys.executable)
        condition = f'[ "${{BASH_EXECUTION_STRING-}}" = {shlex.quote(self._command)} ]'
        script = f"if {condition} && [ -x {python} ]; then\n  {line}\nfi\n"
        self._start.write_text(script, encoding="utf-8", errors="surrogateescape")

    @property
    def env(self) -> Mapping[str, str]:
        """Variables to set in addition to the terminal's own environment."""
        emptied = dict.fromkeys(self._dropped, "")
        return {**emptied, **NON_INTERACTIVE, MARKER: self.id, "BASH_ENV": str(self._start)}

    async def accept(self) -> int:
        """Wait for the far end; a descriptor, to be closed, with what the command prints."""
        self._link, _ = await asyncio.get_running_loop().sock_accept(self._listening)
        self._link.settimeout(0)
        return os.dup(self._link.fileno())

    def hang_up(self) -> None:
        """Have the far end stop the command and its group. Output still arrives."""
        if self._link is not None:
            try:
                self._link.shutdown(socket.SHUT_WR)
            except OSError:
                return  # it has ended

    def status(self) -> RelayStatus | None:
        """Return how the command ended, once the far end has closed; None if that was killed."""
        try:
            status = json.loads((self._folder / "status.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return RelayStatus(status["code"], status["signal"], status["left"])

    def revoke(self) -> None:
        """The terminal can still be opened, by a client that took its time: nothing runs then."""
        self._begin("exit 130")
        self._close_links()
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)

    def close(self) -> None:
        self._close_links()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _close_links(self) -> None:
        self._listening.close()
        if self._link is not None:
            self._link.close()


def _program(folder: Path) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(CHILD_SCRIPT), str(folder))


def _check(folder: Path) -> None:
    if SPECIAL & {*str(folder)}:
        raise OSError(f"{folder} is not a valid name in a shell")
