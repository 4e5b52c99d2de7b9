"""The sandbox of a call: what its commands can change, and whether they have the network."""

from typing import Literal, TypeAlias, get_args

from agent.records.frozen import frozen

SandboxLevel: TypeAlias = Literal["read-only", "workspace-write", "none"]
"""The level of a sandbox: commands write nothing, only in the project and its neighborhood, or
there is no sandbox."""

SandboxSetting: TypeAlias = Literal["auto", "required", "off"]
"""The setting: *auto* uses the sandbox that the machine has, with *required* commands run in none
other, *off* uses none."""

ProgramSandbox: TypeAlias = Literal[
    "off", "workspace-write with network", "workspace-write", "read-only"
]
"""The sandbox that the settings give a program of the user's, such as an MCP server or a hook; a
later one restricts more."""

PROGRAM_SANDBOXES: tuple[ProgramSandbox, ...] = get_args(ProgramSandbox)


@frozen
class SandboxGrant:
    """The sandbox that a call was allowed to run in."""

    level: SandboxLevel
    network: bool = False
    folders: tuple[str, ...] = ()
    """Folders outside the project that were allowed for it."""
    writes_outside: bool = False
    """True if it can write those folders too."""
    guarded: tuple[str, ...] = ()
    """Files that govern the agent or the repository and that it can write all the same. Relative
    paths are in the project."""


UNSANDBOXED = SandboxGrant("none", network=True)
"""No sandbox."""

READ_ONLY = SandboxGrant("read-only")
"""The sandbox of commands that are proven to only read."""


def program_grant(sandbox: ProgramSandbox, folder: str) -> SandboxGrant:
    """Return the sandbox of a program that the settings start in *folder* (absolute)."""
    if sandbox == "off":
        return UNSANDBOXED
    if sandbox == "read-only":
        return READ_ONLY
    network = sandbox == "workspace-write with network"
    return SandboxGrant("workspace-write", network=network, folders=(folder,), writes_outside=True)


def sandbox_label(level: SandboxLevel, *, network: bool) -> str:
    """Return the level in a few words: ``workspace-write with network``."""
    if level == "none":
        return "no sandbox"
    return f"{level} with network" if network else level
