"""The program in plain mode, with typed lines."""

import subprocess
import sys
from pathlib import Path

from tests.support.installed import InstalledProgram

LAUNCHER = [sys.executable, str(Path(__file__).parents[3] / "opencode_py.py"), "--plain"]


def plain(installed: InstalledProgram, typed: str, **variables: str) -> str:
    env = {**installed.env, **variables}
    done = subprocess.run(
        LAUNCHER, cwd=installed.project, env=env, input=typed.encode(),
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout.decode()
