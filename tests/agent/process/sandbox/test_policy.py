"""Rules of a sandbox that need no sandbox: caches, signs in outputs, the profile of macOS."""

from pathlib import Path

import pytest

from agent.process.sandbox import (
    Sandbox,
    SandboxMissing,
    SandboxPolicy,
    blocked,
    default_caches,
    find_sandbox,
)
from agent.process.sandbox.policy import first_missing, is_open
from agent.process.sandbox.seatbelt import profile

READ_ONLY = SandboxPolicy("read-only")
WRITE = SandboxPolicy("workspace-write", writable=("/home/u/project", "/tmp"))
ONLINE = SandboxPolicy("workspace-write", writable=("/home/u/project",), network=True)


def test_off_leaves_the_command_as_it_is() -> None:
    assert find_sandbox("off").wrap(("ls",), READ_ONLY, "/") == ("ls",)


def test_level_none_leaves_the_command_as_it_is() -> None:
    assert find_sandbox("auto").wrap(("ls",), SandboxPolicy("none"), "/") == ("ls",)


def test_nothing_runs_where_a_required_sandbox_is_missing() -> None:
    sandbox = Sandbox("none", "There is none.", required=True)
    with pytest.raises(SandboxMissing, match=r"There is none\."):
        sandbox.wrap(("ls",), READ_ONLY, "/")
    assert sandbox.wrap(("ls",), SandboxPolicy("none"), "/") == ("ls",)


def test_caches_are_neither_programs_nor_startup_files(tmp_path: Path) -> None:
    for name in (".npm", ".cargo/registry", ".cargo/bin", ".local/bin", ".config"):
        (tmp_path / name).mkdir(parents=True)
    caches = default_caches(str(tmp_path))
    assert str(tmp_path / ".cache") in caches
    assert str(tmp_path / ".npm") in caches
    assert str(tmp_path / ".cargo/registry") in caches
    for name in (".cargo/bin", ".local/bin", ".config", ".bashrc", ".cargo"):
        assert str(tmp_path / name) not in caches


@pytest.mark.parametrize(
    ("output", "policy", "word"),
    [
        ("bash: /etc/x: Read-only file system", READ_ONLY, "only to its temporary folder"),
        ("touch: cannot touch '/etc/x': Read-only file system", WRITE, "/home/u/project"),
        ("Error: EROFS: read-only file system, open '/x'", WRITE, "write"),
        ("OSError: [Errno 30] Read-only file system: '/x'", WRITE, "write"),
        ("bash: /etc/x: Permission denied", WRITE, "probably"),
        ("PermissionError: [Errno 13] Permission denied: '/etc/x'", WRITE, "probably"),
        ("touch: cannot touch '../other/x': Permission denied", WRITE, "probably"),
        ("rm: cannot remove 'file': Permission denied", READ_ONLY, "probably"),
        ("PermissionError: [Errno 1] Operation not permitted", WRITE, "probably"),
        ("curl: (6) Could not resolve host: example.org", WRITE, "network"),
        ("fatal: unable to access: Couldn't resolve host 'x'", WRITE, "network"),
        ("Temporary failure in name resolution", READ_ONLY, "network"),
        ("OSError: [Errno 101] Network is unreachable", READ_ONLY, "network"),
        ("Error: connect ECONNREFUSED 127.0.0.1:5432", WRITE, "network"),
        ("getaddrinfo EAI_AGAIN packages.example.org", WRITE, "network"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", WRITE, "Docker"),
        ("dial unix /var/run/docker.sock: socket: operation not permitted", ONLINE, "socket"),
        ("Could not open a connection to your authentication agent.", ONLINE, "agents"),
        ("gpg: can't connect to the gpg-agent: Permission denied", WRITE, "agents"),
        ("script: failed to create pseudo-terminal: Permission denied", WRITE, "terminal"),
        ("pyenv: cannot rehash: /root/.pyenv/shims isn't writable", WRITE, "/home/u/project"),
        ('sudo: The "no new privileges" flag is set', ONLINE, "another user"),
    ],
)
def test_a_block_is_named(output: str, policy: SandboxPolicy, word: str) -> None:
    said = blocked(output, 1, policy)
    assert word in said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("output", "code", "policy"),
    [
        ("Read-only file system", 0, WRITE),
        ("Read-only file system", 1, SandboxPolicy("none")),
        ("1 test failed", 1, WRITE),
        ("FAILED tests/test_docker_daemon.py", 1, WRITE),
        ("src/agent.sock.ts: 3 errors", 1, WRITE),
        ("", 1, WRITE),
        ("connect ECONNREFUSED 127.0.0.1:5432", 1, ONLINE),
        ("bash: ./script: Permission denied", 126, WRITE),
        ("cat: /home/u/project/locked: Permission denied", 1, WRITE),
    ],
)
def test_other_failures_are_not_the_sandbox(output: str, code: int, policy: SandboxPolicy) -> None:
    assert blocked(output, code, policy) == ""


def test_the_deepest_path_decides() -> None:
    assert is_open("/a/b/c", ("/a/b",), ("/a",))
    assert not is_open("/a/b/c", ("/a",), ("/a/b",))
    assert is_open("/c", (), ("/a",))


def test_the_first_missing_part_of_a_path(tmp_path: Path) -> None:
    assert first_missing(str(tmp_path / "a/b/c")) == str(tmp_path / "a")
    assert first_missing(str(tmp_path)) == str(tmp_path)


def test_the_profile_of_a_read_only_command() -> None:
    text = profile(SandboxPolicy("read-only", writable=("/p",), hidden=("/h/.ssh",), network=True))
    assert text.startswith("(version 1)\n(deny default)\n")
    assert '(allow file-write* (subpath (param "TEMPORARY")))' in text
    assert '(deny file-read* file-write* (subpath "/h/.ssh"))' in text
    assert '"/p"' not in text
    assert "network" not in text


def test_the_profile_of_a_writing_command(tmp_path: Path) -> None:
    project = tmp_path / 'pro"ject'
    (project / ".git").mkdir(parents=True)
    policy = SandboxPolicy(
        "workspace-write",
        writable=(str(project),),
        protected=(str(project / ".git/hooks"),),
        network=True,
    )
    text = profile(policy)
    name = str(project).replace('"', '\\"')
    allow = text.index(f'(allow file-write* (subpath "{name}"))')
    assert text.index(f'(deny file-write* (subpath "{name}/.git/hooks"))') > allow
    assert text.index(f'(deny file-write-unlink (literal "{name}/.git"))') > allow
    assert "(deny network-outbound (remote unix-socket))" in text
