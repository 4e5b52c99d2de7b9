"""The text that is piped into ``opencode-py run``."""

import os
import stat
from dataclasses import dataclass
from typing import TextIO

from app.cli.command_support import announce_wait, is_ready, report

MAX_INPUT = 10_000_000
"""Bytes of standard input that are read."""

SILENCE = (0.4, 0.8)
"""Seconds that an open standard input without a byte can delay a given prompt: before the user is
told, and after. cron, ssh and runners of pipelines leave one open that never ends. A command that
is slower to print its first byte needs a ``-`` after the prompt; what it prints later is reported
at the end."""


@dataclass(slots=True)
class StandardInput:
    """Standard input as a part of the prompt."""

    source: TextIO
    _skipped: bool = False

    def read(self, *, needed: bool) -> str:
        """Return what is piped in; empty if standard input is a terminal or closed, or if nothing
        comes soon and it is not *needed*."""
        try:
            mode = os.fstat(self.source.fileno()).st_mode
            if self.source.isatty() or stat.S_ISCHR(mode):
                return ""
        except (OSError, ValueError, AttributeError):
            return ""
        if needed:
            announce_wait(
                self.source, "Waiting for standard input to end; add < /dev/null if there is none."
            )
        elif not is_ready(self.source, SILENCE[0]):
            report("Waiting for standard input; if nothing comes, the prompt is sent without it.")
            if not is_ready(self.source, SILENCE[1]):
                self._skipped = True
                return ""
        data = self.source.buffer.read(MAX_INPUT + 1)
        if len(data) > MAX_INPUT:
            report(f"Standard input is longer than {MAX_INPUT:,} bytes; the rest is ignored.", 0)
        return data.decode("utf-8", "replace").strip("\n")

    def report_late(self) -> None:
        """Report input that came only after the prompt was sent."""
        if self._skipped and is_ready(self.source, 0) and os.read(self.source.fileno(), 1):
            report(
                "Standard input came after the prompt was sent and was not used. "
                "Add - after the prompt to wait for it."
            )
