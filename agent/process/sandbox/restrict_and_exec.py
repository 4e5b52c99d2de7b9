"""Restricts itself, then becomes another program. It is a program of its own that imports nothing
of the package, so that it starts in some ten milliseconds.

Its arguments are orders, ``--`` and the argv of the program. An order is ``name=value``:

- ``temporary=`` makes a private folder and points TMPDIR to it,
- ``reserve=PATH`` makes an empty folder there, so that a sandbox can cover it,
- ``handled=FILES,NETWORK,SCOPES`` are the rights that Landlock restricts,
- ``write=PATH`` grants them below a path, ``hide=PATH`` denies reading there, and ``show=PATH``
  allows it again below that,
- ``capabilities=MASK`` keeps some of root's rights,
- ``filter=HEX`` installs a filter of system calls,
- ``pass-filter=HEX`` opens such a filter as descriptor 3,
- ``background=`` is for ``agent.process.sandbox.launcher`` alone,
- ``hold=`` opens descriptor 4, which is closed when the sandbox has ended.

Folders that it made are removed at the end. With ``serve FD`` alone it stays, and starts programs
that ``agent.process.sandbox.launcher`` orders over a socket, as children of its own parent: then a
command costs a fork instead of the start of a Python.
"""

from __future__ import annotations

import ctypes
import fcntl
import marshal
import os
import select
import signal
import socket
import stat
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # its module takes longer to load than all else together
    from collections.abc import Iterable

RESERVED_MODE = 0o555
"""Distinguishes an empty folder that was made here from one of the user's."""
ATTEMPTS = 10
COVER = ["--ro-bind", os.devnull]
KEEPER = b"sandbox keeper"
"""The name of a process that cleans up, at most 15 bytes."""

FILTER_FD, HOLD_FD, FIRST_FREE = 3, 4, 5

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on all architectures
CLOSE_RANGE = 436
CAPSET, CLONE = {"x86_64": (126, 56), "aarch64": (91, 220)}.get(os.uname().machine, (-1, -1))
CLONE_PARENT = 0x8000
SET_NAME, SET_NO_NEW_PRIVS, SET_SECCOMP, MODE_FILTER = 15, 38, 22, 2
CAPABILITY_VERSION = 0x20080522

READ_RIGHTS = (1 << 0) | (1 << 2)
"""To execute and to read files. Names can always be listed."""
MOVE_RIGHT = 1 << 13
FILE_RIGHTS = (1 << 0) | (1 << 1) | (1 << 2) | (1 << 14) | (1 << 15)
"""Rights that exist for files that are not folders."""

_libc = ctypes.PyDLL(None, use_errno=True)
_libc.syscall.argtypes = [ctypes.c_long] * 7
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


def call(number: int, *arguments: int) -> int:
    result = _libc.syscall(number, *arguments, *(0,) * (6 - len(arguments)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option: int, first: int, second: int = 0) -> None:
    if _libc.prctl(option, first, second, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def with_bytes(data: bytes) -> ctypes.Array[ctypes.c_char]:
    """Return *data* in memory of its own, which the kernel gets the address of."""
    return ctypes.create_string_buffer(data, len(data))


class Rules:
    """A set of rules of Landlock."""

    def __init__(self, files: int, network: int = 0, scopes: int = 0) -> None:
        self._files = files
        fields = struct.pack("=QQQ", files, network, scopes)
        # An older kernel knows fewer fields; those at the end are zero then.
        size = 24 if scopes else 16 if network else 8
        memory = with_bytes(fields)
        self.descriptor = call(CREATE_RULESET, ctypes.addressof(memory), size, 0)

    def grant(self, path: str, rights: int) -> None:
        """Grant *rights* below *path*, if it exists."""
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if not os.path.isdir(path):
                rights &= FILE_RIGHTS
            memory = with_bytes(struct.pack("=Qi", rights & self._files, opened))
            call(ADD_RULE, self.descriptor, 1, ctypes.addressof(memory), 0)
        finally:
            os.close(opened)


_readable: dict[tuple[str, ...], tuple[list[int], Rules]] = {}


def readable(hidden: tuple[str, ...], shown: tuple[str, ...]) -> Rules:
    """Return the rules that let everything be read except *hidden*, and *shown* inside that.

    Landlock cannot deny, so all the neighbors of a hidden path are granted. The rules are kept
    until one of the folders changes.
    """
    above: set[str] = set()
    for path in hidden:
        folder: str = path
        while folder != "/":
            folder = os.path.dirname(folder)
            above.add(folder)
    folders = sorted(above)
    changes = [_changed(folder) for folder in folders]
    key = (*hidden, "", *shown)
    if key in _readable and _readable[key][0] == changes:
        return _readable[key][1]
    # The kernel keeps a grant with the file, so one for another name of it would open both.
    files = {inode for path in hidden if (inode := _inode(path))}
    rules = Rules(READ_RIGHTS | MOVE_RIGHT)
    rules.grant("/", MOVE_RIGHT)
    for path in shown:
        rules.grant(path, READ_RIGHTS)
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    excluded = entry.path in above or entry.path in hidden
                    excluded = excluded or entry.inode() in files
                    if not excluded and not entry.is_symlink():
                        rules.grant(entry.path, READ_RIGHTS)
        except OSError:
            pass  # what cannot be listed here stays unreadable
    if key in _readable:
        os.close(_readable[key][1].descriptor)
    _readable[key] = (changes, rules)
    return rules


def _inode(path: str) -> int:
    """Return the inode of *path*; 0 if it is missing."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


class Restrictions:
    """The orders for one program, and what was made for it."""

    def __init__(self, words: list[str]) -> None:
        orders: list[tuple[str, str]] = []
        for word in words:
            name, _, value = word.partition("=")
            orders.append((name, value))
        self._orders = dict(orders)
        self._writable = [value for name, value in orders if name == "write"]
        self._hidden = tuple(value for name, value in orders if name == "hide")
        self._shown = tuple(value for name, value in orders if name == "show")
        self._layers: list[int] = []
        self._rules: Rules | None = None
        self.env: dict[str, str] = {}
        self.hold = -1
        """The reading end of a pipe that ends with the sandbox; -1 without one."""
        self._holding = -1
        self.passed: tuple[int, ...] = ()
        """The descriptors that the program gets besides the first three."""
        self._folder = ""
        self._reserved: list[tuple[str, int]] = []
        try:
            for name, value in orders:
                if name == "reserve":
                    self._reserve(value)
            self._prepare()
        except BaseException:
            self.clean()
            raise

    @property
    def leaves(self) -> bool:
        """True if something has to be removed after the end."""
        return bool(self._folder or self._reserved)

    def _prepare(self) -> None:
        if "temporary" in self._orders:
            self._make_folder()
        if "hold" in self._orders:
            self.hold, self._holding = os.pipe()
        if "handled" not in self._orders:
            return
        files, network, scopes = map(int, self._orders["handled"].split(","))
        self._rules = Rules(files, network, scopes)
        for path in self._writable:
            self._rules.grant(path, files)
        self._layers.append(self._rules.descriptor)
        if self._hidden:
            self._layers.append(readable(self._hidden, self._shown).descriptor)

    def _make_folder(self) -> None:
        parent = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - as the C library does
        self._folder = os.path.join(parent, f"opencode-py-{os.urandom(8).hex()}")
        os.mkdir(self._folder, 0o700)
        self._writable.append(self._folder)
        self.env = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), self._folder)

    def _reserve(self, path: str) -> None:
        """Make an empty folder, or share one that another sandbox has made."""
        for _ in range(ATTEMPTS):
            try:
                os.mkdir(path)
                os.chmod(path, RESERVED_MODE)
            except FileExistsError:
                if not is_reserved(path):
                    return  # it came into being meanwhile
            except OSError:
                return  # then the command can't make it either
            try:
                opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except OSError:
                continue
            fcntl.flock(opened, fcntl.LOCK_SH)
            if is_same(opened, path):
                self._reserved.append((path, opened))
                return
            os.close(opened)  # its last user has removed it

    def enter(self) -> None:
        """Apply everything to this process. Raises ``OSError``: then nothing may run."""
        prctl(SET_NO_NEW_PRIVS, 1)
        if "capabilities" in self._orders:
            keep_capabilities(int(self._orders["capabilities"]))
        for layer in self._layers:
            call(RESTRICT_SELF, layer, 0)
        self._pass_descriptors()
        if "filter" in self._orders:
            install_filter(bytes.fromhex(self._orders["filter"]))

    def _pass_descriptors(self) -> None:
        passed: dict[int, int] = {}
        if "pass-filter" in self._orders:
            passed[FILTER_FD] = os.memfd_create("filter")
            os.write(passed[FILTER_FD], bytes.fromhex(self._orders["pass-filter"]))
            os.lseek(passed[FILTER_FD], 0, os.SEEK_SET)
        if self._holding >= 0:
            passed[HOLD_FD] = self._holding
        moved = {
            target: fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
            for target, number in passed.items()
        }
        for target, number in moved.items():
            os.dup2(number, target)
        self.passed = tuple(passed)

    def parent_continues(self) -> None:
        """Close what only the restricted process needs."""
        if self._holding >= 0:
            os.close(self._holding)
            self._holding = -1
        if self._rules is not None:
            os.close(self._rules.descriptor)
            self._rules = None

    def clean(self) -> None:
        """Remove what was made for the program."""
        if self._folder:
            import shutil  # needed at the end only, and slow to load

            shutil.rmtree(self._folder, ignore_errors=True)
        for path, opened in self._reserved:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if is_same(opened, path):
                    os.rmdir(path)
            except OSError:
                pass  # another sandbox uses it
            os.close(opened)
        for descriptor in {self.hold, self._holding} - {-1}:
            os.close(descriptor)
        self._folder, self._reserved, self.hold, self._holding = "", [], -1, -1


def keep_capabilities(mask: int) -> None:
    """Keep only the capabilities in *mask*. Without new privileges, no program gets others."""
    if CAPSET < 0:
        return
    header = with_bytes(struct.pack("=Ii", CAPABILITY_VERSION, 0))
    low, high = mask & 0xFFFFFFFF, mask >> 32
    data = with_bytes(struct.pack("=6I", low, low, 0, high, high, 0))
    call(CAPSET, ctypes.addressof(header), ctypes.addressof(data))


def install_filter(program: bytes) -> None:
    code = with_bytes(program)
    # struct sock_fprog: a number of instructions, and their address
    description = with_bytes(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    prctl(SET_SECCOMP, MODE_FILTER, ctypes.addressof(description))


def is_reserved(path: str) -> bool:
    """Return whether *path* is an empty folder that some sandbox made."""
    try:
        status = os.lstat(path)
        return status.st_mode == stat.S_IFDIR | RESERVED_MODE and not os.listdir(path)
    except OSError:
        return False


def is_same(opened: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(opened), os.lstat(path))
    except OSError:
        return False


def without_vanished(argv: list[str]) -> list[str]:
    """Remove what bubblewrap would cover and has vanished meanwhile, such as a socket."""
    kept: list[str] = []
    end = argv.index("--") if "--" in argv else 0
    index = 0
    while index < end:
        covers = argv[index : index + 2] == COVER
        if not covers or os.path.lexists(argv[index + 2]):
            kept.append(argv[index])
            index += 1
        else:
            index += 3
    return kept + argv[end:]


def close_others(passed: Iterable[int]) -> None:
    """Close everything that was inherited, except the descriptors *passed*."""
    first = max(passed, default=2) + 1
    try:
        call(CLOSE_RANGE, first, 0x7FFFFFFF)
    except OSError:  # an old kernel
        os.closerange(first, 65_536)


def execute(argv: list[str], env: dict[str, str]) -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(argv[0], without_vanished(argv), env)  # noqa: S606 - that is the order


def keep(restrictions: Restrictions) -> None:
    """Fork a process that cleans once the one that called this has ended."""
    waiting = restrictions.hold if restrictions.hold >= 0 else os.pidfd_open(os.getpid())
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    name = with_bytes(KEEPER + b"\0")
    prctl(SET_NAME, ctypes.addressof(name))
    restrictions.parent_continues()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    wait_for([waiting])
    restrictions.clean()
    os._exit(0)


def wait_for(descriptors: Iterable[int], timeout: float | None = None) -> list[int]:
    """Return those of *descriptors* that are ready. *timeout* is in milliseconds."""
    poller = select.poll()
    for descriptor in descriptors:
        poller.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poller.poll(timeout)]


class Server:
    """Starts programs for the process at the other end of a socket, until that closes."""

    LAST = 2000
    """Milliseconds that remaining sandboxes have to end after that."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._kept: dict[int, Restrictions] = {}

    def run(self) -> None:
        control = self._socket.fileno()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            ready = wait_for([control, *self._kept])
            self._clean(ready)
            if control in ready and not self._serve():
                break
        while self._kept and (ready := wait_for(self._kept, self.LAST)):
            self._clean(ready)

    def _clean(self, ready: list[int]) -> None:
        for descriptor in ready:
            restrictions = self._kept.pop(descriptor, None)
            if restrictions is not None:
                is_pidfd = descriptor != restrictions.hold
                restrictions.clean()
                if is_pidfd:
                    os.close(descriptor)

    def _serve(self) -> bool:
        """Read an order and start its program; false at the end of the orders."""
        data, descriptors, _, _ = socket.recv_fds(self._socket, 65_536, 2)
        if not data:
            return False
        size = struct.unpack_from("=Q", data)[0] + 8
        while len(data) < size:
            data += self._socket.recv(size - len(data))
        words, argv, directory, env = marshal.loads(data[8:])  # noqa: S302 - of our parent
        output, errors = descriptors
        for descriptor in descriptors:
            fcntl.fcntl(descriptor, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
        try:
            pid = self._start(words, (argv, directory, env), output, errors)
        except OSError as error:
            pid = -(error.errno or 1)
        os.close(output)
        os.close(errors)
        self._socket.sendall(struct.pack("=q", pid))
        return True

    def _start(
        self,
        words: list[str],
        program: tuple[list[str], str, dict[str, str]],
        output: int,
        errors: int,
    ) -> int:
        restrictions = Restrictions(words)
        pid = call(CLONE, CLONE_PARENT | signal.SIGCHLD)
        if pid == 0:
            become(restrictions, program, output, errors)
        if restrictions.leaves:
            waiting = restrictions.hold if restrictions.hold >= 0 else os.pidfd_open(pid)
            self._kept[waiting] = restrictions
        restrictions.parent_continues()
        if not restrictions.leaves:
            restrictions.clean()
        return pid


def become(
    restrictions: Restrictions,
    program: tuple[list[str], str, dict[str, str]],
    output: int,
    errors: int,
) -> None:
    """Turn this process, a copy of the server, into the program. Never returns."""
    argv, directory, env = program
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.chdir(directory)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # Out of the way of the descriptors that are passed.
        errors = fcntl.fcntl(errors, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
        os.dup2(output, 1)
        os.dup2(output, 2)
        restrictions.enter()
        execute(argv, {**env, **restrictions.env})
    except OSError as error:
        os.write(errors, struct.pack("=i", error.errno or 1))
    finally:
        os._exit(127)


def main(words: list[str]) -> None:
    if words[0] == "serve":
        Server(int(words[1])).run()
        return
    end = words.index("--")
    argv = words[end + 1 :]
    try:
        restrictions = Restrictions(words[:end])
        if restrictions.leaves:
            keep(restrictions)
        restrictions.enter()
        close_others(restrictions.passed)
        execute(argv, {**os.environ, **restrictions.env})
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


if __name__ == "__main__":
    main(sys.argv[1:])
