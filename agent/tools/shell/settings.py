"""The settings of commands, and what the description of ``bash`` says about them."""

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import field
from pathlib import Path

from agent.permission.sandbox_policy.service import CommandSandbox
from agent.process import EnvironmentFilter, child_environment, shell, strict_environment
from agent.records.frozen import frozen
from agent.tools.core.truncate import Truncator

DEFAULT_TIMEOUT = 120.0
MAX_TIMEOUT = 600.0
"""Seconds."""


@frozen(kw_only=True)
class BashSettings:
    """The settings of commands."""

    secret_names: Collection[str] = ()
    """Variables that no command sees."""

    strict_env: bool = False
    """Commands see only a few harmless variables and ``kept_env``."""

    kept_env: Collection[str] = ()
    default_timeout: float = DEFAULT_TIMEOUT
    """Seconds."""

    max_timeout: float = MAX_TIMEOUT
    """Seconds."""

    env: Mapping[str, str] | None = None
    shell: tuple[str, ...] = field(default_factory=shell)
    """The shell and its options, before the text of the command."""

    def environment(self) -> dict[str, str]:
        """Return the environment of a command."""
        inherited = os.environ if self.env is None else self.env
        if self.strict_env:
            return strict_environment(inherited, self.secret_names, self.kept_env)
        return child_environment(inherited, self.secret_names)

    def terminal_environment(self) -> EnvironmentFilter:
        """Return the filter for the environment of a command in the editor's terminal."""
        only = frozenset(self.environment()) if self.strict_env else None
        return EnvironmentFilter(excluded=frozenset(self.secret_names), only=only)


def bash_variables(
    settings: BashSettings, truncator: Truncator, sandbox: CommandSandbox | None
) -> dict[str, str]:
    """Return the values of the slots in the description."""
    return {
        "shell": Path(settings.shell[0]).name,
        "platform": sys.platform,
        "default_timeout_ms": f"{settings.default_timeout * 1000:.0f}",
        "max_timeout_ms": f"{settings.max_timeout * 1000:.0f}",
        "max_lines": f"{truncator.limits.lines:,}",
        "max_kib": str(truncator.limits.bytes // 1024),
        "sandbox": sandbox_text(sandbox),
    }


DESCRIPTION = """
- Commands run in a sandbox, where the machine has one. They can write in the project, the \
session's directory, the temporary folder and the caches of tools, but not `.git/hooks`, \
`.git/config` or the agent's own configuration. There is no network access, not even to localhost. \
What a command starts ends with it.
- Say in `network` why a command needs the network: downloads, remote servers, tests that use a \
local service, and any server you start, because nothing can connect to it otherwise. npm install, \
git push, curl and the like get it once they are allowed.
- If the sandbox blocked something, the result says so. If the command needs it, call again with \
`network` or `unsandboxed` and the reason; the user decides. Use the latter only for what cannot \
work inside, such as docker or writing outside the project. Never work around the sandbox."""


def sandbox_text(sandbox: CommandSandbox | None) -> str:
    """Return the part of the description that explains the sandbox, "" without one."""
    return "" if sandbox is None or sandbox.setting == "off" else DESCRIPTION.strip()
