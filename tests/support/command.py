"""The command line of this checkout, in a process of its own."""

import subprocess
import sys
from pathlib import Path

from tests.support.harness import environment

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; from app.cli.main import main; sys.exit(main(sys.argv[1:]))"


def run(arguments: list[str], *, cwd: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the program with *arguments* in *cwd*, for a user whose home is *home*."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env={**environment(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
