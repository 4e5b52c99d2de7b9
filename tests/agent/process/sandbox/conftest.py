"""A project, its surroundings and a command in each sandbox of this machine."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.process.sandbox import Sandbox, SandboxPolicy
from agent.process.sandbox.find import backends


@dataclass
class Trial:
    """Commands in one sandbox."""

    sandbox: Sandbox
    base: Path
    policies: dict[str, SandboxPolicy] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.base / "project"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    @property
    def secret(self) -> Path:
        return self.base / "secret"

    def policy(self, level: str, *, network: bool = False) -> SandboxPolicy:
        git = self.project / ".git"
        protected = (git / "config", git / "hooks", self.project / "AGENTS.md")
        return SandboxPolicy(
            "read-only" if level == "read-only" else "workspace-write",
            writable=(str(self.project),),
            protected=tuple(map(str, protected)),
            hidden=(str(self.secret), str(self.outside / "token")),
            network=network,
        )

    def run(
        self,
        argv: tuple[str, ...],
        level: str = "workspace-write",
        *,
        network: bool = False,
        pass_fds: tuple[int, ...] = (),
    ) -> "subprocess.CompletedProcess[str]":
        """Run *argv* to its end, and until what the sandbox made is removed."""
        policy = self.policy(level, network=network)
        reading, writing = os.pipe()  # open in the process that removes
        done = subprocess.run(
            self.sandbox.wrap(argv, policy, str(self.project)),
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            pass_fds=(*pass_fds, writing),
            timeout=60,
        )
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        return done

    def sh(self, script: str, level: str = "workspace-write", *, network: bool = False) -> str:
        return self.run(("/bin/sh", "-c", script), level, network=network).stdout

    def python(
        self, code: str, *words: object, level: str = "workspace-write", network: bool = False
    ) -> str:
        """Run *code*, which imports what it wants, with *words* as ``sys.argv[1:]``."""
        argv = (sys.executable, "-I", "-S", "-c", code, *map(str, words))
        return self.run(argv, level, network=network).stdout

    def state(self) -> dict[str, tuple[int, bytes]]:
        """Everything outside the project, with modes and contents."""
        found: dict[str, tuple[int, bytes]] = {}
        for folder in (self.outside, self.secret):
            for path in (folder, *sorted(folder.rglob("*"))):
                content = path.read_bytes() if path.is_file() else b""
                found[str(path)] = (path.lstat().st_mode, content)
        return found


@pytest.fixture(params=["bubblewrap", "bubblewrap-user", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that works on this machine."""
    found = backends()
    if request.param not in found:
        pytest.skip(f"no {request.param} on this machine")
    backend = found[request.param]
    name = "landlock" if request.param == "landlock" else "bubblewrap"
    return Sandbox(name, "", backend)


@pytest.fixture
def trial(sandbox: Sandbox, tmp_path: Path) -> Trial:
    made = Trial(sandbox, Path(os.path.realpath(tmp_path)))
    (made.project / ".git").mkdir(parents=True)
    (made.project / ".git" / "config").write_text("[core]\n")
    (made.project / "file").write_text("text\n")
    made.outside.mkdir()
    (made.outside / "file").write_text("outside\n")
    (made.outside / "token").write_text("S3CRET token\n")
    made.secret.mkdir()
    (made.secret / "key").write_text("S3CRET key\n")
    (made.project / "link").symlink_to(made.outside)
    (made.project / "to-key").symlink_to(made.secret / "key")
    return made
