"""Walk a folder as ripgrep does: ignore files apply, hidden files are optional, links are not
followed. The worker process walks with it, and single paths are checked with it.

Lines of ignore files are translated by pathspec. Its own matching also finds what is below a
folder that a line names. That is wrong for a walk, in which each folder was checked before:
``!*/`` must bring back folders, but not the files in them.

Paths are plain strings here: a walk looks at every entry of a project, and ``Path`` objects
would cost more than the walk itself.
"""

import os
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from posixpath import dirname, join
from typing import cast

from agent.records.frozen import frozen

# A set such as [[]x] in a project's file is harmless, and a warning would garble the screen.
warnings.filterwarnings("ignore", category=FutureWarning, module=r"pathspec\b")

_FOLDER_GROUP = "ps_d"
"""The group of the slash of a folder itself in pathspec's expressions."""


@frozen
class Rule:
    """One line of an ignore file. *ignores* is false for a line that begins with ``!``."""

    regex: re.Pattern[str]
    ignores: bool

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Return whether the line names this entry (*path* relative to the file's folder)."""
        match self.regex.pattern:
            case ".":  # as pathspec writes a single *
                return True
            case "(?P<ps_d>/)":  # and */
                return is_folder
            case _:
                pass
        text = f"{path}/" if is_folder else path
        found = self.regex.search(text)
        if found is None:
            return False
        if _FOLDER_GROUP in self.regex.groupindex:
            return found.end() == len(text)
        return found.end() < len(text)  # "docs/**" means what is inside


class Rules:
    """All lines of one ignore file; the last one that matches decides."""

    def __init__(self, text: str) -> None:
        rules: list[Rule] = []
        for line in text.removeprefix("\ufeff").split("\n"):
            rule = _parse_rule(line.removesuffix("\r"))
            if rule is not None:
                rules.append(rule)
        self._rules = tuple(reversed(rules))

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return True if ignored, False if a ``!`` line names it, None if no line does."""
        for rule in self._rules:
            if rule.matches(path, is_folder=is_folder):
                return rule.ignores
        return None


def _parse_rule(line: str) -> Rule | None:
    """Return the rule in *line*, None for a comment, a blank line, or a malformed one."""
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # 31 modules

    try:
        pattern = GitIgnoreSpecPattern(line)
    except (ValueError, re.error):
        return None
    regex = cast("re.Pattern[str] | None", pattern.regex)
    if pattern.include is None or regex is None:
        return None
    return Rule(regex, pattern.include)


IGNORE_FILES = (".ignore", ".gitignore")
"""In order of precedence, as in ripgrep."""


class IgnoreRules:
    """The ignore rules that apply below *root* (absolute).

    In a git repository the rules of the folders above, up to its root, and of
    ``.git/info/exclude`` apply too. If *root* is a link, these are the folders above its target.
    """

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._real = os.path.realpath(root).rstrip("/")
        self._read: dict[str, Rules | None] = {}
        self._top = _repository_root(self._real or "/") or self._real or "/"
        self._exclude = _read_rules(join(self._top, ".git", "info", "exclude"))

    @property
    def in_repository(self) -> bool:
        return os.path.lexists(join(self._top, ".git"))

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return whether this entry is ignored; the folders above it are not checked.

        False: a ``!`` line names it, None: no line does. All files of the first kind count before
        those of the next, and nearer folders first, as in ripgrep.
        """
        path = self._real + path[len(self._root) :]
        for name in IGNORE_FILES:
            folder = dirname(path)
            while True:
                rules = self._rules_in(join(folder, name))
                if rules is not None:
                    found = rules.verdict(_relative_to(path, folder), is_folder=is_folder)
                    if found is not None:
                        return found
                if len(folder) <= len(self._top):
                    break
                folder = dirname(folder)
        if self._exclude is None:
            return None
        return self._exclude.verdict(_relative_to(path, self._top), is_folder=is_folder)

    def ignores_entry(self, path: str, *, is_folder: bool) -> bool:
        """Return whether this entry is ignored."""
        return self.verdict(path, is_folder=is_folder) is True

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Return whether *path* or a folder between it and the root is ignored."""
        parent = dirname(path)
        while len(parent) > len(self._root):
            if self.ignores_entry(parent, is_folder=True):
                return True
            parent = dirname(parent)
        return self.ignores_entry(path, is_folder=is_folder)

    def _rules_in(self, path: str) -> Rules | None:
        if path not in self._read:
            self._read[path] = _read_rules(path)
        return self._read[path]


def _relative_to(path: str, folder: str) -> str:
    return path[len(folder.rstrip("/")) + 1 :]


def _repository_root(root: str) -> str | None:
    """Return the nearest folder at or above *root* that contains ``.git``."""
    folder = root
    while True:
        if os.path.lexists(join(folder, ".git")):
            return folder
        parent = dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _read_rules(path: str) -> Rules | None:
    """Return the rules in the file at *path*, None if it cannot be read."""
    try:
        data = Path(path).read_bytes()[:1_000_000]
    except OSError:
        return None
    return Rules(os.fsdecode(data))


def is_ignored(path: str, project: str) -> bool:
    """Return whether a search of the whole *project* leaves out *path*."""
    return path != project and IgnoreRules(project).ignores(path, is_folder=Path(path).is_dir())


def walk(root: str, *, hidden: bool, ignored: bool) -> Iterator[str]:
    """Yield the regular files below *root*, absolute. *hidden* and *ignored* include such files;
    ``.git`` is never entered. Folders that cannot be read are skipped."""
    ignore = None if ignored else IgnoreRules(root)
    folders = [root]
    while folders:
        for entry in _entries(folders.pop()):
            if entry.is_symlink():
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if not _is_wanted(entry, ignore, is_folder=is_folder, hidden=hidden):
                continue
            if is_folder:
                folders.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path


def find_links(root: str, *, hidden: bool, ignored: bool, budget: int = 2_000) -> list[str]:
    """Return the links below *root* (absolute), nearest first, from at most *budget* folders."""
    ignore = None if ignored else IgnoreRules(root)
    links: list[str] = []
    folders = deque([root])
    while folders and budget > 0:
        budget -= 1
        for entry in _entries(folders.popleft(), _is_link_or_folder):
            is_link = entry.is_symlink()
            is_folder = not is_link
            if not _is_wanted(entry, ignore, is_folder=is_folder, hidden=hidden):
                continue
            if is_link:
                links.append(entry.path)
            else:
                folders.append(entry.path)
    return links


def _is_wanted(
    entry: os.DirEntry[str], ignore: IgnoreRules | None, *, is_folder: bool, hidden: bool
) -> bool:
    """Return whether a walk visits *entry*. A hidden one that a ``!`` line names is visited too."""
    verdict = None
    if ignore is not None:
        verdict = ignore.verdict(entry.path, is_folder=is_folder)
    if verdict is None:
        return hidden or not entry.name.startswith(".")
    return not verdict


def _is_link_or_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() or entry.is_dir(follow_symlinks=False)


def _entries(
    folder: str, wanted: Callable[[os.DirEntry[str]], bool] | None = None
) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            kept = found if wanted is None else filter(wanted, found)
            return [entry for entry in kept if entry.name != ".git"]
    except OSError:
        return []
