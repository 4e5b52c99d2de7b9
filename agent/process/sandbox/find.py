"""The sandbox of this machine."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, Protocol

from agent.process.sandbox.policy import SandboxPolicy, SandboxSetting
from agent.process.sandbox.seccomp import architecture
from agent.records.frozen import frozen


class Backend(Protocol):
    """A mechanism that works on this machine."""

    def wrap(
        self, argv: tuple[str, ...], policy: SandboxPolicy, directory: str
    ) -> tuple[str, ...]: ...


SandboxName = Literal["bubblewrap", "landlock", "sandbox-exec", "none"]
NAMES: dict[str, SandboxName] = {
    "bubblewrap": "bubblewrap",
    "bubblewrap-user": "bubblewrap",
    "landlock": "landlock",
    "sandbox-exec": "sandbox-exec",
}

GAPS_OF_LANDLOCK = (
    "Landlock does not protect files inside the project, such as the hooks of git, and does not "
    "allow local servers without network."
)

PROBE_TIMEOUT = 10.0


class SandboxMissing(Exception):
    """A sandbox is required and this machine has none."""


@frozen
class Sandbox:
    """The mechanism that restricts commands."""

    name: SandboxName
    reason: str
    """One sentence: why there is none, or why a better one is not used; "" otherwise."""
    backend: Backend | None = None
    required: bool = False

    @property
    def protects(self) -> bool:
        """True if protected paths inside a writable folder stay read-only."""
        return self.name in {"bubblewrap", "sandbox-exec"}

    def wrap(self, argv: tuple[str, ...], policy: SandboxPolicy, directory: str) -> tuple[str, ...]:
        """Return the argv that runs *argv* in *directory* under *policy*.

        Raises ``SandboxMissing`` where the policy restricts, a sandbox is required and there is
        none.
        """
        if policy.level == "none":
            return argv
        if self.backend is None:
            if self.required:
                raise SandboxMissing(self.reason)
            return argv
        return self.backend.wrap(argv, policy, directory)


def find_sandbox(setting: SandboxSetting) -> Sandbox:
    """Return the best sandbox that works here. The first call runs a few short commands."""
    if setting == "off":
        return Sandbox("none", "The sandbox is turned off in the settings.")
    name, backend, reason = _probe_all()
    return Sandbox(name, reason, backend, required=setting == "required")


def backends() -> dict[str, Backend]:
    """Return every mechanism that works here, the best one first."""
    return {name: backend for name, backend, error in _probed() if backend and not error}


@lru_cache(maxsize=1)
def _probe_all() -> tuple[SandboxName, Backend | None, str]:
    reasons: list[str] = []
    for name, backend, error in _probed():
        if backend is not None and not error:
            if name == "landlock":
                reasons.append(GAPS_OF_LANDLOCK)
            return NAMES[name], backend, " ".join(reasons)
        reasons.append(error)
    return "none", None, " ".join(reasons)


def _probed() -> Iterator[tuple[str, Backend | None, str]]:
    """Yield each mechanism with the error of its probe, or ""."""
    if sys.platform == "darwin":
        from agent.process.sandbox.seatbelt import Seatbelt  # only there

        yield _tried("sandbox-exec", Seatbelt())
        return
    if sys.platform != "linux":
        yield "none", None, f"There is no sandbox for {sys.platform}."
        return
    # They load ctypes, which the start of the program does without.
    from agent.process.sandbox.bubblewrap import Bubblewrap
    from agent.process.sandbox.landlock import LEAST_VERSION, Landlock, landlock_version

    version = landlock_version()
    program = shutil.which("bwrap")
    if program is None or not os.path.isabs(program):
        yield "bubblewrap", None, "The program bwrap (package bubblewrap) is not installed."
    else:
        if os.geteuid() == 0:
            yield _tried("bubblewrap", Bubblewrap(program, as_root=True, landlock=version))
        yield _tried("bubblewrap-user", Bubblewrap(program, as_root=False, landlock=version))
    if version < LEAST_VERSION or architecture() is None:
        yield "landlock", None, f"Landlock is missing or too old (version {version})."
    else:
        yield _tried("landlock", Landlock(version))


def _tried(name: str, backend: Backend) -> tuple[str, Backend, str]:
    error = _probe(backend)
    return name, backend, error and f"{name} does not work here: {error}"


def _probe(backend: Backend) -> str:
    """Run a command in the sandbox that tries to write; return what is wrong, or ""."""
    with tempfile.TemporaryDirectory(prefix="opencode-py-") as folder:
        script = 'echo written > "$TMPDIR/x" && ! echo escaped 2>&- > x && echo works'
        policy = SandboxPolicy("read-only")
        argv = backend.wrap(("/bin/sh", "-c", script), policy, os.path.realpath(folder))
        try:
            done = subprocess.run(
                argv,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PROBE_TIMEOUT,
                cwd=folder,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        said = done.stdout.decode(errors="replace").strip()
        if os.listdir(folder):
            return "a command could write outside."
        return "" if said == "works" else said or f"exit code {done.returncode}."
