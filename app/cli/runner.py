"""How every command of the command line begins and ends: its words are read, its faults said in a
sentence, its exit code returned."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence

DONE, FAILED, USAGE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141
"""Exit codes; the last two as a shell gives them for SIGINT and SIGPIPE."""


def run_command(
    parser: argparse.ArgumentParser,
    argv: Sequence[str],
    work: Callable[[argparse.Namespace], int],
    *,
    interrupted_message: str = "",
    handles_signals: bool = False,
) -> int:
    """Do *work* with the words in *argv* and return the exit code. *interrupted* is said when the
    user stops it. Work that *takes_signals* has handlers of its own; until they stand, a signal
    ends the program at once."""
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
        # The reader has seen enough; Python would complain once more while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return code


def restore_default_signals() -> None:
    """From here on signals do what they do in any Python program: SIGINT unwinds. Before, they
    ended this one at once (see the launcher)."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, usual)


def report(sentence: str, code: int = DONE) -> int:
    """Write *sentence* to standard error; returns *code*."""
    sys.stderr.write(f"{sentence}\n")
    return code
