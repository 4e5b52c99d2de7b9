"""Half-written files of a writer that was killed: removed when their folder is written next."""

import contextlib
import functools
import os
import re
import stat
import time
from pathlib import Path

LEFTOVER_NAME = re.compile(r"\..{1,56}\.[0-9a-f]{8}\.opencode-py\.tmp", re.DOTALL)
"""The whole name of a file that is being written (``disk.temporary_path``); no other program uses
it."""

LEFTOVER_AGE = 24 * 3600.0
"""Seconds after which a file is no longer being written: that takes less than a second."""

MAX_ENTRIES = 5_000
"""Entries of a folder that are looked at."""


@functools.lru_cache(maxsize=256)
def clear_once(folder: Path) -> None:
    """Call ``clear`` once for each *folder*, and not at every write."""
    clear(folder, time.time())


def clear(folder: Path, now: float) -> None:
    """Remove what was left in *folder* longer than ``LEFTOVER_AGE`` before *now* (seconds since the
    epoch). Only files of this user that match the whole name; files that cannot be removed stay."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for _, entry in zip(range(MAX_ENTRIES), entries, strict=False):
            if LEFTOVER_NAME.fullmatch(entry.name) and _is_old(
                entry.stat(follow_symlinks=False), now
            ):
                Path(entry.path).unlink()


def _is_old(info: os.stat_result, now: float) -> bool:
    """Return whether it is our file and old by its ctime: its mtime can be that of another file."""
    ours = stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid()
    return ours and now - info.st_ctime > LEFTOVER_AGE
