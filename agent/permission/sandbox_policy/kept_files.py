"""The files that are kept from a command which runs without a question: those that rules for
reading deny or ask for, and those with secrets in folders that it searches."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from agent.git import RepositoryPaths, find_repository
from agent.permission.read_rules import Reach, ReadRules
from agent.permission.shell.findings import SECRETS_BELOW
from agent.records.frozen import frozen
from agent.records.requests import PermissionNeed

MAX_NAMED = 3
"""Files that a note names; of the others it gives the number."""


@frozen
class KeptFiles:
    """Files that a sandbox hides from one command, absolute and resolved."""

    by_rule: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.by_rule, *self.secret)


NOTHING_KEPT = KeptFiles()


def keep_files(
    needs: Sequence[PermissionNeed],
    reaches: Sequence[Reach],
    rules: ReadRules,
    *,
    directory: str,
    hides: bool,
) -> tuple[tuple[PermissionNeed, ...], KeptFiles]:
    """Return the needs of a line whose commands read as *reaches* says, and the files to keep from
    it. If it *hides* files in a sandbox, a line that is proven to only read needs no question for
    them; otherwise the commands that can show them ask. Looks at the disk."""
    # Many commands of a line can reach the same: each look reads whole folders.
    looked = {
        alike: _restricted_files(alike, rules, directory)
        for alike in dict.fromkeys(replace(reach, command="", secrets=()) for reach in reaches)
    }
    found = [looked[replace(reach, command="", secrets=())] for reach in reaches]
    restricted = dict.fromkeys(path for files, _ in found for path in files)
    problems = {
        reach.command: problem or _reason(files, rules)
        for reach, (files, problem) in zip(reaches, found, strict=True)
        if problem or files
    }
    matched = {rules.name(os.path.realpath(path)) for reach in reaches for path in reach.files}

    def is_kept(need: PermissionNeed) -> bool:
        # Of a folder that a pattern matches, what is in it counts.
        proven = need.matched and need.pattern in matched and need.default_action == "allow"
        return proven and not rules.allow(need)

    open_needs = [need for need in needs if not is_kept(need)]
    if not hides or any(problem for _, problem in found) or not _are_proven(open_needs, rules):
        commands = {need.pattern for need in open_needs if need.permission == "bash"}
        others = [PermissionNeed("bash", each) for each in problems if each not in commands]
        every = (*open_needs, *others)
        return tuple(_asking(need, problems.get(need.pattern, "")) for need in every), NOTHING_KEPT
    secret = dict.fromkeys(os.path.realpath(path) for reach in reaches for path in reach.secrets)
    return (
        tuple(
            replace(need, default_action="allow", reason="") if _is_for_secrets(need) else need
            for need in open_needs
        ),
        KeptFiles(tuple(restricted), tuple(path for path in secret if path not in restricted)),
    )


def kept_notes(kept: KeptFiles, rules: ReadRules) -> tuple[str, ...]:
    """Return what was kept from a command, for its result."""
    notes: list[str] = []
    if kept.by_rule:
        notes.append(f"Hidden by read rules: {_listed(kept.by_rule, rules)}.")
    if kept.secret:
        notes.append(
            f"Hidden because they may contain secrets: {_listed(kept.secret, rules)}. "
            "Name one to ask for it."
        )
    return tuple(notes)


def _listed(paths: Sequence[str], rules: ReadRules) -> str:
    more = len(paths) - MAX_NAMED
    names = ", ".join(map(rules.name, paths[:MAX_NAMED]))
    return f"{names} and {more:,} more" if more > 0 else names


def _restricted_files(reach: Reach, rules: ReadRules, directory: str) -> tuple[Sequence[str], str]:
    """Return the files that the rules keep from a command, and the reason if it can show them, or
    others, although they are hidden."""
    if not rules.restrict:
        return (), ""
    repositories = [found for each in reach.repositories if (found := find_repository(Path(each)))]
    roots = tuple(str(repository.root) for repository in repositories)
    whole = replace(reach, folders=(*reach.folders, *roots))
    for folder in map(os.path.realpath, whole.folders):
        if rules.folder_verdict(rules.name(folder)).action == "ask":
            return (), f"reads {rules.name(folder)}, which a read rule asks for"
    found = rules.kept_from(whole, directory)
    if found is None:
        return (), "reads a folder that is too large to search for files that your rules restrict"
    for path in found:
        if any(_is_tracked(path, repository) for repository in repositories):
            return found, f"can show {rules.name(path)}, which git stores and read rules restrict"
    return found, ""


def _reason(files: Sequence[str], rules: ReadRules) -> str:
    return f"reads {_listed(files, rules)}, which your rules restrict" if files else ""


def _are_proven(needs: Iterable[PermissionNeed], rules: ReadRules) -> bool:
    """Return whether a line with *needs* runs without a question once its files are kept."""
    return all(
        (need.proven or _is_for_secrets(need)) and (need.permission != "read" or rules.allow(need))
        for need in needs
    )


def _is_for_secrets(need: PermissionNeed) -> bool:
    """Return whether *need* asks for nothing but files with secrets that can be hidden."""
    return need.permission == "bash" and need.reason == SECRETS_BELOW and not need.strict


def _asking(need: PermissionNeed, reason: str) -> PermissionNeed:
    if need.permission != "bash" or not reason:
        return need
    reason = "; ".join(filter(None, (need.reason, reason)))
    return replace(need, default_action="ask", strict="guarded", always=None, reason=reason)


_COMPRESSED = 4
"""The version of an index that holds only the ends of names."""


def _is_tracked(path: str, repository: RepositoryPaths) -> bool:
    """Return whether the index of *repository* holds the file or folder *path*."""
    name = os.path.relpath(path, os.path.realpath(repository.root))
    if name.startswith("../"):
        return False
    try:
        index = (repository.git_dir / "index").read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    if int.from_bytes(index[4:8], "big") >= _COMPRESSED:
        return True
    end = b"/" if os.path.isdir(path) else b"\0"
    return os.fsencode(name) + end in index
