"""Other names of files: a hard link shows what a file holds under a name that no rule covers."""

import contextlib
import os
from collections.abc import Callable

from agent.permission.protected import UNSEARCHED

MAX_SEARCHED = 20_000
"""Limit of the entries that are looked at: in a larger project, other names can be missed."""

Identity = tuple[int, int]
"""The device and inode of a file."""


def kept_identities(project: str, is_kept: Callable[[str], bool]) -> dict[Identity, str]:
    """Return the files below *project* (absolute) that have several names, for one of which
    *is_kept* holds, with that name. Folders such as ``node_modules`` are left out."""
    found: dict[Identity, str] = {}
    seen, folders = 0, [project]
    while folders and seen <= MAX_SEARCHED:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                seen += 1
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in UNSEARCHED:
                        folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and is_kept(entry.path):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink > 1:
                        found[status.st_dev, status.st_ino] = entry.path
    return found


def shared_identity(path: str) -> Identity | None:
    """Return the identity of the file *path* if it has several names."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if status.st_nlink > 1 else None
