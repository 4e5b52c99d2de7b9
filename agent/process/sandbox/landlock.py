"""Landlock: a process that gives up rights, for itself and all that it starts.

The rules name what is allowed, so what is denied has to be spelled as all its neighbors. That
leaves gaps which mounts do not have; docs/security.md lists them.
"""

import ctypes
import os
from collections.abc import Iterable

from agent.process.sandbox.launcher import PREFIX
from agent.process.sandbox.policy import (
    SandboxPolicy,
    existing,
    has_network,
    outermost,
    prepared,
    reopened,
)
from agent.process.sandbox.restrict_and_exec import CREATE_RULESET
from agent.process.sandbox.seccomp import INET, INET6, NETLINK, Filter, architecture, program
from agent.records.frozen import frozen

LEAST_VERSION = 4
"""The first version that covers TCP."""

TRUNCATE_SINCE, SCOPES_SINCE = 3, 6
WRITE_RIGHTS = (1 << 1) | sum(1 << bit for bit in range(4, 14))
"""To write, make, remove and move files and folders."""
TRUNCATE_RIGHT = 1 << 14
NETWORK_RIGHTS = 0b11
"""To bind and to connect TCP sockets."""
ABSTRACT_SOCKETS, SIGNALS = 0b01, 0b10

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""Devices that every command can write to."""

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - semaphores of workers are there

ROOT_CAPABILITIES = sum(1 << number for number in (0, 1, 3, 4, 6, 7))
"""As for bubblewrap: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID and SETUID."""


@frozen
class Landlock:
    """Landlock as this kernel has it."""

    version: int

    def wrap(self, argv: tuple[str, ...], policy: SandboxPolicy, directory: str) -> tuple[str, ...]:
        """Return the command line that runs *argv* under *policy*."""
        return (*PREFIX, *self._orders(policy, directory), "--", *argv)

    def _orders(self, policy: SandboxPolicy, directory: str) -> Iterable[str]:
        writes = policy.level == "workspace-write"
        writable = existing(map(prepared, policy.writable)) if writes else set[str]()
        if not writes:
            yield "temporary="
        yield f"handled={self._handled(policy)}"
        for path in (*DEVICES, *((SHARED_MEMORY,) if writes else ()), *sorted(writable)):
            yield f"write={path}"
        hidden = {
            # Inside a writable folder, new files would become unreadable with it.
            path
            for path in existing(policy.hidden)
            if outermost(path, writable) is None
        }
        for path in sorted(hidden):
            yield f"hide={path}"
        for path in sorted(reopened(existing((*policy.writable, directory)), hidden)):
            yield f"show={path}"
        if os.geteuid() == 0:
            yield f"capabilities={ROOT_CAPABILITIES}"
        machine = architecture()
        assert machine is not None, "a machine without filters has no Landlock"
        yield f"filter={program(_filter(policy), machine).hex()}"

    def _handled(self, policy: SandboxPolicy) -> str:
        files = WRITE_RIGHTS | (TRUNCATE_RIGHT if self.version >= TRUNCATE_SINCE else 0)
        network = 0 if has_network(policy) else NETWORK_RIGHTS
        scopes = ABSTRACT_SOCKETS | SIGNALS if self.version >= SCOPES_SINCE else 0
        return f"{files},{network},{scopes}"


def _filter(policy: SandboxPolicy) -> Filter:
    """A filter without Unix sockets: which of them a command connects to can't be restricted."""
    if policy.level == "read-only":
        return Filter(attributes=False, shared=False)
    return Filter(sockets=(INET, INET6, NETLINK) if policy.network else ())


def landlock_version() -> int:
    """Return the version of Landlock in this kernel; 0 without it."""
    libc = ctypes.CDLL(None)
    libc.syscall.restype = ctypes.c_long
    version = 1  # LANDLOCK_CREATE_RULESET_VERSION
    return max(0, libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), version))
