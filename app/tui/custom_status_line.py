"""The user's own status line: a command that gets facts as JSON and prints the line.

The form is Claude Code's, so that its scripts work unchanged.
"""

import asyncio
import json
import logging
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.records.json import JsonObject
from app.terminal.tasks import Tasks
from app.text.sanitize import without_colors

if TYPE_CHECKING:  # loads the agent package
    from agent.runtime.runtime import Runtime

log = logging.getLogger(__name__)

TIME_LIMIT = 5.0
"""Seconds that the command can take."""

PAUSE = 0.3
"""Seconds between two runs."""

MAX_OUTPUT = 10_000
"""Bytes and lines of output that are read."""

_WITH_INPUT = ("/bin/sh", "-c", 'exec <"$1" 2>/dev/null; shift; exec "$@"', "status")


@dataclass(slots=True, eq=False)
class StatusCommand:
    """Runs the command whenever the facts have changed, one run at a time.

    *show* gets the line, empty without a command or if it fails.
    """

    tasks: Tasks
    show: Callable[[str], None]
    env: Mapping[str, str]
    _command: str = field(default="", init=False)
    _directory: str = field(default="", init=False)
    _wanted: JsonObject | None = field(default=None, init=False)
    _latest: JsonObject | None = field(default=None, init=False)
    _running: bool = field(default=False, init=False)

    def configure(self, runtime: "Runtime") -> None:
        """Use the command of the user's settings, if there is one."""
        setting = runtime.config.config.status_line
        self._command = setting.command if setting is not None else ""
        self._directory = str(runtime.directory)
        self._latest = None
        if not self._command:
            self.show("")

    def update(self, facts: JsonObject) -> None:
        """Show the line for *facts*, soon."""
        if not self._command or facts == self._latest:
            return
        self._latest = self._wanted = facts
        if not self._running:
            self._running = True
            self.tasks.spawn(self._run_all(), "the status line")

    async def _run_all(self) -> None:
        try:
            while (facts := self._wanted) is not None and self._command:
                self._wanted = None
                self.show(await self._line(facts))
                await asyncio.sleep(PAUSE)
        finally:
            self._running = False

    async def _line(self, facts: JsonObject) -> str:
        """Return the first line that the command prints for *facts*."""
        from agent.process import Capture, Command, FinishedCommand, SpillStore, run, shell_argv

        with tempfile.TemporaryDirectory(prefix="opencode-py-") as name:
            folder = Path(name)
            given = folder / "facts.json"
            await asyncio.to_thread(given.write_text, json.dumps(facts), "utf-8")
            command = Command(
                argv=(*_WITH_INPUT, str(given), *shell_argv(self._command)),
                directory=self._directory,
                env=dict(self.env),
                timeout=TIME_LIMIT,
            )
            capture = Capture(SpillStore(folder), max_lines=MAX_OUTPUT, max_bytes=MAX_OUTPUT)
            try:
                done = await run(command, capture)
            except OSError as error:
                log.warning("the status line: %s", error)
                return ""
        assert isinstance(done, FinishedCommand)  # it is never moved to the background
        if done.exit_code != 0:
            log.warning("the status line ended with %s", done.exit_code or done.signal or "timeout")
            return ""
        return first_line(done.output.text)


def first_line(printed: str) -> str:
    """Return the first line that is not blank, without anything that a terminal would obey."""
    lines = without_colors(printed).split("\n")
    return next((line.strip() for line in lines if line.strip()), "")
