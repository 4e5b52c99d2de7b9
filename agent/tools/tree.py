"""Walking a folder as ripgrep does: ignore files honoured, hidden files optional, links not
followed. It is the fallback's walk, and answers questions about single paths as well.

Paths are plain strings here: a walk looks at every entry of a project, and ``Path`` objects
would cost more than the walk itself.
"""

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join

from pathspec import GitIgnoreSpec

IGNORE_FILES = (".ignore", ".gitignore")
"""In order of strength, as in ripgrep."""


class Ignore:
    """The ignore rules that hold below *root* (absolute).

    In a git repository the rules of the folders above, up to its root, and of
    ``.git/info/exclude`` hold too. If *root* is a link, these are the folders above its target.
    """

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._real = os.path.realpath(root).rstrip("/")
        self._specs: dict[str, tuple[GitIgnoreSpec, ...]] = {}
        self._top = _repository(self._real or "/") or self._real or "/"
        exclude = _spec(join(self._top, ".git", "info", "exclude"))
        self._exclude = () if exclude is None else (exclude,)

    @property
    def in_repository(self) -> bool:
        return os.path.lexists(join(self._top, ".git"))

    def entry(self, path: str, *, is_folder: bool) -> bool:
        """Whether this one entry is ignored; the folders above it are not looked at."""
        path = self._real + path[len(self._root) :]
        folder = dirname(path)
        while True:
            for spec in self._of(folder):
                relative = path[len(folder.rstrip("/")) + 1 :] + ("/" if is_folder else "")
                verdict = spec.check_file(relative).include
                if verdict is not None:
                    return verdict
            if folder == self._top or len(folder) <= len(self._top):
                return False
            folder = dirname(folder)

    def below(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether *path* or a folder between it and the root is ignored."""
        parent = dirname(path)
        while len(parent) > len(self._root):
            if self.entry(parent, is_folder=True):
                return True
            parent = dirname(parent)
        return self.entry(path, is_folder=is_folder)

    def _of(self, folder: str) -> tuple[GitIgnoreSpec, ...]:
        known = self._specs.get(folder)
        if known is None:
            found = (_spec(join(folder, name)) for name in IGNORE_FILES)
            known = tuple(spec for spec in found if spec is not None)
            if folder == self._top:
                known += self._exclude
            self._specs[folder] = known
        return known


def _repository(root: str) -> str | None:
    """The nearest folder at or above *root* that holds ``.git``."""
    folder = root
    while True:
        if os.path.lexists(join(folder, ".git")):
            return folder
        parent = dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _spec(path: str) -> GitIgnoreSpec | None:
    try:
        text = Path(path).read_bytes()[:1_000_000].decode("utf-8", "replace")
    except OSError:
        return None
    return GitIgnoreSpec.from_lines(text.splitlines())


def is_ignored(path: str, project: str) -> bool:
    """Whether *path* in *project* would be left out of a search of the whole project."""
    return path != project and Ignore(project).below(path, is_folder=Path(path).is_dir())


def walk(root: str, *, hidden: bool, ignored: bool) -> Iterator[str]:
    """Regular files below *root*, absolute. *hidden* and *ignored* include such ones;
    ``.git`` is never entered. Folders that cannot be read are passed over."""
    ignore = None if ignored else Ignore(root)
    folders = [root]
    while folders:
        for entry in _entries(folders.pop(), hidden=hidden):
            if entry.is_symlink():
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if ignore is not None and ignore.entry(entry.path, is_folder=is_folder):
                continue
            if is_folder:
                folders.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path


def find_links(root: str, *, hidden: bool, ignored: bool, budget: int = 2_000) -> list[str]:
    """Links below *root* (absolute), nearest first, from at most *budget* folders."""
    ignore = None if ignored else Ignore(root)
    links: list[str] = []
    folders = deque([root])
    while folders and budget > 0:
        budget -= 1
        for entry in _entries(folders.popleft(), hidden=hidden):
            is_link = entry.is_symlink()
            is_folder = not is_link and entry.is_dir(follow_symlinks=False)
            if not (is_link or is_folder):
                continue
            if ignore is not None and ignore.entry(entry.path, is_folder=is_folder):
                continue
            if is_link:
                links.append(entry.path)
            else:
                folders.append(entry.path)
    return links


def _entries(folder: str, *, hidden: bool) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return [
                entry
                for entry in found
                if entry.name != ".git" and (hidden or not entry.name.startswith("."))
            ]
    except OSError:
        return []
