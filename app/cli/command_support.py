"""The parts that commands of the command line share: parsing, error sentences, exit codes, and the
settings, catalog and session store without the rest of the runtime.

``--help`` loads this module, so the agent package is imported where it is needed.
"""

import argparse
import contextlib
import errno
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

from app.cli.parser import CommandParser

if TYPE_CHECKING:
    import asyncio

    from agent.config.loading import LoadedConfig
    from agent.permission.trust.trust import Trust
    from agent.provider.catalog.catalog import Catalog
    from agent.store.store import Store

DONE, FAILED, USAGE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141
"""Exit codes; the last two as a shell returns them for SIGINT and SIGPIPE."""

UNWRITABLE = frozenset(
    {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
)
"""Errors of standard output, which name no file."""

STDIN_WAIT = 3.0
"""Seconds after which the user is told that standard input is awaited."""

END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that tell a server to end."""

ENDING = 8.0
"""Seconds that a program has to end in order after a signal."""


def command_parser(name: str, description: str, **more: Any) -> argparse.ArgumentParser:
    """Return a parser for the command *name*, to which its arguments are added."""
    return CommandParser(
        prog=f"opencode-py {name}", description=description, allow_abbrev=False, **more
    )


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
    its own handlers; until they are set, a signal exits the program at once. Other work is stopped
    as by an exception, so that it ends what it has started.
    """
    try:
        given = parser.parse_args(argv)
    except SystemExit as stop:  # argparse has printed help or the usage
        return _flushed(stop.code if isinstance(stop.code, int) else USAGE)
    from agent.records.errors import OpencodePyError  # not needed by --help

    received: list[int] = []
    try:
        if not handles_signals:
            received = _stop_on_signals()
        code = _flushed(work(given))
    except OpencodePyError as error:
        return report(error.message, FAILED)
    except (KeyboardInterrupt, EOFError):
        if received:
            return 128 + received[0]
        return report(interrupted_message, INTERRUPTED) if interrupted_message else INTERRUPTED
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename is not None:
            raise
        return _unwritable(error)
    return code


def _flushed(code: int) -> int:
    """Return *code*, or that of an error, once all output has been written."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return _unwritable(error)
    return code


def _unwritable(error: OSError) -> int:
    """Report that standard output cannot be written, unless its reader has left; return the exit
    code."""
    # Without this, Python would report the rest of the output once more as it exits.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    return report(f"The output cannot be written: {error.strerror}.", FAILED)


def _stop_on_signals() -> list[int]:
    """Have SIGINT raise ``KeyboardInterrupt``, and SIGTERM and SIGHUP do the same. Return the list
    that gets their numbers. Ignored signals stay ignored."""
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)  # the second one exits at once
        exit_later(128 + number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)  # a running event loop cancels its work then

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else stop
            signal.signal(number, usual)
    return received


def received_signals() -> "asyncio.Queue[int]":
    """Return the queue of the signals that tell a server to end: each is taken, and the program
    exits soon after it, whatever it still waits for. Call it in the event loop."""
    import asyncio  # not needed by --help

    received: asyncio.Queue[int] = asyncio.Queue()

    def stop(number: int) -> None:
        exit_later(128 + number)
        received.put_nowait(number)

    for number in END_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return received


def exit_later(code: int, seconds: float = ENDING) -> None:
    """Exit with *code* once *seconds* have passed, whatever the program still waits for: it was
    told to end."""

    def end() -> None:
        from agent.process import kill_all  # for a program that does not end

        kill_all()
        os._exit(code)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def announce_wait(source: TextIO, sentence: str) -> None:
    """Report *sentence* if nothing comes from *source*, which is no terminal, for a while."""
    if not is_ready(source, STDIN_WAIT):
        report(sentence)


def is_ready(source: TextIO, seconds: float) -> bool:
    """Return whether *source* can be read, or has ended, within *seconds*."""
    import select  # only for piped input

    try:
        return bool(select.select([source], [], [], seconds)[0])
    except (OSError, ValueError):  # it is no file that can be waited for
        return True


def run_with_store(
    parser: argparse.ArgumentParser,
    argv: list[str],
    work: Callable[["Store", argparse.Namespace], Awaitable[None]],
) -> int:
    """Parse *argv*, run *work* with the session store and return the exit code."""

    async def with_store(arguments: argparse.Namespace) -> None:
        from agent.bus import Bus  # not needed by --help
        from agent.config.paths import Paths, ensure_folder  # as above
        from agent.store.store import Store  # as above

        paths = Paths.find(os.environ)
        store = await Store.open(ensure_folder(paths.data) / "sessions.db", Bus())
        try:
            for notice in store.notices:
                report(notice)
            await work(store, arguments)
        finally:
            await store.close()

    def run(arguments: argparse.Namespace) -> int:
        import asyncio  # not needed by --help

        asyncio.run(with_store(arguments))
        return DONE

    return run_command(parser, argv, run)


async def read_folder_settings() -> "tuple[LoadedConfig, Trust]":
    """Return the settings in force in this folder, with the trust that the user gave it before."""
    from agent.git import project_root  # not needed by --help
    from agent.runtime.service_factories import read_settings  # as above

    return await read_settings(Path.cwd(), await project_root(Path.cwd()), os.environ)


async def open_catalog() -> "tuple[Catalog, tuple[str, ...]]":
    """Return the catalog of the models in this folder, and notices about its settings."""
    from agent.config.paths import Paths  # not needed by --help
    from agent.provider.catalog.from_config import catalog_from_config  # as above

    loaded, _ = await read_folder_settings()
    return catalog_from_config(loaded, Paths.find(os.environ), os.environ), loaded.notices


def report(sentence: str, code: int = DONE) -> int:
    """Write *sentence* to standard error, if that can be written; return *code*."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()
    return code


def typed_path(name: str) -> Path:
    """Return an argument as a path."""
    return Path(name).expanduser()


def dollars(text: str) -> float:
    """Parse an argument that is an amount above 0."""
    amount = float(text)
    if not 0 < amount < math.inf:
        raise argparse.ArgumentTypeError("must be an amount above 0")
    return amount


def positive_int(text: str) -> int:
    """Parse an argument that is at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def print_table(rows: Sequence[Sequence[str]], *, right_from: int = sys.maxsize) -> None:
    """Print *rows* in columns, the headings first; right-aligned from *right_from* on."""
    from rich.cells import cell_len  # not needed by --help

    from app.text.sanitize import sanitize_line  # as above

    cleaned = [[sanitize_line(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cleaned, strict=True)]
    for row in cleaned:
        cells: list[str] = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            pad = " " * (width - cell_len(cell))
            cells.append(pad + cell if at >= right_from else cell + pad)
        print("  ".join(cells).rstrip())


def read_json_lines() -> Iterator[Any]:
    """Yield the values on the lines of standard input."""
    return (json.loads(line) for line in sys.stdin if line.strip())


def write_json_line(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
