"""Paths that models give: resolve them, show them, and list the permissions that they need.

Permissions are for the *real* path (links resolved); deny rules also apply to the name that the
model gave.
"""

import errno
import itertools
import os
from pathlib import Path
from posixpath import dirname, expanduser, join
from typing import Literal

from agent.files import printable
from agent.files.disk import NotRegular
from agent.installation import documentation_folder
from agent.permission.protected import has_secret_name, is_guarded, is_secret
from agent.permission.shell.paths import folder_pattern
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.requests import Action, PermissionNeed
from agent.tools.core.tool import ToolContext

SENSITIVE_REASON = "may contain secrets"
PROTECTED_REASON = "controls the agent or the repository, so it always asks"
OUTSIDE_REASON = "outside the project"

MAX_WALKED = 10_000
"""Files that are searched for one of the same or a similar name."""

MIN_SIMILARITY = 80
"""Percent of similarity of a name in another folder: more than in the same one, where a name is
likelier meant."""


@frozen
class ToolPath:
    """A path that a model gave."""

    path: str
    """Absolute, with links kept."""

    real: str
    """Absolute, with links resolved."""

    shown: str
    """For users and the model: relative to the project where possible."""

    pattern: str
    """*path* for permission rules: relative to the project, else absolute."""

    real_pattern: str
    """*real* for permission rules."""

    outside: bool
    """*real* is outside the project."""

    project: str
    """The root of the project, resolved."""

    @property
    def is_secret(self) -> bool:
        named = is_secret(self.path) or is_secret(self.real)
        return named or has_secret_name(self.real, self.project)

    @property
    def is_protected(self) -> bool:
        return is_guarded(self.pattern, self.path) or is_guarded(self.real_pattern, self.real)


def resolve_path(given: str, ctx: ToolContext) -> ToolPath:
    """Resolve *given* in the folders of a session; see ``path_in``."""
    return path_in(ctx.directory, ctx.project, given)


def path_in(directory: str, project_folder: str, given: str) -> ToolPath:
    """Resolve *given*: ``~`` expands, relative paths start at *directory*.

    Results show paths relative to the project, so a path that exists only there is found too.
    """
    if not given.strip():
        raise ToolError("The path is empty. Give the path of a file or folder.")
    if "\0" in given:
        raise ToolError("The path contains a NUL byte. Give a plain path.")
    try:
        joined = join(directory, expanduser(given))
        shown = join(project_folder, given)
        if not os.path.lexists(joined) and os.path.lexists(shown):
            joined = shown
        real = os.path.realpath(joined)
        path = os.path.normpath(joined)
        # "link/.." is not the folder that contains the link: then only the real path is right.
        if os.path.realpath(path) != real:
            path = real
        project = os.path.realpath(project_folder)
    except (OSError, UnicodeEncodeError) as error:
        raise ToolError(f"The path cannot be used: {error}.") from None
    outside = not within(real, project)
    pattern = _pattern(path, project, project_folder)
    real_pattern = _pattern(real, project, project_folder)
    return ToolPath(path, real, printable(pattern), pattern, real_pattern, outside, project)


def within(path: str, folder: str) -> bool:
    """Return whether *path* is *folder* or in it (both absolute and normalized)."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _pattern(path: str, *roots: str) -> str:
    for root in roots:
        if within(path, root):
            return os.path.relpath(path, root)
    return path


def show_path(path: str, ctx: ToolContext) -> str:
    """Return *path* (absolute) relative to the project where possible, always printable."""
    return printable(_pattern(path, ctx.project, os.path.realpath(ctx.project)))


def outside_need(target: ToolPath, *, folder: bool = False) -> tuple[PermissionNeed, ...]:
    """Return the permission for leaving the project, if *target* does. *folder*: it is a folder."""
    if not target.outside:
        return ()
    top = target.real if folder else dirname(target.real)
    real = printable(target.real)
    linked = target.path != target.real
    return (
        PermissionNeed(
            "external_directory",
            top.rstrip("/") + "/*",
            always=folder_pattern(top, target.project, os.path.realpath(Path.home())),
            shown=real,
            reason=f"{target.shown} leads {OUTSIDE_REASON}" if linked else OUTSIDE_REASON,
            aliases=(real, *_aliases(target)),
            root=target.project,
        ),
    )


def _outside_read_need(target: ToolPath, *, folder: bool = False) -> tuple[PermissionNeed, ...]:
    """Return the permission for reading outside the project; the program's documentation is free
    to read."""
    documentation = documentation_folder()
    if documentation is not None and within(target.real, documentation):
        return ()
    return outside_need(target, folder=folder)


def read_needs(target: ToolPath) -> tuple[PermissionNeed, ...]:
    """Return the permissions for reading one file: it is allowed inside the project unless the file
    can contain secrets."""
    secret = target.is_secret
    pattern = printable(target.real_pattern)
    parent = dirname(pattern)
    need = PermissionNeed(
        "read",
        pattern,
        always=f"{parent}/*" if parent and not secret else pattern,
        reason=SENSITIVE_REASON if secret else "",
        default_action="ask" if secret else "allow",
        aliases=_aliases(target),
        root=target.project,
    )
    return (*_outside_read_need(target), need)


def edit_needs(target: ToolPath) -> tuple[PermissionNeed, ...]:
    """Return the permissions for changing one file; no rule allows a protected one."""
    protected = target.is_protected
    pattern = printable(target.real_pattern)
    need = PermissionNeed(
        "edit",
        pattern,
        always=None if protected else pattern,
        reason=PROTECTED_REASON if protected else "",
        strict="guarded" if protected else "",
        aliases=_aliases(target),
        root=target.project,
    )
    return (*outside_need(target), need)


def search_needs(
    permission: Literal["glob", "grep", "list"],
    pattern: str,
    root: ToolPath,
    *,
    folder: bool,
    spill: str | None = None,
) -> tuple[PermissionNeed, ...]:
    """Return the permissions for a search below *root*; a *root* with secrets needs the permission
    to read it too. *spill* is the real path of the folder of kept outputs, free to search."""
    if spill is not None and within(root.real, spill):
        return ()
    default_action: Action = "allow"
    # Only what is listed is a path; the others search for a pattern.
    place = root.project if permission == "list" else ""
    needs = [
        PermissionNeed(
            permission, printable(pattern), always="*", default_action=default_action, root=place
        )
    ]
    if root.is_secret:
        needs.append(
            PermissionNeed(
                "read",
                root.real_pattern,
                always=root.real_pattern,
                reason=SENSITIVE_REASON,
                root=root.project,
            )
        )
    return (*_outside_read_need(root, folder=folder), *needs)


def _aliases(target: ToolPath) -> tuple[str, ...]:
    """Return the name that the model gave, if it leads through a link."""
    return () if target.pattern == target.real_pattern else (printable(target.pattern),)


def refuse_system(target: ToolPath) -> None:
    """Raise ``ToolError`` for devices, process and kernel files: they can block, contain secrets or
    change the machine."""
    for path in (target.path, target.real):
        shared = within(path, "/dev/shm")  # noqa: S108 - named, not used as a temporary folder
        if (within(path, "/dev") and not shared) or within(path, "/proc") or within(path, "/sys"):
            raise ToolError(
                f"{target.shown} is a device, process or kernel file, which the file tools do "
                "not touch. Use bash if you need the information there."
            )


def os_error_message(error: OSError, shown: str, doing: str) -> ToolError:
    """Return an error of the operating system as a sentence. *doing*: "read", "written" …"""
    if isinstance(error, NotRegular):
        return ToolError(f"{shown} is a {error.kind}, not a file, and cannot be {doing}.")
    reasons = {
        errno.ENOENT: "it does not exist",
        errno.EACCES: "permission is denied",
        errno.EPERM: "permission is denied",
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EROFS: "the file system is read-only",
        errno.ELOOP: "its links form a loop or were changed in the meantime",
        errno.ENOTDIR: "a part of its path is not a folder",
        errno.EISDIR: "it is a folder",
        errno.ENAMETOOLONG: "its name is too long",
        errno.EFBIG: "it is too large",
    }
    reason = reasons.get(error.errno or 0, (error.strerror or str(error)).lower())
    kept = " The file was left as it was." if doing == "written" else ""
    return ToolError(f"{shown} cannot be {doing}: {reason}.{kept}")


def similar_names(target: ToolPath) -> list[str]:
    """Return up to three similar names in the same folder, the best first."""
    folder, name = Path(target.path).parent, Path(target.path).name
    try:
        names = [entry.name for entry in os.scandir(folder)][:5_000]
    except OSError:
        return []
    # Loaded for a mistyped name only.
    from rapidfuzz import fuzz, process  # kept off the start-up path

    hits = process.extract(name, names, scorer=fuzz.WRatio, limit=3, score_cutoff=60)
    parent = dirname(target.shown)
    return [printable(f"{parent}/{hit[0]}" if parent else hit[0]) for hit in hits]


def names_elsewhere(target: ToolPath, project: str) -> tuple[list[str], list[str]]:
    """Return up to three files of the same name anywhere in *project*, and up to three of a
    similar one, the best first. No more than ``MAX_WALKED`` files are looked at."""
    # Loaded for a mistyped name only.
    from rapidfuzz import fuzz, process  # kept off the start-up path

    from agent.tools.search.tree import walk  # brings pathspec

    name = os.path.basename(target.path)  # compared with 10,000 others
    found = list(itertools.islice(walk(project, hidden=True, ignored=False), MAX_WALKED))
    same = [path for path in found if path.endswith(f"/{name}")][:3]
    names = [os.path.basename(path).casefold() for path in found]
    hits = process.extract(
        name.casefold(), names, scorer=fuzz.ratio, limit=3, score_cutoff=MIN_SIMILARITY
    )
    folder = dirname(target.path)
    near = sorted((found[index] for *_, index in hits), key=lambda p: dirname(p) != folder)
    return (
        [printable(_pattern(path, project)) for path in same],
        [printable(_pattern(path, project)) for path in near],
    )


def missing_file_error(target: ToolPath, project: str = "", *, granted: bool = False) -> ToolError:
    """Return the error for a missing file, with up to three similar names. Blocks.

    *project* is searched for the same name too. Names outside the project are shown only if
    reading there is *granted*.
    """
    if os.path.islink(target.path):  # a string here
        where = printable(os.readlink(target.path))  # as above
        return ToolError(f"{target.shown} is a link to {where}, which does not exist.")
    names: list[str] = []
    if granted or not target.outside:
        inside = bool(project) and not target.outside
        same, near = names_elsewhere(target, project) if inside else ([], [])
        names = list(dict.fromkeys([*same, *near, *similar_names(target)]))[:3]
    hint = f" Did you mean {' or '.join(names)}?" if names else ""
    return ToolError(f"{target.shown} does not exist.{hint}")
