"""The sandbox that a call gets, derived from how it was allowed.

Nobody else decides it: a call that is proven to only read, and that no rule or answer had to allow,
writes nothing; what a rule, a mode, a hook or the user allowed writes in the project; only the
permission ``unsandboxed`` takes a call out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from agent.permission.rules import NETWORK, UNSANDBOXED
from agent.records.requests import EvaluatedNeed, PermissionNeed, PermissionReply, PermissionRequest
from agent.records.sandbox import READ_ONLY, SandboxGrant
from agent.records.sandbox import UNSANDBOXED as NO_SANDBOX

GIT_CONFIG = ".git/config"
BRANCH_COMMANDS = frozenset(
    {"branch", "checkout", "clone", "fetch", "pull", "push", "remote", "switch", "worktree"}
)
"""Commands of git that note branches and remotes in the repository's configuration."""

AllowedByName = Callable[[str, Sequence[PermissionNeed]], bool]
"""Return whether rules that name a permission allow it for each of the commands."""


def grant_of(
    evaluated: Iterable[EvaluatedNeed], allowed_by_name: AllowedByName, *, answered: bool
) -> SandboxGrant:
    """Return the sandbox of a call with these needs once all of them are allowed.

    *answered* is true if the user, or whoever answers for them, allowed it.
    """
    needs = [one.need for one in evaluated]
    commands = unproven_commands(needs)
    if any(need.permission == UNSANDBOXED for need in needs):
        return NO_SANDBOX
    if commands and allowed_by_name(UNSANDBOXED, commands):
        return NO_SANDBOX
    if not answered and all(is_proven(need) for need in needs):
        return READ_ONLY
    network = any(need.network or need.permission == NETWORK for need in needs)
    folders = [folder_of(need) for need in needs if need.permission == "external_directory"]
    return SandboxGrant(
        "workspace-write",
        network=network or (bool(commands) and allowed_by_name(NETWORK, commands)),
        folders=tuple(dict.fromkeys(filter(None, folders))),
        # A command that only reads gets no right to write where it was allowed to read.
        writes_outside=bool(commands),
        guarded=(
            *(n.pattern for n in needs if n.permission == "edit" and n.strict == "guarded"),
            *((GIT_CONFIG,) if commands and all(map(_sets_branches, commands)) else ()),
        ),
    )


def grant_of_reply(request: PermissionRequest, reply: PermissionReply) -> SandboxGrant | None:
    """Return the sandbox of a call that *reply* allows; None for a call that runs in none."""
    leaves = reply.unsandboxed and request.can_leave_sandbox
    return NO_SANDBOX if leaves and request.sandbox is not None else request.sandbox


def is_proven(need: PermissionNeed) -> bool:
    """Return whether the analysis proved that *need* changes nothing and stays in the project."""
    return need.floor == "allow" and not need.strict


def unproven_commands(needs: Iterable[PermissionNeed]) -> list[PermissionNeed]:
    """Return the commands among *needs* that can change something."""
    return [need for need in needs if need.permission == "bash" and not is_proven(need)]


def as_permission(need: PermissionNeed, permission: str, reason: str = "") -> PermissionNeed:
    """Return the need of *permission* for the command of *need*."""
    return replace(
        need, permission=permission, reason=reason, floor="ask", destructive=False, network=False
    )


def requested_needs(
    permission: str, command: str, needs: Iterable[PermissionNeed], reason: str
) -> tuple[PermissionNeed, ...]:
    """Return the needs of a call that asks for *permission* for *reason*: one for each command of
    its line, without those that bring the permission themselves."""
    commands = unproven_commands(needs)
    if not commands:
        return (PermissionNeed(permission, command, reason=reason),)
    return tuple(
        as_permission(need, permission, reason)
        for need in commands
        if not (permission == NETWORK and need.network)
    )


def _sets_branches(need: PermissionNeed) -> bool:
    program, _, rest = need.pattern.partition(" ")
    return program == "git" and rest.partition(" ")[0] in BRANCH_COMMANDS


def folder_of(need: PermissionNeed) -> str:
    """Return the folder outside the project that *need* is about."""
    return need.pattern.removesuffix("*").rstrip("/")
