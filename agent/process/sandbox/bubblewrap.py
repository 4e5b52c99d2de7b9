"""The command line of bubblewrap.

A command gets the file system of the machine read-only, its own processes, shared memory and
devices, and no capability that could undo that. Mounts then open what can be written and cover
what is protected or hidden. A mount point can't be renamed or removed, so every folder above a
protected or hidden path, up to the writable folder, is made one.
"""

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass

from agent.process.sandbox.policy import SandboxPolicy
from agent.process.sandbox.sockets import bound_sockets

TEMPORARY = "/dev/tmp"
"""The private temporary folder of level *read-only*."""

RUNTIME = "/run"
"""The folder of sockets and credentials of services."""

KEPT_OF_RUNTIME = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
"""Where NixOS has its programs."""

ROOT_CAPABILITIES = (
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETGID", "CAP_SETUID",
)  # fmt: skip
"""What root keeps: access to files whatever their owner. Mounts are out of their reach."""

NAMESPACES = ("--unshare-pid", "--unshare-ipc")


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The program, and the way it works on this machine."""

    program: str
    as_root: bool
    """True if root needs no user namespace, which would hide the owners of files."""

    def wrap(self, argv: tuple[str, ...], policy: SandboxPolicy, directory: str) -> tuple[str, ...]:
        """Return the command line that runs *argv* under *policy*."""
        return (
            self.program,
            *self._isolation(policy),
            *_mounts(policy, directory),
            "--chdir",
            directory,
            "--",
            *argv,
        )

    def _isolation(self, policy: SandboxPolicy) -> Iterable[str]:
        yield from NAMESPACES
        yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
        if self.as_root:
            for capability in ROOT_CAPABILITIES:
                yield from ("--cap-add", capability)
        else:
            yield "--unshare-user"
        if not has_network(policy):
            yield "--unshare-net"


def has_network(policy: SandboxPolicy) -> bool:
    return policy.network and policy.level == "workspace-write"


def _mounts(policy: SandboxPolicy, directory: str) -> list[str]:
    words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    read_only = ["/proc"]
    if policy.level == "read-only":
        words += ["--tmpfs", TEMPORARY]
        for name in ("TMPDIR", "TMP", "TEMP"):
            words += ["--setenv", name, TEMPORARY]
        read_only += ["/dev/shm", "/dev"]  # noqa: S108 - the sandbox's own
        words += ["--tmpfs", "/dev/shm"]  # noqa: S108
    if os.path.isdir(RUNTIME):
        words += ["--tmpfs", RUNTIME]
        read_only.append(RUNTIME)
        for path in {*KEPT_OF_RUNTIME, os.path.realpath("/etc/resolv.conf"), directory}:
            if _is_below(path, RUNTIME):
                words += ["--ro-bind-try", path, path]
    layers = _Layers(policy)
    for mount in layers.mounts():
        words += mount
    read_only += layers.covered
    for path in read_only:
        words += ["--remount-ro", path]
    return words


class _Layers:
    """The mounts of a policy, from the shallowest path to the deepest."""

    def __init__(self, policy: SandboxPolicy) -> None:
        writes = policy.level == "workspace-write"
        self._writable = _existing(map(_prepared, policy.writable)) if writes else set[str]()
        self._protected = {os.path.realpath(path) for path in policy.protected}
        self._hidden = _existing(policy.hidden)
        self._sockets = {
            path
            for path in bound_sockets()
            if not _is_below(path, RUNTIME) and not self._is_own(path, policy)
        }
        self.covered: list[str] = []
        """Empty folders that take the place of hidden ones."""

    def _is_own(self, path: str, policy: SandboxPolicy) -> bool:
        """Return whether the socket is one of the project's own services."""
        root = _outermost(path, self._writable)
        return has_network(policy) and root is not None and not _is_below(root, "/tmp")  # noqa: S108

    def mounts(self) -> list[list[str]]:
        steps: dict[str, list[str]] = {}
        for path in self._writable:
            steps[path] = ["--bind", path, path]
        for path in (*self._protected, *self._hidden):
            for parent in _between(path, _outermost(path, self._writable)):
                steps.setdefault(parent, ["--bind", parent, parent])
        for path in self._protected:
            if _outermost(path, self._writable) is not None and os.path.lexists(path):
                steps[path] = ["--ro-bind", path, path]
        for path in self._sockets:
            steps[path] = ["--ro-bind", os.devnull, path]
        for path in self._hidden:
            steps[path] = self._hide(path)
        return [steps[path] for path in sorted(steps, key=lambda path: (path.count("/"), path))]

    def _hide(self, path: str) -> list[str]:
        if not os.path.isdir(path):
            return ["--ro-bind", os.devnull, path]
        self.covered.append(path)
        return ["--perms", "0000", "--tmpfs", path]


def _prepared(path: str) -> str:
    """Create a folder that can be written and is missing yet, such as a cache."""
    if not os.path.lexists(path):
        with contextlib.suppress(OSError):
            os.makedirs(path, mode=0o700)
    return path


def _existing(paths: Iterable[str]) -> set[str]:
    return {real for path in paths if os.path.exists(real := os.path.realpath(path))}


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _outermost(path: str, roots: Iterable[str]) -> str | None:
    return min((root for root in roots if _is_below(path, root)), key=len, default=None)


def _between(path: str, root: str | None) -> Iterable[str]:
    """Yield the existing folders above *path* that are inside *root*."""
    parent = os.path.dirname(path)
    while root is not None and parent != root and _is_below(parent, root):
        if os.path.isdir(parent):
            yield parent
        parent = os.path.dirname(parent)
