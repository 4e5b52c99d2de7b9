"""Running a command of the command line: parse its arguments, report errors in a sentence, return
the exit code."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence

DONE, FAILED, USAGE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141
"""Exit codes; the last two as a shell returns them for SIGINT and SIGPIPE."""


def run_command(
    parser: argparse.ArgumentParser,
    argv: Sequence[str],
    work: Callable[[argparse.Namespace], int],
    *,
    interrupted_message: str = "",
    handles_signals: bool = False,
) -> int:
    """Parse *argv*, run *work* with the result and return the exit code.

    *interrupted_message* is reported when the user interrupts it. Work that *handles_signals* has
    its own handlers; until they are set, a signal exits the program at once.
    """
    try:
        given = parser.parse_args(argv)
    except SystemExit as stop:  # argparse has printed help or the usage
        return stop.code if isinstance(stop.code, int) else USAGE
    from agent.records.errors import OpencodePyError  # not needed by --help

    try:
        if not handles_signals:
            restore_default_signals()
        code = work(given)
        sys.stdout.flush()
    except OpencodePyError as error:
        return report(error.message, FAILED)
    except (KeyboardInterrupt, EOFError):
        return report(interrupted_message, INTERRUPTED) if interrupted_message else INTERRUPTED
    except BrokenPipeError:
        # Without this, Python would report the closed pipe once more as it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return code


def restore_default_signals() -> None:
    """Restore Python's default signal handlers: SIGINT raises ``KeyboardInterrupt``. Before,
    signals exited at once (see the launcher)."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, usual)


def report(sentence: str, code: int = DONE) -> int:
    """Write *sentence* to standard error; return *code*."""
    sys.stderr.write(f"{sentence}\n")
    return code


def positive_int(text: str) -> int:
    """Parse an argument that is at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
