"""The launcher: the one uniquely named module, and the entry point (spec 0, A6a).

``app`` and ``agent`` are common names: a project that the user works in may have its own.
So before anything of ours is imported, the current folder and the entries of
``PYTHONPATH`` leave ``sys.path``. ``os.environ`` stays as it is, for the user's own
commands.
"""

import contextlib
import gc
import os
import signal
import sys
from types import FrameType

STOPPED = b"Stopped. Nothing was sent.\n"


def _own_path(entries: list[str], environment: str | None) -> list[str]:
    foreign = {"", "."}
    for entry in (environment or "").split(os.pathsep):
        if entry:
            foreign.add(os.path.abspath(entry))  # pathlib costs start-up time
    here = os.path.dirname(os.path.abspath(__file__))
    with contextlib.suppress(OSError):  # the folder may be gone: nothing to drop then
        foreign.add(os.getcwd())
    return [e for e in entries if e == here or (e not in foreign and _absolute(e) not in foreign)]


def _absolute(entry: str) -> str:
    return os.path.abspath(entry) if entry else entry


def _leave_on_signals() -> None:
    """End at once, with the exit code of a shell, until what runs takes the signals itself: so far
    nothing was begun, and a traceback out of the imports tells nobody anything. What is ignored
    (``nohup``, a job of a script in the background) stays so."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    del frame
    if sys.argv[1:2] == ["run"]:
        with contextlib.suppress(OSError):  # nobody reads it
            os.write(2, STOPPED)
    os._exit(128 + number)


def main() -> int:
    """Run the command line and return its exit code."""
    _leave_on_signals()
    sys.path[:] = _own_path(sys.path, os.environ.get("PYTHONPATH"))
    from app.cli.main import main as run

    code = run(sys.argv[1:])
    gc.freeze()  # the process ends here: nothing is gained by looking for garbage once more
    return code


if __name__ == "__main__":
    sys.exit(main())
