"""Rules that a sandbox enforces on one command."""

import contextlib
import os
import shutil
from collections.abc import Iterable
from typing import Literal

from agent.records.frozen import frozen

SandboxLevel = Literal["read-only", "workspace-write", "none"]
"""*read-only* writes nothing and sends nothing; *workspace-write* writes in named folders."""

SandboxSetting = Literal["auto", "required", "off"]
"""*auto* uses what the machine has; with *required*, nothing runs where it has nothing."""

CACHES = (
    (".cache", "sh"),
    ("Library/Caches", ""),
    (".npm", "npm"),
    (".cargo/registry", "cargo"),
    (".cargo/git", "cargo"),
    (".cargo/.package-cache", ""),
    (".cargo/.package-cache-mutate", ""),
    (".cargo/.global-cache", ""),
    (".bun/install/cache", "bun"),
    (".ccache", "ccache"),
    (".gradle", "gradle"),
    (".ivy2/cache", ""),
    (".local/share/pnpm/store", ""),
    (".m2/repository", "mvn"),
    (".nuget/packages", "dotnet"),
    (".pub-cache/hosted", ""),
    (".sbt/boot", ""),
    (".yarn/berry/cache", ""),
    ("go/pkg/mod", "go"),
    ("go/pkg/sumdb", "go"),
)
"""Folders of a home where tools keep downloads, and the tool that needs it even before it exists.
None of them is on a PATH or is read by a shell."""


@frozen
class SandboxPolicy:
    """Rules for one command. All paths are absolute; the deepest path that fits decides."""

    level: SandboxLevel
    writable: tuple[str, ...] = ()
    """Folders and files that a command of level *workspace-write* can write."""
    protected: tuple[str, ...] = ()
    """Paths that stay read-only inside a writable folder, also those that do not exist yet."""
    hidden: tuple[str, ...] = ()
    """Paths that cannot be read."""
    network: bool = False
    """True if a command of level *workspace-write* can reach the network and this machine."""


def default_caches(home: str) -> tuple[str, ...]:
    """Return the caches of tools below *home*: those that exist, or whose tool is installed."""
    return tuple(
        path
        for name, tool in CACHES
        if os.path.exists(path := os.path.join(home, name)) or (tool and shutil.which(tool))
    )


def has_network(policy: SandboxPolicy) -> bool:
    """Return whether a command under *policy* can reach the network."""
    return policy.network and policy.level == "workspace-write"


def prepared(path: str) -> str:
    """Create a writable folder that is missing yet, such as a cache; return *path*."""
    if not os.path.lexists(path):
        with contextlib.suppress(OSError):
            os.makedirs(path, mode=0o700)
    return path


# Relations of paths.


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
