"""Unix sockets that programs outside a sandbox listen on."""

import contextlib
import os
import stat
import time

BOUND = "/proc/net/unix"
PATH_FIELD = 7
"""Fields of a line before the path, which can contain spaces."""

SETTLED = 1.0
"""Age in seconds from which a socket is covered. Many live shorter than bubblewrap takes to start,
and what has vanished by then can't be covered."""


def bound_sockets(table: str = BOUND) -> list[str]:
    """Return the paths of all settled sockets that are bound to a file (Linux)."""
    found: set[str] = set()
    with contextlib.suppress(OSError), open(table, encoding="utf-8", errors="replace") as file:
        next(file, None)
        for line in file:
            fields = line.rstrip("\n").split(maxsplit=PATH_FIELD)
            if len(fields) > PATH_FIELD and fields[PATH_FIELD].startswith("/"):
                found.add(os.path.realpath(fields[PATH_FIELD]))
    return sorted(path for path in found if _is_settled(path))


def _is_settled(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and time.time() - status.st_ctime >= SETTLED
