"""``opencode-py run`` as a process."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.installed import InstalledProgram

LAUNCHER = [sys.executable, str(Path(__file__).parents[4] / "opencode_py.py"), "run"]
GUARD = 60


def run(
    installed: InstalledProgram, *words: str, given: str | bytes = "", **more: object
) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end, with *given* on standard input."""
    data = given.encode() if isinstance(given, str) else given
    return subprocess.run(
        [*LAUNCHER, *words], cwd=installed.project, env=installed.env, input=data,
        capture_output=True, timeout=GUARD, check=False, **more,  # type: ignore[call-overload]
    )  # fmt: skip


def start(
    installed: InstalledProgram, *words: str, python: tuple[str, ...] = ()
) -> subprocess.Popen[bytes]:
    """Start it without standard input; *python* are options of the interpreter."""
    interpreter, *rest = LAUNCHER
    return subprocess.Popen(
        [interpreter, *python, *rest, *words],
        cwd=installed.project,
        env=installed.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def more_settings(installed: InstalledProgram, **more: object) -> None:
    """Add *more* to the settings."""
    settings = installed.home / "config/config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **more}))
