"""Restrictions on commands that the operating system enforces; ``agent.permission.sandbox_policy``
decides on them.

``find_sandbox`` returns what this machine has; its ``wrap`` turns the argv of any program into one
that runs under a ``SandboxPolicy``. docs/security.md states what each backend guarantees.
"""

from agent.process.sandbox.blocked import blocked
from agent.process.sandbox.find import Sandbox, SandboxMissing, SandboxName, find_sandbox
from agent.process.sandbox.policy import (
    SandboxLevel,
    SandboxPolicy,
    SandboxSetting,
    default_caches,
)

__all__ = [
    "Sandbox",
    "SandboxLevel",
    "SandboxMissing",
    "SandboxName",
    "SandboxPolicy",
    "SandboxSetting",
    "blocked",
    "default_caches",
    "find_sandbox",
]
