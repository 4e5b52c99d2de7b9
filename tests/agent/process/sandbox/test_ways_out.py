"""Ways out of a sandbox that are not files: sockets, processes, terminals, the kernel."""

import contextlib
import os
import pty
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.process.sandbox.bubblewrap import bound_sockets
from tests.agent.process.sandbox.conftest import Trial

LEVELS = ("read-only", "workspace-write")

CLIENT = """
import socket, sys
family, kind, address = sys.argv[1:]
family, kind = getattr(socket, family), getattr(socket, kind)
if family == socket.AF_UNIX:
    target = chr(0) + address[1:] if address.startswith("@") else address
else:
    target = ("127.0.0.1", int(address))
try:
    client = socket.socket(family, kind)
    client.connect(target)
    client.send(b"escaped")
    print("sent")
except OSError as error:
    print(error)
"""


@contextlib.contextmanager
def listening(family: int, kind: int, address: object) -> Iterator[socket.socket]:
    with socket.socket(family, kind) as server:
        server.bind(address)  # pyright: ignore[reportArgumentType]
        if kind == socket.SOCK_STREAM:
            server.listen(1)
        server.setblocking(False)
        yield server


def received(server: socket.socket) -> bytes:
    try:
        if server.type == socket.SOCK_DGRAM:
            return server.recv(100)
        accepted, _ = server.accept()
        with accepted:
            return b"connected"
    except BlockingIOError:
        return b""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_no_local_server_is_reached(trial: Trial, level: str, kind: str) -> None:
    with listening(socket.AF_INET, getattr(socket, kind), ("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        trial.python(CLIENT, "AF_INET", kind, port, level=level)
        assert received(server) == b""


def test_a_local_server_is_reached_with_network(trial: Trial) -> None:
    with listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        said = trial.python(CLIENT, "AF_INET", "SOCK_STREAM", port, network=True)
        assert said == "sent\n"
        assert received(server) == b"connected"


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
@pytest.mark.parametrize("place", ["outside", "abstract"])
def test_no_unix_socket_is_reached(
    trial: Trial,
    level: str,
    kind: str,
    place: str,
    network: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    short = Path(os.path.realpath(tmp_path_factory.mktemp("s"))) / "s"
    name = f"@{short}" if place == "abstract" else str(short)
    bound = f"\0{short}" if place == "abstract" else str(short)
    with listening(socket.AF_UNIX, getattr(socket, kind), bound) as server:
        covered = trial.sandbox.name == "bubblewrap" and level == "workspace-write"
        while place == "outside" and covered and name not in bound_sockets():
            pass  # it is too young
        trial.python(CLIENT, "AF_UNIX", kind, name, level=level, network=network)
        assert received(server) == b""


@pytest.fixture
def other_process(trial: Trial) -> Iterator["subprocess.Popen[bytes]"]:
    """A process of the same user, with a secret in its environment and a hidden file open."""
    with (
        (trial.secret / "key").open("rb") as opened,
        subprocess.Popen(
            ["sleep", "60"], env={"TOKEN": "S3CRET"}, pass_fds=(opened.fileno(),)
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("level", LEVELS)
def test_no_other_process_is_touched(
    trial: Trial, other_process: "subprocess.Popen[bytes]", level: str
) -> None:
    code = """
import ctypes, glob, os, sys
pid = int(sys.argv[1])
libc = ctypes.CDLL(None)
for number in (15, 9):
    try:
        os.kill(pid, number)
    except OSError as error:
        print(error)
print(libc.ptrace(16, pid, None, None), libc.ptrace(0x4206, pid, None, None))
for path in (f"/proc/{pid}/environ", f"/proc/{pid}/mem", *glob.glob(f"/proc/{pid}/fd/*")):
    try:
        print(open(path, "rb").read(1000))
    except OSError as error:
        print(error)
try:
    print(os.listdir(f"/proc/{pid}/root"))
except OSError as error:
    print(error)
"""
    said = trial.python(code, other_process.pid, level=level)
    assert other_process.poll() is None
    assert "S3CRET" not in said
    assert "-1 -1" in said


def test_descriptors_are_not_inherited(trial: Trial) -> None:
    with (trial.outside / "file").open("r+b") as opened:
        number = opened.fileno()
        code = "import os, sys\nos.write(int(sys.argv[1]), b'escaped')"
        argv = (sys.executable, "-I", "-S", "-c", code, str(number))
        trial.run(argv, "read-only", pass_fds=(number,))
        trial.run(argv, pass_fds=(number,))
    assert (trial.outside / "file").read_text() == "outside\n"


def test_no_program_gets_more_rights(trial: Trial) -> None:
    said = trial.sh("cat /proc/self/status").splitlines()
    fields = dict(line.split(":\t", 1) for line in said if ":\t" in line)
    assert fields["NoNewPrivs"] == "1"
    # No more than CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID and SETUID.
    assert int(fields["CapPrm"], 16) & ~0xDB == 0


CALLS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
numbers = {"x86_64": sys.argv[1], "aarch64": sys.argv[2]}
arguments = [ctypes.c_long(int(word, 0)) for word in sys.argv[3:]]
result = libc.syscall(ctypes.c_long(int(numbers[os.uname().machine])), *arguments)
print("refused" if result == -1 and ctypes.get_errno() in (1, 38) else f"done: {result}")
"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "words",
    [
        ("425", "425", "8", "0"),
        ("272", "97", "0x10000000"),
        ("250", "219", "0", "-3", "1"),
        ("304", "265", "-100", "0", "0"),
        ("321", "280", "0", "0", "0"),
        ("435", "435", "0", "0"),
        ("500", "500"),
    ],
    ids=["io_uring", "unshare", "keyctl", "open_by_handle", "bpf", "clone3", "unknown"],
)
def test_parts_of_the_kernel_are_out_of_reach(
    trial: Trial, words: tuple[str, ...], level: str
) -> None:
    assert trial.python(CALLS, *words, level=level) == "refused\n"


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_is_typed_into_a_terminal(trial: Trial, level: str) -> None:
    code = """
import fcntl, os, sys
for path in (0, "/dev/tty"):
    try:
        fcntl.ioctl(path if path == 0 else os.open(path, os.O_RDWR), 0x5412, b"x")
        print("typed")
    except OSError as error:
        print(error)
"""
    argv = (sys.executable, "-I", "-S", "-c", code)
    wrapped = trial.sandbox.wrap(argv, trial.policy(level), str(trial.project))
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(wrapped[0], wrapped)
    said = b""
    with contextlib.suppress(OSError):  # the other end was closed
        while data := os.read(terminal, 1000):
            said += data
    os.waitpid(pid, 0)
    os.close(terminal)
    assert said
    assert b"typed" not in said
