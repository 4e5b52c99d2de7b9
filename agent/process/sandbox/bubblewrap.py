"""The command line of bubblewrap.

A command gets the file system of the machine read-only, its own processes, shared memory and
devices, and no capability that could undo that. Mounts then open what can be written and cover
what is protected or hidden. A mount point can't be renamed or removed, so every folder above a
protected or hidden path, up to the writable folder, is made one.
"""

import contextlib
import os
import stat
import time
from collections.abc import Iterable

from agent.process.sandbox.landlock import ABSTRACT_SOCKETS, SCOPES_SINCE
from agent.process.sandbox.launcher import BACKGROUND, DIES, PREFIX
from agent.process.sandbox.policy import (
    SandboxPolicy,
    below,
    existing,
    first_missing,
    guarded,
    has_network,
    is_open,
    outermost,
    prepared,
    reopened,
)
from agent.process.sandbox.restrict_and_exec import FILTER_FD, HOLD_FD, is_reserved
from agent.process.sandbox.seccomp import (
    INET,
    INET6,
    NETLINK,
    UNIX,
    Filter,
    architecture,
    program,
)
from agent.records.frozen import frozen

TEMPORARY = "/dev/tmp"
"""The private temporary folder of level *read-only*."""

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a mount of the sandbox's own

RUNTIME = "/run"
"""The folder of sockets and credentials of services."""

KEPT_OF_RUNTIME = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
"""The folders with the programs of NixOS."""

ROOT_CAPABILITIES = (
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETGID", "CAP_SETUID",
)  # fmt: skip
"""The capabilities that root keeps, for access to files whatever their owner. They change no
mounts."""

READ_ONLY_FILTER = Filter(sockets=(), shared=False)
WRITE_FILTER = Filter(sockets=(UNIX, INET, INET6, NETLINK))


@frozen
class Bubblewrap:
    """The program, and the way it works on this machine."""

    program: str
    as_root: bool
    """True if root needs no user namespace, which would hide the owners of files."""
    landlock: int = 0
    """The version of Landlock, which adds the scope of abstract sockets."""

    def wrap(self, argv: tuple[str, ...], policy: SandboxPolicy, directory: str) -> tuple[str, ...]:
        """Return the command line that runs *argv* under *policy*."""
        mounts = Mounts(policy, directory)
        return (
            *PREFIX,
            *self._orders(policy, mounts),
            "--",
            self.program,
            *self._isolation(policy),
            *mounts.words,
            *(("--sync-fd", str(HOLD_FD)) if mounts.reserved else ()),
            "--chdir",
            directory,
            "--",
            *argv,
        )

    def _orders(self, policy: SandboxPolicy, mounts: "Mounts") -> Iterable[str]:
        machine = architecture()
        if machine is not None:
            rules = READ_ONLY_FILTER if policy.level == "read-only" else WRITE_FILTER
            yield f"pass-filter={program(rules, machine).hex()}"
        if self.landlock >= SCOPES_SINCE and has_network(policy):
            # The network is that of the machine, and with it the abstract sockets.
            yield f"handled=0,0,{ABSTRACT_SOCKETS}"
        if policy.level == "workspace-write":
            yield BACKGROUND
        for path in mounts.reserved:
            yield f"reserve={path}"
        if mounts.reserved:
            yield "hold="

    def _isolation(self, policy: SandboxPolicy) -> Iterable[str]:
        yield from ("--unshare-pid", "--unshare-ipc", "--new-session", "--cap-drop", "ALL")
        if self.as_root:
            for capability in ROOT_CAPABILITIES:
                yield from ("--cap-add", capability)
        else:
            yield "--unshare-user"
        if not has_network(policy):
            yield "--unshare-net"
        yield DIES
        if architecture() is not None:
            yield from ("--seccomp", str(FILTER_FD))


class Mounts:
    """The mounts of a policy, from the shallowest path to the deepest."""

    def __init__(self, policy: SandboxPolicy, directory: str) -> None:
        writes = policy.level == "workspace-write"
        self._writable = existing(map(prepared, policy.writable)) if writes else set[str]()
        self._hidden = existing(policy.hidden)
        self._readable = reopened({*existing((*policy.writable, directory))}, self._hidden)
        protected = {guarded(os.path.realpath(path)) for path in policy.protected if writes}
        self._protected = {
            path for path in protected if is_open(path, self._readable, self._hidden)
        }
        # The filter of level read-only refuses all sockets.
        self._sockets = {
            path
            for path in (bound_sockets() if writes or architecture() is None else ())
            if not below(path, RUNTIME) and not self._is_own(path, policy)
        }
        self.reserved = sorted(self._missing())
        """Protected paths that do not exist: a folder takes their place."""
        self.words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        self._read_only = ["/proc"]
        if policy.level == "read-only":
            self._add_temporary()
        if os.path.isdir(RUNTIME):
            self._replace_runtime(directory)
        for mount in self._ordered():
            self.words += mount
        for path in self._read_only:
            self.words += ["--remount-ro", path]

    def _is_own(self, path: str, policy: SandboxPolicy) -> bool:
        """Return whether the socket is one of the project's own services."""
        root = outermost(path, self._writable)
        return has_network(policy) and root is not None and not below(root, "/tmp")  # noqa: S108

    def _missing(self) -> set[str]:
        paths = {path for path in self._protected if outermost(path, self._writable) is not None}
        missing = {first_missing(path) for path in paths}
        return {path for path in missing if not os.path.lexists(path) or is_reserved(path)}

    def _add_temporary(self) -> None:
        self.words += ["--tmpfs", TEMPORARY, "--tmpfs", SHARED_MEMORY]
        for name in ("TMPDIR", "TMP", "TEMP"):
            self.words += ["--setenv", name, TEMPORARY]
        self._read_only += [SHARED_MEMORY, "/dev"]

    def _replace_runtime(self, directory: str) -> None:
        self.words += ["--tmpfs", RUNTIME]
        self._read_only.append(RUNTIME)
        for path in (*KEPT_OF_RUNTIME, os.path.realpath("/etc/resolv.conf"), directory):
            if below(path, RUNTIME):
                self.words += ["--ro-bind-try", path, path]

    def _ordered(self) -> list[list[str]]:
        steps = {path: ["--ro-bind", path, path] for path in self._readable}
        for path in self._writable:
            steps[path] = ["--bind", path, path]
        for path in (*self._protected, *self._hidden):
            for parent in _between(path, outermost(path, self._writable)):
                steps.setdefault(parent, ["--bind", parent, parent])
        for path in (*self._protected, *self.reserved):
            if outermost(path, self._writable) is not None:
                steps[path] = ["--ro-bind-try", path, path]
        for path in self._sockets:
            steps[path] = ["--ro-bind", os.devnull, path]
        for path in self._hidden:
            steps[path] = self._hide(path)
        return [steps[path] for path in sorted(steps, key=lambda path: (path.count("/"), path))]

    def _hide(self, path: str) -> list[str]:
        if not os.path.isdir(path):
            return ["--ro-bind", os.devnull, path]
        self._read_only.append(path)
        # What is open inside has to be reached.
        mode = "0111" if any(below(inside, path) for inside in self._readable) else "0000"
        return ["--perms", mode, "--tmpfs", path]


def _between(path: str, root: str | None) -> Iterable[str]:
    """Yield the existing folders above *path* that are inside *root*."""
    parent = os.path.dirname(path)
    while root is not None and parent != root and below(parent, root):
        if os.path.isdir(parent):
            yield parent
        parent = os.path.dirname(parent)


# Unix sockets that programs outside a sandbox listen on.

BOUND_SOCKETS = "/proc/net/unix"
PATH_FIELD = 7
"""Fields of a line before the path, which can contain spaces."""

SETTLED = 1.0
"""Age in seconds from which a socket is covered. Many live shorter than bubblewrap takes to start,
and what has vanished by then can't be covered."""


def bound_sockets(table: str = BOUND_SOCKETS) -> list[str]:
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
