"""The command that starts this program again, for sentences that tell the user to run it."""

import os
import shlex
import shutil
import sys
from pathlib import Path

NAME = "opencode-py"


def own_command(started: str = "", path: str | None = None) -> str:
    """Return what to type to run this program: its name if the shell finds it there (in *path*, the
    value of ``PATH``), else the file that it was *started* with."""
    file = Path(started or sys.argv[0])
    found = shutil.which(NAME, path=path)
    on_path = found is not None and Path(found).resolve() == file.resolve()
    if on_path or not file.is_file():  # started in another way: the name is all that is known
        return NAME
    file = file.absolute()
    shown = f"./{file.relative_to(Path.cwd())}" if file.is_relative_to(Path.cwd()) else str(file)
    words = [shown] if os.access(file, os.X_OK) else [sys.executable, shown]
    return shlex.join(words)
