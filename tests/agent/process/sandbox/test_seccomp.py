"""The filter of system calls, run as the kernel would, for both architectures."""

import errno
import re
import struct
from pathlib import Path

import pytest

from agent.process.sandbox.seccomp import (
    ALLOW,
    AUDIT_ARCH,
    CALLS,
    ERRNO,
    INET,
    REFUSED,
    UNIX,
    Architecture,
    Filter,
    program,
)

MACHINES: tuple[Architecture, ...] = ("x86_64", "aarch64")
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def verdict(code: bytes, arch: int, number: int, *arguments: int) -> int:
    """Return 0 for an allowed call, or the error of a refused one."""
    words = [*arguments, *(0,) * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, arch, 0, *words)
    steps = list(struct.iter_unpack("=HBBI", code))
    value, at = 0, 0
    while True:
        operation, if_true, if_false, operand = steps[at]
        at += 1
        if operation == 0x20:
            value = struct.unpack_from("=I", data, operand)[0]
        elif operation == 0x06:
            return 0 if operand == ALLOW else operand & ~ERRNO
        else:
            test = {0x15: value == operand, 0x25: value > operand, 0x45: bool(value & operand)}
            at += if_true if test[operation] else if_false


def ask(machine: Architecture, rules: Filter, name: str, *arguments: int) -> int:
    number = CALLS[name][MACHINES.index(machine)]
    return verdict(program(rules, machine), AUDIT_ARCH[machine], number, *arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_every_command_pass(machine: Architecture) -> None:
    rules = Filter(sockets=(UNIX, INET))
    assert not any(
        ask(machine, rules, *call)
        for call in (
            ("clone", 0x11), ("unshare", 0x400), ("ioctl", 1, 0x5401), ("prlimit64", 0),
            ("socket", UNIX), ("socket", INET), ("fchmod",), ("shmget",),
        )
    )  # fmt: skip
    numbers = {"x86_64": (0, 1, 59), "aarch64": (63, 64, 221)}[machine]  # read, write, execve
    for number in numbers:
        assert verdict(program(rules, machine), AUDIT_ARCH[machine], number) == 0


@pytest.mark.parametrize("machine", MACHINES)
def test_refused_calls(machine: Architecture) -> None:
    rules = Filter(attributes=False, shared=False)
    for name in REFUSED:
        if CALLS[name][MACHINES.index(machine)] >= 0:
            assert ask(machine, rules, name) == errno.EPERM
    assert ask(machine, rules, "clone", 0x10000000) == errno.EPERM
    assert ask(machine, rules, "unshare", 0x20000) == errno.EPERM
    assert ask(machine, rules, "clone3") == errno.ENOSYS
    assert ask(machine, rules, "ioctl", 0, 0x5412) == errno.EPERM
    # The kernel ignores the upper half.
    assert ask(machine, rules, "ioctl", 0, 0x1_0000_5412) == errno.EPERM
    assert ask(machine, rules, "prlimit64", 1) == errno.EPERM
    assert ask(machine, rules, "socket", INET) == errno.ENETUNREACH
    assert ask(machine, rules, "socket", UNIX) == errno.EPERM
    assert ask(machine, rules, "socket", 40) == errno.EPERM  # to the host of a virtual machine
    assert ask(machine, rules, "fchmod") == errno.EROFS
    assert ask(machine, rules, "shmget") == errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_unknown_calls_do_not_exist(machine: Architecture) -> None:
    code = program(Filter(sockets=(UNIX,)), machine)
    assert verdict(code, AUDIT_ARCH[machine], 470) == errno.ENOSYS
    assert verdict(code, 0x40000003, 1) == errno.ENOSYS  # a program of 32 bits
    assert verdict(code, AUDIT_ARCH[machine], 0x40000001) == errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_kernel(machine: Architecture) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"no headers of {machine} on this machine")
    text = HEADERS[machine].read_text()
    defined = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text))
    for name, numbers in CALLS.items():
        number = numbers[MACHINES.index(machine)]
        if name in defined:
            assert number == int(defined[name]), name
