"""The session store for a command, without the rest of the runtime."""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.runner import DONE, run_command

if TYPE_CHECKING:
    from agent.store.store import Store


def run_with_store(
    parser: argparse.ArgumentParser,
    argv: list[str],
    work: Callable[["Store", argparse.Namespace], Awaitable[None]],
) -> int:
    """Parse *argv*, run *work* with the store and return the exit code."""

    def run(arguments: argparse.Namespace) -> int:
        asyncio.run(_with_store(work, arguments))
        return DONE

    return run_command(parser, argv, run)


async def _with_store(
    work: Callable[["Store", argparse.Namespace], Awaitable[None]], arguments: argparse.Namespace
) -> None:
    from agent.bus import Bus  # not needed by --help
    from agent.config.paths import Paths, ensure_folder  # as above
    from agent.store.store import Store  # as above

    paths = Paths.find(os.environ)
    store = await Store.open(ensure_folder(paths.data) / "sessions.db", Bus())
    try:
        for notice in store.notices:
            sys.stderr.write(f"{notice}\n")
        await work(store, arguments)
    finally:
        await store.close()


def current_folder() -> str:
    """Return the folder whose sessions are used."""
    return str(Path.cwd().resolve())


def typed_path(name: str) -> Path:
    """Return the path of a file name as it was typed."""
    return Path(name).expanduser()


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Print *rows* in columns, the first of them as headings."""
    from app.text.sanitize import sanitize_line  # not needed by --help
    from app.text.units import align_columns, column_widths  # as above

    cleaned = [tuple(map(sanitize_line, row)) for row in rows]
    widths = column_widths(cleaned)
    for row in cleaned:
        print(align_columns(row, widths))
