"""The launcher: the one uniquely named module, and the entry point (spec 0, A6a).

``app`` and ``agent`` are common names: a project that the user works in may have its own.
So before anything of ours is imported, the current folder and the entries of
``PYTHONPATH`` leave ``sys.path``. ``os.environ`` stays as it is, for the user's own
commands.
"""

import contextlib
import gc
import os
import sys


def _own_path(entries: list[str], environment: str | None) -> list[str]:
    foreign = {"", "."}
    for entry in (environment or "").split(os.pathsep):
        if entry:
            foreign.add(os.path.abspath(entry))  # noqa: PTH100 (pathlib costs start-up time)
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    with contextlib.suppress(OSError):  # the folder may be gone: nothing to drop then
        foreign.add(os.getcwd())  # noqa: PTH109
    return [e for e in entries if e == here or (e not in foreign and _absolute(e) not in foreign)]


def _absolute(entry: str) -> str:
    return os.path.abspath(entry) if entry else entry  # noqa: PTH100


def main() -> int:
    """Run the command line and return its exit code."""
    sys.path[:] = _own_path(sys.path, os.environ.get("PYTHONPATH"))
    from app.cli import main as run  # noqa: PLC0415

    code = run(sys.argv[1:])
    gc.freeze()  # the process ends here: nothing is gained by looking for garbage once more
    return code


if __name__ == "__main__":
    sys.exit(main())
