"""The sandbox of this machine."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agent.process.sandbox.bubblewrap import Bubblewrap
from agent.process.sandbox.policy import SandboxPolicy, SandboxSetting

SandboxName = Literal["bubblewrap", "landlock", "sandbox-exec", "none"]

PROBE_TIMEOUT = 10.0


class SandboxMissing(Exception):
    """A sandbox is required and this machine has none."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The mechanism that restricts commands."""

    name: SandboxName
    reason: str
    """One sentence: why there is none, or why a better one is not used; "" otherwise."""
    backend: Bubblewrap | None = None
    required: bool = False

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
    found, reason = _probe_all()
    if found is None:
        return Sandbox("none", reason, required=setting == "required")
    return Sandbox("bubblewrap", reason, found)


@lru_cache(maxsize=1)
def _probe_all() -> tuple[Bubblewrap | None, str]:
    if sys.platform != "linux":
        return None, f"There is no sandbox for {sys.platform}."
    program = shutil.which("bwrap")
    if program is None:
        return None, "The program bwrap (package bubblewrap) is not installed."
    error = ""
    for as_root in (True, False) if os.geteuid() == 0 else (False,):
        backend = Bubblewrap(program, as_root)
        error = _probe(backend)
        if not error:
            return backend, ""
    return None, f"bubblewrap does not work here: {error}"


def _probe(backend: Bubblewrap) -> str:
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
