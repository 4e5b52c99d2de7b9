"""The filter of system calls, as a program for the kernel (``linux/seccomp.h``).

It closes what neither mounts nor Landlock cover: sockets, typing into a terminal, keys of the
session, and parts of the kernel that no build needs. A call is refused as if it were not
permitted, so programs go on without it.
"""

import errno
import os
import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from agent.records.frozen import frozen

Architecture = Literal["x86_64", "aarch64"]

AUDIT_ARCH: dict[Architecture, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000
LAST_CALL = 469
"""The highest number known here; a later kernel's new calls do not exist for a command."""

LOAD, EQUAL, GREATER, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06  # linux/bpf_common.h
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER, ARCH, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in ``struct seccomp_data``."""

NAMESPACES = 0x7E020080
"""``CLONE_NEW*``: user, mount, process, network, IPC, host name, cgroup and time."""

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
TIOCSTI, TIOCLINUX = 0x5412, 0x541C

CALLS: dict[str, tuple[int, int]] = {
    # name: (x86_64, aarch64); -1: it does not exist there
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280),
    "chmod": (90, -1), "chown": (92, -1), "clock_adjtime": (305, 266),
    "clock_settime": (227, 112), "clone": (56, 220), "clone3": (435, 435),
    "delete_module": (176, 106), "fanotify_init": (300, 262), "fchmod": (91, 52),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "fchown": (93, 55), "fchownat": (260, 54),
    "file_setattr": (469, 469), "finit_module": (313, 273), "fremovexattr": (199, 16),
    "fsconfig": (431, 431), "fsetxattr": (190, 7), "fsmount": (432, 432), "fsopen": (430, 430),
    "fspick": (433, 433), "futimesat": (261, -1), "init_module": (175, 105),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425), "ioctl": (16, 29), "ioperm": (173, -1), "iopl": (172, -1),
    "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219),
    "lchown": (94, -1), "lremovexattr": (198, 15), "lsetxattr": (189, 6), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "mq_open": (240, 180),
    "mq_unlink": (241, 181), "msgget": (68, 186), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "perf_event_open": (298, 241),
    "pivot_root": (155, 41), "prlimit64": (302, 261), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "reboot": (169, 142), "removexattr": (197, 14),
    "removexattrat": (466, 466), "request_key": (249, 218), "semget": (64, 190),
    "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "settimeofday": (164, 170), "setxattr": (188, 5), "setxattrat": (463, 463),
    "shmat": (30, 196), "shmget": (29, 194), "socket": (41, 198), "swapoff": (168, 225),
    "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39), "unshare": (272, 97),
    "userfaultfd": (323, 282), "utime": (132, -1), "utimensat": (280, 88), "utimes": (235, -1),
    "vhangup": (153, 58),
}  # fmt: skip

REFUSED = (
    "acct", "add_key", "adjtimex", "bpf", "clock_adjtime", "clock_settime", "delete_module",
    "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module",
    "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl",
    "kexec_file_load", "kexec_load", "keyctl", "mount", "mount_setattr", "move_mount",
    "open_by_handle_at", "open_tree", "open_tree_attr", "perf_event_open", "pivot_root",
    "quotactl", "quotactl_fd", "reboot", "request_key", "setdomainname", "sethostname", "setns",
    "settimeofday", "swapoff", "swapon", "syslog", "umount2", "userfaultfd", "vhangup",
)  # fmt: skip
"""Calls that no command gets: io_uring would open sockets past the filter."""

ATTRIBUTES = (
    "chmod", "chown", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "file_setattr",
    "fremovexattr", "fsetxattr", "futimesat", "lchown", "lremovexattr", "lsetxattr",
    "removexattr", "removexattrat", "setxattr", "setxattrat", "utime", "utimensat", "utimes",
)  # fmt: skip
"""Changes of modes, owners and times, which Landlock does not cover."""

SHARED = ("mq_open", "mq_unlink", "msgget", "semget", "shmat", "shmget")
"""Memory and queues of all processes of a user."""


@frozen
class Filter:
    """The calls that differ between levels and backends."""

    sockets: tuple[int, ...] = ()
    """Families of sockets that can be opened."""
    attributes: bool = True
    """True if modes, owners and times of files can be changed."""
    shared: bool = True
    """True if memory can be shared with other processes by a key."""


def architecture() -> Architecture | None:
    """Return the architecture of this machine if filters can be made for it."""
    machine = os.uname().machine
    return machine if machine in {"x86_64", "aarch64"} else None  # pyright: ignore[reportReturnType] - just tested


@lru_cache(maxsize=16)
def program(rules: Filter, machine: Architecture) -> bytes:
    """Return the filter for *machine*."""
    code = [
        _step(LOAD, ARCH),
        _step(EQUAL, AUDIT_ARCH[machine], 1, 0),
        _refuse(errno.ENOSYS),
        _step(LOAD, NUMBER),
    ]
    if machine == "x86_64":
        code += [_step(ANY_BIT, X32_BIT, 0, 1), _refuse(errno.ENOSYS)]
    code += [_step(GREATER, LAST_CALL, 0, 1), _refuse(errno.ENOSYS)]
    for name, body in _bodies(rules):
        number = CALLS[name][0 if machine == "x86_64" else 1]
        if number >= 0:
            code += [_step(EQUAL, number, 0, len(body)), *body]
    code.append(_step(RETURN, ALLOW))
    return b"".join(code)


def _bodies(rules: Filter) -> Iterable[tuple[str, list[bytes]]]:
    """Yield what happens at each call: every body ends with a return."""
    for name in REFUSED:
        yield name, [_refuse(errno.EPERM)]
    if not rules.attributes:
        for name in ATTRIBUTES:
            yield name, [_refuse(errno.EROFS)]
    if not rules.shared:
        for name in SHARED:
            yield name, [_refuse(errno.EPERM)]
    yield "clone3", [_refuse(errno.ENOSYS)]  # its flags are in memory; clone takes its place
    for name in ("clone", "unshare"):
        yield (
            name,
            [
                _argument(0),
                _step(ANY_BIT, NAMESPACES, 0, 1),
                _refuse(errno.EPERM),
                _step(RETURN, ALLOW),
            ],
        )
    yield (
        "ioctl",
        [
            _argument(1),
            _step(EQUAL, TIOCSTI, 1, 0),
            _step(EQUAL, TIOCLINUX, 0, 1),
            _refuse(errno.EPERM),
            _step(RETURN, ALLOW),
        ],
    )
    yield (
        "prlimit64",
        [  # limits of other processes
            _argument(0),
            _step(EQUAL, 0, 1, 0),
            _refuse(errno.EPERM),
            _step(RETURN, ALLOW),
        ],
    )
    yield "socket", _sockets(rules.sockets)


def _sockets(families: tuple[int, ...]) -> list[bytes]:
    body = [_argument(0)]
    for family in families:
        body += [_step(EQUAL, family, 0, 1), _step(RETURN, ALLOW)]
    for family in (INET, INET6):
        body += [_step(EQUAL, family, 0, 1), _refuse(errno.ENETUNREACH)]
    return [*body, _refuse(errno.EPERM)]


def _argument(index: int) -> bytes:
    """Load the lower half of an argument: all that the kernel looks at in those tested."""
    return _step(LOAD, FIRST_ARGUMENT + 8 * index)


def _refuse(number: int) -> bytes:
    return _step(RETURN, ERRNO | number)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
