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


def guarded(path: str) -> str:
    """Return what has to stay so that *path* does: a file above it, as ``.git`` in a worktree."""
    parent = os.path.dirname(path)
    while parent != os.path.dirname(parent):
        if os.path.exists(parent):
            return path if os.path.isdir(parent) else parent
        parent = os.path.dirname(parent)
    return path


def reopened(paths: Iterable[str], hidden: Iterable[str]) -> set[str]:
    """Return those of *paths* that are inside a hidden folder, and so have to be opened again."""
    folders = tuple(hidden)
    return {path for path in paths if any(below(path, folder) for folder in folders)} - {*folders}


def is_open(path: str, opened: Iterable[str], hidden: Iterable[str]) -> bool:
    """Return whether *path* can be read: the deepest of *opened* and *hidden* decides."""
    depth = max((len(folder) for folder in hidden if below(path, folder)), default=-1)
    return depth < 0 or any(len(root) > depth and below(path, root) for root in opened)
