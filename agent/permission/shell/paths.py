"""The files that the paths of a command line lead to."""

import fnmatch
import glob
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path, PurePath

from agent.permission.protected import UNSEARCHED, is_guarded, is_match, is_secret, kept_identities
from agent.permission.read_rules import MAX_KEPT
from agent.permission.syntax.words import (
    NUMBER,
    Word,
    glob_pattern,
    is_pattern,
    plain,
    tilde_expanded,
)
from agent.records.frozen import frozen

Dirs = frozenset[str]
"""The folders that a command can run in, absolute; empty if that is not known."""

MAX_DIRS = 64
"""Limit of folders that a command can run in: each ``cd x;`` doubles them."""

MAX_MATCHES = 1_000
"""Limit of the matches of one pattern."""

MAX_PATTERNS = 64
"""Limit of the patterns of one line that are looked up: each reads a folder."""

DEEP_PATTERN_COST = 8
"""The number of patterns that one counts for if it reads many folders: it has a wildcard in a
folder's name."""

MAX_SCANNED = 20_000
"""Limit of entries checked for files with secrets: in a larger folder a recursive read asks."""

_PLAIN_FOLDER = re.compile(r"[\w.@%+/-]+")
"""A folder that needs no quotes."""
_STREAMS = re.compile(r"/dev/(null|stdin|stdout|stderr|fd/\d+)")
_SPLIT = re.compile(r"[\s'\"\\]")
_QUOTE = re.compile(r"['\"\\]")
_MAX_INDEX = 20_000_000
"""Bytes of an index of git that is read."""


def is_stream(path: str) -> bool:
    """Return whether *path* is ``/dev/null`` or one of the process's own streams."""
    return _STREAMS.fullmatch(path) is not None


@frozen
class Workspace:
    """The open folder, its project and the user's home, and what is known of the files in them."""

    directory: str
    """The folder that the line runs in, resolved."""

    project: str
    """The root of its project, resolved."""

    home: str

    start: str = ""
    """The folder of the session, resolved; "" for *directory*."""

    readable: tuple[str, ...] = ()
    """Folders outside that can be read without approval, resolved: stored long outputs."""

    one_line: bool = False
    """True if it serves one line, for which the folders stay as they were found first."""

    patterns: list[str] = field(default_factory=list[str], compare=False)
    """The patterns that were looked up."""

    _real: dict[str, str] = field(default_factory=dict[str, str], compare=False)
    _files: dict[str, str] = field(default_factory=dict[str, str], compare=False)
    _inside: dict[str, bool] = field(default_factory=dict[str, bool], compare=False)
    _guarded: dict[str, bool] = field(default_factory=dict[str, bool], compare=False)
    _listings: dict[str, list[str]] = field(default_factory=dict[str, list[str]], compare=False)
    _notable: dict[tuple[str, bool], "list[os.DirEntry[str]] | None"] = field(
        default_factory=dict[tuple[str, bool], "list[os.DirEntry[str]] | None"], compare=False
    )
    _linked_secrets: list[set[int]] = field(default_factory=list[set[int]], compare=False)
    _tracked: dict[str, "Callable[[str], bool] | None"] = field(
        default_factory=dict[str, "Callable[[str], bool] | None"], compare=False
    )

    def list_names(self, folder: str) -> list[str]:
        """Return the names in *folder*, none if it can't be read; it is read once for each line."""
        found = self._listings.get(folder)
        if found is None:
            try:
                found = os.listdir(folder)
            except OSError:
                found = []
            self._listings[folder] = found
        return found

    def notable_entries(self, folder: str, *, hidden: bool) -> "list[os.DirEntry[str]] | None":
        """Return what below *folder* can show secrets to some command: names of secrets, links of
        both kinds, and names that xargs splits; None if the folder is too large. It is read once
        for each line."""
        key = (folder, hidden)
        if key not in self._notable or not self.one_line:
            start, linked = len(folder.rstrip("/")), self.linked_secrets()
            found: list[os.DirEntry[str]] | None = []
            for seen, entry in enumerate(_entries_below(folder, hidden=hidden)):
                if seen > MAX_SCANNED:
                    found = None
                    break
                if (
                    is_secret(entry.name)
                    or entry.is_symlink()
                    or entry.inode() in linked
                    or _SPLIT.search(entry.path, start) is not None
                ):
                    found.append(entry)
            self._notable[key] = found
        return self._notable[key]

    def linked_secrets(self) -> set[int]:
        """Return the inodes of the files with secrets in the project that have another name."""
        if not self._linked_secrets:
            found = kept_identities(self.project, self._is_secret_name)
            self._linked_secrets.append({inode for _, inode in found})
        return self._linked_secrets[0]

    def _is_secret_name(self, path: str) -> bool:
        return is_secret(path[len(self.project) :])

    def tracked_in(self, folders: Sequence[str]) -> Callable[[str], bool] | None:
        """Return a check whether git tracks a path, None if its index can't be read for that; the
        index is read once for each line."""
        folder = next(iter(folders), "")
        if folder not in self._tracked:
            self._tracked[folder] = _tracked_in(folder) if folder else None
        return self._tracked[folder]

    def resolve(self, path: str) -> str:
        """Return *path* (absolute) with all links resolved; paths and their folders are cached."""
        found = self._files.get(path)
        if found is None:
            found = self._files[path] = self._resolved(path)
        return found

    def _resolved(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        known = self._real.get(folder)
        if known is None:
            known = self._real[folder] = self._resolved_folder(folder)
        return _entry(known, name)

    def _resolved_folder(self, folder: str) -> str:
        """Return *folder* with all links resolved, from its parent where that is known: each
        ``cd x`` of a line goes one level deeper."""
        around, _, name = folder.rpartition("/")
        known = self._real.get(around)
        if known is None or name in ("", ".", ".."):
            return os.path.realpath(folder or "/").rstrip("/")
        return _entry(known, name).rstrip("/")

    def is_inside(self, path: str) -> bool:
        """Return whether *path* and what it links to lie in the project; cached."""
        known = self._inside.get(path)
        if known is None:
            known = self._inside[path] = self._is_inside(path)
        return known

    def _is_inside(self, path: str) -> bool:
        folder, _, name = path.rstrip("/").rpartition("/")
        above = self.resolve(folder) if folder else "/"
        own = os.path.normpath(f"{above}/{name}")
        return _under(self.resolve(path), self.project) and _under(own, self.project)

    def is_readable(self, path: str) -> bool:
        """Return whether *path* and what it links to lie in a folder that can be read without
        approval."""
        return any(_under(self.resolve(path), folder) for folder in self.readable)

    def relative(self, path: str) -> str:
        """Return *path* as rules name it: relative to the project if it lies inside."""
        return self._relative(self.resolve(path))

    def link_names(self, path: str) -> tuple[str, ...]:
        """Return the name of *path* for rules if it leads through a link, for deny rules."""
        if path == self.resolve(path):
            return ()
        given = f"/{os.path.normpath(path).lstrip('/')}"
        return () if given == self.resolve(path) else (self._relative(given),)

    def folder_name(self, dirs: Dirs) -> str | None:
        """Return the one folder that *dirs* lead to, as ``cd`` names it from the session's folder:
        "" for that itself, None for several, an unknown one, or an unusual name."""
        if len(dirs) > 2:  # a folder and what it links to
            return None
        reals = set(map(self.resolve, dirs))
        if len(reals) != 1:
            return None
        real = reals.pop()
        start = self.start or self.directory
        if real == start:
            return ""
        name = os.path.relpath(real, start) if _under(real, start) else real
        return name if _PLAIN_FOLDER.fullmatch(name) else None

    def is_guarded(self, path: str) -> bool:
        """Return whether writing *path*, or what it links to, always needs approval; cached,
        because the commands of one line name the same files."""
        known = self._guarded.get(path)
        if known is None:
            known = self._guarded[path] = self._is_guarded(path)
        return known

    def _is_guarded(self, path: str) -> bool:
        real = self.resolve(path)
        given = os.path.normpath(path) if "/." in path or "//" in path else path
        found = is_guarded(self._relative(real), real)
        return found or (given != real and is_guarded(self._relative(given), given))

    def _relative(self, path: str) -> str:
        if path == self.project:
            return "."
        return path[len(self.project.rstrip("/")) + 1 :] if _under(path, self.project) else path

    def has_above(self, folders: Dirs, names: str) -> bool:
        """Return whether one of *folders*, or a folder above one, has a file with one of these
        names."""
        return bool(names) and any(
            os.path.exists(f"{above}/{name}")
            for folder in folders
            for above in (folder, *map(str, PurePath(folder).parents))
            for name in names.split()
        )

    def secrets_below(
        self,
        folder: str,
        *,
        hidden: bool = True,
        linked: bool = False,
        chosen: tuple[str, ...] = (),
    ) -> list[str] | None:
        """Return the files with secrets that a recursive read of *folder* can reach; None if they
        are too many or outside, or it is too large. *linked*: through links, and then any file
        outside counts; *chosen* are patterns of the names that are read."""
        return Search(self, hidden, linked, chosen).secrets(folder)

    def folder_pattern(self, folder: str) -> str | None:
        return folder_pattern(folder, self.project, self.home)


def _entry(folder: str, name: str) -> str:
    """Return *name* in *folder*, which is resolved, with all links resolved."""
    joined = f"{folder}/{name}"
    return os.path.realpath(joined) if os.path.islink(joined) else joined


def folder_pattern(folder: str, project: str, home: str) -> str | None:
    """Return the pattern that "always" can store for *folder*, None if it is too wide: the root, a
    folder that holds the project or the home folder, a name with wildcards."""
    holds = _under(project, folder) or _under(home, folder)
    wide = folder == "/" or holds or bool({"*", "?"} & set(folder))
    return None if wide else f"{folder}/*"


def _under(path: str, folder: str) -> bool:
    if not path.startswith(folder):
        return False
    return len(path) == len(folder) or folder.endswith("/") or path[len(folder)] == "/"


def any_of(*dirs: Dirs) -> Dirs:
    """Return the folders of all of *dirs*; unknown if one is unknown or they are too many."""
    first = dirs[0]
    if all(each is first for each in dirs):
        return first
    if not all(dirs):
        return frozenset()
    return limited(first.union(*dirs))


def limited(dirs: Dirs) -> Dirs:
    """Return *dirs*, unknown if they are too many to be followed."""
    return dirs if len(dirs) <= MAX_DIRS else frozenset()


def _joined(folder: str, path: str) -> str:
    return path if path.startswith("/") else f"{folder.rstrip('/')}/{path}"


_ROOT = frozenset({"/"})


def paths_of(word: Word, dirs: Dirs, place: Workspace) -> list[str] | None:
    """Return every absolute path that *word* can mean, not resolved; None if that is not known."""
    values = word.values
    if values is None:
        return None
    found: list[str] = []
    if len(place.patterns) > MAX_PATTERNS and word.globs:
        return None
    folders = sorted(dirs)
    for written in values:
        value = tilde_expanded(written, place.home)
        path = None if value is None else plain(value)
        if value is None or path is None or NUMBER in value:
            return None
        if not dirs and not path.startswith("/"):
            return None
        for folder in _ROOT if path.startswith("/") else folders:
            found.append(_joined(folder, path))
            if is_pattern(value):
                if (upward := _with_parents(value)) != path:
                    found.append(_joined(folder, upward))
                deep = is_pattern(value.rpartition("/")[0])
                place.patterns.extend([value] * (DEEP_PATTERN_COST if deep else 1))
                if len(place.patterns) > MAX_PATTERNS:
                    return None
                matched = _matches(_joined(glob.escape(folder), glob_pattern(value)), place)
                if matched is None:
                    return None
                found += matched
    return found


def _with_parents(value: str) -> str:
    """Return the path for the pattern *value* with ``..`` for each part that matches it, as
    ``.*`` and ``.?`` do in a bash before 5.2."""
    parts = value.split("/")
    return plain(
        "/".join(
            ".." if part.startswith(".") and fnmatch.fnmatchcase("..", glob_pattern(part)) else part
            for part in parts
        )
    )


def _matches(pattern: str, place: Workspace) -> list[str] | None:
    """Return the files that match the pattern now, None if they are too many."""
    folder, _, last = pattern.rpartition("/")
    if glob.has_magic(folder) or not glob.has_magic(last):
        names = glob.iglob(pattern)  # Path.glob has no absolute patterns
    else:
        around = f"{folder}/"
        listed = (name for name in place.list_names(around) if name[0] != "." or last[0] == ".")
        names = (around + name for name in fnmatch.filter(listed, last))
    found = list(itertools.islice(names, MAX_MATCHES + 1))
    return None if len(found) > MAX_MATCHES else found


@frozen
class Search:
    """The files that a recursive read reaches, or whose names are given to a program."""

    place: Workspace
    hidden: bool
    linked: bool
    chosen: tuple[str, ...]

    named_links: bool = False
    """True if a link has to match a pattern of *chosen* as a file has to."""

    split: bool = False
    """True if names are split at spaces and quotes, as xargs does."""

    tracked: Callable[[str], bool] | None = None
    """Tells which of the files count; all of them without it."""

    def reaches_secret(self, folder: str) -> bool:
        start = len(folder.rstrip("/"))
        entries = self.place.notable_entries(folder, hidden=self.hidden)
        return entries is None or any(
            self.is_secret(entry, start) and self._counts(entry) for entry in entries
        )

    def secrets(self, folder: str) -> list[str] | None:
        start = len(folder.rstrip("/"))
        entries = self.place.notable_entries(folder, hidden=self.hidden)
        if entries is None:
            return None
        found = [each for each in entries if self.is_secret(each, start) and self._counts(each)]
        outside = (each.is_symlink() and not self.place.is_inside(each.path) for each in found)
        return None if len(found) > MAX_KEPT or any(outside) else [each.path for each in found]

    def is_secret(self, entry: os.DirEntry[str], start: int) -> bool:
        """Return whether *entry* can show secrets; its name begins at *start* of its path."""
        folder = entry.is_dir(follow_symlinks=False)
        named = not self.chosen or folder or any(is_match(entry.name, each) for each in self.chosen)
        if self.split and (named or folder) and _breaks(entry.path[start:]):
            return True
        if self.linked and entry.is_symlink() and (named or not self.named_links):
            return is_secret(self.place.resolve(entry.path)) or not self.place.is_inside(entry.path)
        linked = not folder and entry.inode() in self.place.linked_secrets()
        return named and (linked or is_secret(entry.name))

    def _counts(self, entry: os.DirEntry[str]) -> bool:
        if self.tracked is None:
            return True
        return self.tracked(f"{entry.path}/" if entry.is_dir(follow_symlinks=False) else entry.path)


def _entries_below(folder: str, *, hidden: bool) -> Iterator[os.DirEntry[str]]:
    open_folders = [folder]
    while open_folders:
        try:
            entries = list(os.scandir(open_folders.pop()))
        except OSError:
            continue
        for entry in entries:
            if hidden or not entry.name.startswith("."):
                yield entry
                if entry.name not in UNSEARCHED and entry.is_dir(follow_symlinks=False):
                    open_folders.append(entry.path)


def _breaks(path: str) -> bool:
    """Return whether xargs makes something else than names below its folder of *path*."""
    if not _SPLIT.search(path):
        return False
    return _QUOTE.search(path) is not None or any(
        part.startswith(("/", "-")) or ".." in part.split("/") or is_secret(part)
        for part in path.split()[1:]
    )


def _tracked_in(folder: str) -> Callable[[str], bool] | None:
    above = (folder, *map(str, Path(folder).parents))
    root = next((each for each in above if os.path.lexists(f"{each}/.git")), None)
    if root is None:
        return None
    index = Path(root, ".git", "index")
    try:
        data = index.read_bytes() if index.stat().st_size <= _MAX_INDEX else b""
        shared = any(name.startswith("sharedindex.") for name in os.listdir(index.parent))
    except OSError:
        return None
    if data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3") or shared:
        return None  # the other versions shorten the names in it
    prefix = f"{root.rstrip('/')}/"

    def is_tracked(path: str) -> bool:
        if not path.startswith(prefix):
            return True
        name = path[len(prefix) :]
        return os.fsencode(name if name.endswith("/") else f"{name}\0") in data

    return is_tracked
