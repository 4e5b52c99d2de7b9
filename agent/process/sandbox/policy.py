"""Rules that a sandbox enforces on one command."""

import contextlib
import os
import shutil
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
