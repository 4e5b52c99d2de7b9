"""Relations of paths."""

import os
from collections.abc import Iterable


def below(path: str, folder: str) -> bool:
    """Return whether *path* is *folder* or inside it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def outermost(path: str, roots: Iterable[str]) -> str | None:
    """Return the shortest of *roots* that contains *path*."""
    return min((root for root in roots if below(path, root)), key=len, default=None)


def existing(paths: Iterable[str]) -> set[str]:
    """Return where *paths* lead to, without those that do not exist."""
    return {real for path in paths if os.path.exists(real := os.path.realpath(path))}


def first_missing(path: str) -> str:
    """Return the shortest part of *path* that does not exist; *path* itself if it does."""
    while not os.path.lexists(parent := os.path.dirname(path)):
        path = parent
    return path
