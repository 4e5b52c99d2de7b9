"""The policy of a command's sandbox: the grant of its call, applied to folders of this machine."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.git import RepositoryPaths, find_repository
from agent.permission.protected import credential_paths, guarded_git_paths, guarded_paths
from agent.permission.rules import NETWORK, UNSANDBOXED
from agent.records.frozen import frozen
from agent.records.requests import EvaluatedNeed, PermissionNeed, PermissionReply, PermissionRequest
from agent.records.sandbox import READ_ONLY, SandboxGrant
from agent.records.sandbox import UNSANDBOXED as NO_SANDBOX

if TYPE_CHECKING:  # loaded with the first command
    from agent.process.sandbox import SandboxPolicy


@frozen(kw_only=True)
class SandboxFolders:
    """The folders of the user and of this program."""

    home: str
    data: str
    """The folder of sessions and logins, which no command can read."""
    readable: tuple[str, ...] = ()
    """Folders in it that commands can read: long outputs that were kept."""
    config: str
    """The folder of the user's settings, which can hold keys."""
    writable: tuple[str, ...] = ()
    """Further folders that commands can write, by the user's settings."""


def policy_of(
    grant: SandboxGrant,
    folders: SandboxFolders,
    *,
    directory: str,
    project: str,
    kept: Sequence[str] = (),
) -> "SandboxPolicy":
    """Return the policy of a command of a session in *directory* (absolute) that was allowed as
    *grant* says; *kept* are files that are hidden from it in any case. Looks at the disk."""
    from agent.process.sandbox import SandboxPolicy, default_caches  # not needed at the start

    hidden = _own_files(folders)
    if grant.level == "read-only":
        hidden = (*hidden, *credential_paths(folders.home))
    used = (directory, project, *grant.folders)
    hidden = tuple(
        path
        for path in hidden
        if not any(_is_inside(folder, path) for folder in used)
        and not any(_is_inside(path, folder) for folder in grant.folders)
    )
    hidden = (*hidden, *kept)
    if grant.level != "workspace-write":
        return SandboxPolicy(grant.level, hidden=hidden)
    repository = find_repository(Path(project))
    roots = tuple(dict.fromkeys((project, directory)))
    outside = tuple(grant.folders) if grant.writes_outside else ()
    protected = dict.fromkeys(_protected((*roots, *outside, *folders.writable), repository))
    guarded = [os.path.normpath(os.path.join(project, path)) for path in grant.guarded]
    writable = (
        *roots,
        *_git_folders(repository),
        *temporary_folders(),
        *default_caches(folders.home),
        *folders.writable,
        *outside,
    )
    closed = tuple(_without(protected, guarded))
    # Only where nothing around it can be written: a file that is opened by itself cannot be
    # replaced by a new one, as git does with its configuration.
    apart = [
        path
        for path in guarded
        if os.path.lexists(path)
        and (
            any(_is_inside(path, one) for one in closed)
            or not any(_is_inside(path, one) for one in writable)
        )
    ]
    return SandboxPolicy(
        "workspace-write",
        writable=tuple(dict.fromkeys((*writable, *apart))),
        protected=closed,
        hidden=hidden,
        network=grant.network,
    )


def _own_files(folders: SandboxFolders) -> tuple[str, ...]:
    """Return the files of this program that hold sessions, logins and keys."""
    kept = set(folders.readable)
    found = [os.path.join(folders.config, name) for name in ("config.json", "config.jsonc")]
    try:
        found += [entry.path for entry in os.scandir(folders.data) if entry.path not in kept]
    except OSError:
        return tuple(found)
    return tuple(found)


def temporary_folders() -> Iterator[str]:
    """Yield the resolved folders for temporary files, which commands can always write."""
    yield os.path.realpath(tempfile.gettempdir())
    for name in ("/tmp", "/var/tmp"):  # noqa: S108 - programs use these whatever TMPDIR says
        if os.path.isdir(name):
            yield os.path.realpath(name)


def _git_folders(repository: RepositoryPaths | None) -> Iterator[str]:
    """Yield the git directories of a linked work tree, which are elsewhere."""
    if repository is not None:
        yield str(repository.common_dir)
        yield str(repository.git_dir)


def _protected(roots: Iterable[str], repository: RepositoryPaths | None) -> Iterator[str]:
    for root in roots:
        yield from guarded_paths(root)
    for git_dir in dict.fromkeys(_git_folders(repository)):
        yield from guarded_git_paths(git_dir)


def _without(protected: Iterable[str], allowed: Iterable[str]) -> Iterator[str]:
    """Yield the *protected* paths without those that are *allowed*. Of a protected folder all that
    is in it stays protected except the allowed file, which may not exist yet."""
    wanted = set(allowed)
    for path in protected:
        inside = [one for one in wanted if one.startswith(f"{path}/")]
        if path in wanted:
            continue
        if not inside or all(os.path.lexists(one) for one in inside):
            yield path
            continue
        try:
            entries = [entry.path for entry in os.scandir(path)]
        except OSError:
            continue
        yield from _without(entries, inside)


def _is_inside(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


# The sandbox that a call gets, derived from how it was allowed.
#
# Nobody else decides it: a call that is proven to only read, and that no rule or answer had to
# allow, writes nothing; what a rule, a mode, a hook or the user allowed writes in the project; only
# the permission ``unsandboxed`` takes a call out.

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
    if not answered and all(need.proven for need in needs):
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


def unproven_commands(needs: Iterable[PermissionNeed]) -> list[PermissionNeed]:
    """Return the commands among *needs* that can change something."""
    return [need for need in needs if need.permission == "bash" and not need.proven]


def as_permission(need: PermissionNeed, permission: str, reason: str = "") -> PermissionNeed:
    """Return the need of *permission* for the command of *need*."""
    return replace(
        need,
        permission=permission,
        reason=reason,
        default_action="ask",
        destructive=False,
        network=False,
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
