"""The rules for reading, applied to the many files that a search or a command reaches."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from agent.permission.patterns import PathPatterns, matches
from agent.permission.protected import Identity, kept_identities, shared_identity
from agent.permission.rules import DEFAULT, Rule
from agent.records.frozen import frozen
from agent.records.requests import EvaluatedNeed, PermissionNeed

MAX_WALKED = 50_000
"""Limit of the entries that are looked at for files which the rules keep from a command."""

MAX_KEPT = 200
"""Limit of the files and folders that are kept from one command."""

MAX_FILES_IN_FOLDER = 50
"""Files of a denied folder that are named one by one; with more of them it is named itself."""


@frozen
class Reach:
    """The files that a command which only reads can show, besides those that it names."""

    command: str
    """The command, as its need has it."""

    folders: tuple[str, ...] = ()
    """Folders that are read with all that is in them, absolute."""

    files: tuple[str, ...] = ()
    """The files and folders that its patterns match, absolute."""

    linked: bool = False
    """True if links in the folders are followed."""

    secrets: tuple[str, ...] = ()
    """Files with secrets in the folders, absolute."""

    repositories: tuple[str, ...] = ()
    """Folders of which git shows contents that it has stored."""


class ReadRules:
    """The rules for reading of an agent and its callers, in *sets*, for a *project* (absolute).

    *evaluate* returns the verdict on one need under all of them.
    """

    def __init__(
        self,
        sets: Sequence[Sequence[Rule]],
        evaluate: Callable[[PermissionNeed], EvaluatedNeed],
        project: str,
    ) -> None:
        own = [
            rule
            for rules in sets
            for rule in rules
            if rule.source != DEFAULT and not rule.cautious and matches("read", rule.permission)
        ]
        self._root = os.path.realpath(project)
        self._evaluate = evaluate
        self._restricted = PathPatterns(
            dict.fromkeys(rule.pattern for rule in own if rule.action != "allow"), self._root
        )
        self._loosened = any(rule.action == "allow" for rule in own)
        self.deny = any(rule.action == "deny" for rule in own)
        """True if a rule denies to read something."""
        self.restrict = self.deny or any(rule.action == "ask" for rule in own)
        """True if a rule denies or asks for anything that is read."""

    def restriction(self, path: str, given: str = "") -> EvaluatedNeed | None:
        """Return the verdict on reading *path* (absolute, resolved), which may have been *given*
        through a link; None if no rule denies it or asks for it."""
        if not self.restrict:
            return None
        names = [self.name(path), *([self.name(given)] if given and given != path else [])]
        if not any(map(self._restricted.covers, names)):
            return None
        found = self.verdict(*names)
        return None if found.action == "allow" else found

    def verdict(self, pattern: str, *aliases: str) -> EvaluatedNeed:
        """Return the verdict on reading *pattern*, a path as rules name it."""
        need = PermissionNeed(
            "read", pattern, default_action="allow", aliases=aliases, root=self._root
        )
        return self._evaluate(need)

    def allow(self, need: PermissionNeed) -> bool:
        """Return whether *need* is allowed."""
        return self._evaluate(need).action == "allow"

    def folder_verdict(self, *names: str) -> EvaluatedNeed:
        """Return the verdict on reading all that is in a folder with these *names*, as rules name
        it."""
        inside = ("*" if name == "." else f"{name.rstrip('/')}/*" for name in names)
        return self.verdict(*inside)

    def name(self, path: str) -> str:
        """Return *path* (absolute) as rules name it: relative to the project where possible."""
        if path == self._root:
            return "."
        return path.removeprefix(f"{self._root.rstrip('/')}/")

    def kept_from(self, reach: Reach, inside: str) -> list[str] | None:
        """Return the files, resolved, that the rules keep from a command which reads as *reach*
        says, None if they are too many. A folder stands for many files in it, but never one that
        holds *inside*, the folder of the command. Looks at the disk."""
        if not self.restrict:
            return []
        for few in (MAX_FILES_IN_FOLDER, 0):
            walk = _Walk(self, inside, few, linked=reach.linked)
            found = list(islice(walk.restricted(reach.folders, reach.files), MAX_KEPT + 1))
            found += walk.other_names() if len(found) <= MAX_KEPT else ()
            if len(found) <= MAX_KEPT and not walk.exceeded:
                return found
        return None

    def identities(self) -> dict[Identity, str]:
        """Return the files in the project with several names that the rules restrict by one."""
        return kept_identities(self._root, lambda path: self.restriction(path) is not None)

    def denies_all_in(self, folder: str) -> bool:
        """Return whether the rules deny all that is in *folder* (absolute, resolved)."""
        # A pattern that covers a folder covers what is in it; only another rule can allow it.
        found = None if self._loosened else self.restriction(folder)
        return found is not None and found.action == "deny"


class _Walk:
    """A walk through the files that a command reaches, up to a limit. A denied folder with more
    than *few* entries is taken as a whole."""

    def __init__(self, rules: ReadRules, inside: str, few: int, *, linked: bool) -> None:
        self._rules = rules
        self._inside = inside
        self._few = few
        self._linked = linked
        self._left = MAX_WALKED
        self._seen: set[str] = set()
        self._shared: list[tuple[Identity, str]] = []

    @property
    def exceeded(self) -> bool:
        return self._left < 0

    def restricted(self, folders: Iterable[str], files: Iterable[str]) -> Iterator[str]:
        """Yield what the rules do not allow, resolved."""
        for path in files:
            real = os.path.realpath(path)
            if os.path.isfile(real) and self._is_new(real, path):
                yield real
        open_folders = [os.path.realpath(folder) for folder in folders]
        while open_folders and not self.exceeded:
            folder = open_folders.pop()
            if folder in self._seen:
                continue
            self._seen.add(folder)
            entries = _entries(folder)
            holds_command = f"{self._inside}/".startswith(f"{folder}/")
            many = len(entries) > self._few and not holds_command
            if many and self._rules.denies_all_in(folder):
                yield folder
                continue
            self._left -= len(entries)
            for entry in entries:
                path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                if entry.is_dir():
                    if not entry.is_symlink() or self._follows(path):
                        open_folders.append(path)
                elif self._is_new(path, entry.path):
                    yield path

    def other_names(self) -> list[str]:
        """Return those of the walked files that the rules restrict by another name."""
        kept = self._rules.identities() if self._shared else {}
        return [path for identity, path in self._shared if identity in kept]

    def _is_new(self, path: str, given: str) -> bool:
        """Return whether the rules restrict *path*, which was not found before."""
        if path in self._seen:
            return False
        if self._rules.restriction(path, given) is None:
            identity = shared_identity(path)
            if identity is not None:
                self._shared.append((identity, path))
            return False
        self._seen.add(path)
        return True

    def _follows(self, target: str) -> bool:
        """Return whether a link to the folder *target* is followed: what is in the project can be
        looked at for any command, and what is outside only for one that reads it."""
        return self._linked or self._rules.name(target) != target


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
