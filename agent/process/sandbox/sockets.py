"""Unix sockets that programs outside a sandbox listen on."""

import contextlib
import os
import stat

BOUND = "/proc/net/unix"
PATH_FIELD = 7
"""Fields of a line before the path, which can contain spaces."""


def bound_sockets(table: str = BOUND) -> list[str]:
    """Return the paths of all sockets that are bound to a file (Linux)."""
    found: set[str] = set()
    with contextlib.suppress(OSError), open(table, encoding="utf-8", errors="replace") as file:
        next(file, None)
        for line in file:
            fields = line.rstrip("\n").split(maxsplit=PATH_FIELD)
            if len(fields) > PATH_FIELD and fields[PATH_FIELD].startswith("/"):
                found.add(os.path.realpath(fields[PATH_FIELD]))
    return sorted(path for path in found if _is_socket(path))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False
