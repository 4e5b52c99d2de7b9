"""The launcher: the program's entry point, and its one module with a unique name.

``app`` and ``agent`` are common names: a project that the user works in may have its own. So before
any package of the program is imported, the current folder and the entries of ``PYTHONPATH`` are
removed from ``sys.path``. ``os.environ`` stays as it is, for the user's own commands.
"""

import contextlib
import gc
import os
import signal
import sys
from types import FrameType

STOPPED = b"Stopped. Nothing was sent.\n"
WINDOWS = "opencode-py needs Linux or macOS. On Windows it runs in WSL: https://aka.ms/wsl\n"


def _own_path(entries: list[str], environment: str | None) -> list[str]:
    """Return *entries* without the current folder and those of ``PYTHONPATH``."""
    foreign = {"", "."}
    for entry in (environment or "").split(os.pathsep):
        if entry:
            foreign.add(os.path.abspath(entry))  # pathlib takes longer to import
    here = os.path.dirname(os.path.abspath(__file__))
    with contextlib.suppress(OSError):  # the folder may be gone: then nothing is removed
        foreign.add(os.getcwd())
    return [e for e in entries if e == here or (e not in foreign and _absolute(e) not in foreign)]


def _absolute(entry: str) -> str:
    return os.path.abspath(entry) if entry else entry


def _exit_on_signals() -> None:
    """Exit at once on signals, with a shell's exit code, until the running command handles them: so
    far nothing was started, and a traceback out of the imports helps nobody. Ignored signals
    (``nohup``, a background job of a script) stay ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _exit_on_signal)


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    del frame
    if sys.argv[1:2] == ["run"]:
        with contextlib.suppress(OSError):  # standard error is closed
            os.write(2, STOPPED)
    os._exit(128 + number)


def _open_standard_files() -> None:
    """Open the standard files that are closed (``>&-``, some services): the next file that the
    program opens, such as its database, would get their place, and their output. Writing to such a
    standard output still fails."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - for good


def main() -> int:
    """Run the command line and return its exit code."""
    if os.name == "nt":
        sys.stderr.write(WINDOWS)
        return 1
    _open_standard_files()
    _exit_on_signals()
    sys.path[:] = _own_path(sys.path, os.environ.get("PYTHONPATH"))
    from app.cli.main import main as run

    code = run(sys.argv[1:])
    try:
        sys.stderr.flush()
    except OSError:  # it cannot be written: Python would try once more, and change the exit code
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    gc.freeze()  # the process exits: one more collection would gain nothing
    return code


if __name__ == "__main__":
    sys.exit(main())
