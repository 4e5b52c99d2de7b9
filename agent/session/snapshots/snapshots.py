"""Snapshots of a project's files, for undo.

They live in a git directory of their own with the project as work tree: the user's repository, its
index, hooks and settings are neither used nor changed. Files that git ignores are left out, and so
are files that are too large; their paths are reported.

Files of other repositories inside the project are only in snapshots that name them, made before and
after an edit tool changes them (``keep``). The same holds for all files of a folder that has no
snapshots, such as one with too many files.
"""

import asyncio
import contextlib
import itertools
import os
import re
import shutil
import stat
import unicodedata
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from agent.config.private_file import locked
from agent.files.disk import TEMPORARY_GLOB, run_to_end
from agent.git import git_program, run_git
from agent.records.frozen import frozen
from agent.session.snapshots.pruning import folder_name
from agent.session.snapshots.uncovered_state import (
    MAX_IGNORED,
    Surroundings,
    head_of,
    read_surroundings,
    write_surroundings,
)
from agent.store.lease import process_exists

MAX_FILE_SIZE = 2 * 1024 * 1024
"""Bytes above which a file has no snapshots."""

MAX_FILES = 60_000
"""Files above which a folder has no snapshots: it is not a project then."""

MAX_LISTED = 100
"""Paths that are named to git in one call."""

TIMEOUT = 30.0
"""Seconds that git can take for one step; a folder that needs longer has no snapshots."""

SUBMODULE_MODE = "160000"
"""The mode by which git marks a repository inside another one, such as a submodule."""

OFF = "Snapshots are off in the settings: only changes by the edit tools can be undone."

GIT_OPTIONS = (
    *("-c", "core.autocrlf=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "advice.addEmbeddedRepo=false"),
    "--literal-pathspecs",
)


def fold_path(path: str) -> str:
    """Return *path* as file systems compare it that ignore case and forms of accents."""
    return unicodedata.normalize("NFC", path).casefold()


@frozen
class FileChange:
    """A file between two snapshots."""

    path: str
    """Relative to the project."""
    before: str | None
    """The blob, None where the file does not exist; the same for *after*."""
    after: str | None
    added: int = 0
    """Lines added, 0 for a file that is not text; the same for *removed*."""
    removed: int = 0
    before_mode: str = ""
    """The kind of file and whether it can be run, as git has it; the same for *after_mode*."""
    after_mode: str = ""

    @property
    def kind(self) -> Literal["create", "modify", "delete"]:
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "modify"


class Snapshots:
    """The snapshots of one project, under *folder*. No method raises: a folder without snapshots
    has an ``unavailable_reason``."""

    def __init__(self, folder: Path, project: str, *, enabled: bool = True) -> None:
        self._git = folder / folder_name(project)
        self._project = project
        # An index of its own for each instance: none waits for another, and a killed one
        # leaves no lock for the others.
        name = unique_name()
        self._new = self._git.with_name(f"{self._git.name}.new-{name}")
        self._index = self._git / f"index-{name}"
        self._lock = asyncio.Lock()
        self._ready = False
        self._nested: tuple[str, ...] = ()
        """Repositories inside the project, which are never kept in the index."""
        self.unavailable_reason = "" if enabled else OFF
        """The reason why the project is not covered, empty while it is."""

    async def take(self) -> str | None:
        """Return the id of the project's files as they are now, None where there are no
        snapshots."""
        async with self._exclusive(self._index):
            if self.unavailable_reason or not await self._prepare():
                return None
            if await self._run("add", "--all", "--ignore-errors", ".") is None:
                # An unreadable file makes git fail, but it adds the rest.
                await self._run("add", "--all", "--ignore-errors", "--update", ".")
            tree = await self._run("write-tree")
            # git would run their programs to find out whether they changed.
            await self._drop_entries(self._nested)
            if tree:
                await run_to_end(save_index, self._git, self._index)
            return tree.strip() if tree else None

    async def take_first(self) -> str | None:
        """Like ``take``, at the beginning of a turn: what is not covered is noted, too."""
        tree = await self.take()
        if tree is not None:
            noted = Surroundings(await head_of(self._project), await self._ignored())
            await run_to_end(write_surroundings, self._noted(tree), noted)
        return tree

    async def surroundings(self, tree: str) -> Surroundings | None:
        """Return what was noted when a turn began with the snapshot *tree*."""
        return await asyncio.to_thread(read_surroundings, self._noted(tree))

    def _noted(self, tree: str) -> Path:
        return self._git / "surroundings" / tree

    async def _ignored(self) -> tuple[str, ...]:
        words = ("--others", "--ignored", "--exclude-standard", "--directory", "-z")
        listed = await self._run("ls-files", *words)
        names = tuple(name for name in (listed or "").split("\0") if name)
        return names if len(names) <= MAX_IGNORED else ()

    def is_kept_apart(self, path: str) -> bool:
        """Return whether the file at *path* (absolute) is only in snapshots that name it. False for
        files that have none: too large, of git, or outside the project. Blocks."""
        if not Path(path).is_relative_to(self._project):
            return False
        relative = Path(path).relative_to(self._project)
        if ".git" in relative.parts or not (self.unavailable_reason or self._is_nested(relative)):
            return False
        try:
            status = os.lstat(path)
        except OSError:
            return True  # it does not exist yet
        return not stat.S_ISDIR(status.st_mode) and status.st_size <= MAX_FILE_SIZE

    def _is_nested(self, relative: Path) -> bool:
        """Return whether a file belongs to a repository inside the project."""
        above = (Path(self._project, parent) for parent in relative.parents[:-1])
        return any(os.path.lexists(folder / ".git") for folder in above)

    async def keep(self, paths: Iterable[str], onto: str | None = None) -> str | None:
        """Return the id of a snapshot of *paths* (absolute, each ``is_kept_apart``) as they are
        now, with the other files of the snapshot *onto*; None where that fails."""
        index = self._index.with_name(f"{self._index.name}.kept")
        names = "".join(f"{Path(path).relative_to(self._project)}\0" for path in paths)
        given = names.encode("utf-8", "surrogateescape")
        async with self._exclusive(index):
            if git_program() is None or not (self._ready or await self._init()):
                return None
            words = ("--add", "--remove", "--replace", "-z", "--stdin")
            return await self._changed_tree(index, onto, *words, given=given)

    async def take_with(self, paths: Iterable[str]) -> str | None:
        """Like ``take``, with those of *paths* (relative) that are only in snapshots that name
        them."""
        return await self.with_kept(await self.take(), paths)

    async def with_kept(self, tree: str | None, paths: Iterable[str]) -> str | None:
        """Return the id of the snapshot *tree* with the current content of those of *paths*
        (relative) that are only in snapshots that name them."""
        every = [str(Path(self._project, path)) for path in paths]
        apart = await asyncio.to_thread(lambda: [*filter(self.is_kept_apart, every)])
        return await self.keep(apart, tree) if apart else tree

    async def with_file(self, tree: str, path: str) -> str | None:
        """Return the id of *tree* with the current content of the file at *path* (absolute); None
        where the file has no snapshots."""
        if not Path(path).is_relative_to(self._project):
            return None
        relative = str(Path(path).relative_to(self._project))
        index = self._index.with_name(f"{self._index.name}.with")
        async with self._exclusive(index):
            if not await self._run("ls-tree", "--name-only", tree, "--", relative):
                return None
            return await self._changed_tree(index, tree, "--", relative)

    async def _changed_tree(
        self, index: Path, onto: str | None, *words: str, given: bytes | None = None
    ) -> str | None:
        """Return the id of the tree *onto*, None for an empty one, after ``update-index`` with
        *words*; it is made in *index*, which is deleted. None where git fails."""
        try:
            if onto is not None and await self._run("read-tree", onto, index=index) is None:
                return None
            if await self._run("update-index", *words, given=given, index=index) is None:
                return None
            made = await self._run("write-tree", index=index)
        finally:
            await asyncio.to_thread(_delete, index)
        return made.strip() if made else None

    def relative_paths(self, paths: Iterable[str]) -> frozenset[str] | None:
        """Return the *paths* (absolute) as in ``changes``, folded; None if one is outside the
        project."""
        found: set[str] = set()
        for path in paths:
            if not Path(path).is_relative_to(self._project):
                return None
            found.add(fold_path(str(Path(path).relative_to(self._project))))
        return frozenset(found)

    async def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """Return the differences between two snapshots, by path. Repositories inside the project
        are excluded: their commits are not reset."""
        how = ("-r", "-z", "--no-renames", "--raw", "--numstat")
        text = await self._run("diff-tree", *how, before, after)
        fields = (text or "").split("\0")
        raw = sum(field.startswith(":") for field in fields[::2])
        counts = dict(_parse_counts(field) for field in fields[2 * raw :] if field)
        found: list[FileChange] = []
        for head, path in zip(fields[: 2 * raw : 2], fields[1 : 2 * raw : 2], strict=True):
            was, became, old, new, _ = head.split(" ")
            if SUBMODULE_MODE in {was.removeprefix(":"), became}:
                continue
            lines = counts.get(path, (0, 0))
            modes = (was.removeprefix(":"), became)
            found.append(FileChange(path, _blob(old), _blob(new), *lines, *modes))
        return tuple(found)

    async def nested_repositories(self, tree: str) -> tuple[str, ...]:
        """Return the repositories inside the project in a snapshot: their files have no
        snapshots."""
        listed = (await self._run("ls-tree", "-r", "-z", tree) or "").split("\0")
        return tuple(one.partition("\t")[2] for one in listed if one.startswith(SUBMODULE_MODE))

    async def content(self, blob: str | None) -> str | None:
        """Return the text of a blob, "" for None (no file); None for a file that is not text or is
        gone."""
        if blob is None:
            return ""
        text = await self._run("cat-file", "blob", blob)
        return None if text is None or "\0" in text else text

    async def blob_of(self, path: str) -> str | None:
        """Return the blob of the file at *path* as it is now, None where it does not exist."""
        link, is_file = await asyncio.to_thread(_link_or_file, Path(self._project, path))
        if link is not None:
            output = await self._run("hash-object", "--stdin", given=os.fsencode(link))
        elif is_file:
            output = await self._run("hash-object", "--no-filters", "--", path)
        else:
            return None
        return output.strip() if output else None

    def can_run(self, path: str) -> bool:
        """Return whether the file at *path* can be run now."""
        try:
            return bool(os.lstat(Path(self._project, path)).st_mode & 0o100)
        except OSError:
            return False

    async def restore(self, tree: str, paths: tuple[str, ...]) -> tuple[str, ...]:
        """Restore *paths* from *tree*; return those that could not be restored."""
        few = paths if len(paths) <= MAX_LISTED else ()
        held = await self._run("ls-tree", "-r", "-z", "--name-only", tree, "--", *few)
        if held is None:
            return paths
        there = set(held.split("\0"))
        # An index of its own: files of other repositories must not get into the program's.
        index = self._index.with_name(f"{self._index.name}.restored")
        async with self._exclusive(index):
            failed = [path for path in paths if path not in there and not self._remove(path)]
            for path in (path for path in paths if path in there):
                done = await self._run("checkout", "--force", tree, "--", path, index=index)
                failed += [path] if done is None else []
            await asyncio.to_thread(_delete, index)
        return tuple(failed)

    def _remove(self, path: str) -> bool:
        full = Path(self._project, path)
        try:
            full.unlink(missing_ok=True)
            for parent in full.parents:
                if parent == Path(self._project) or any(parent.iterdir()):
                    break
                parent.rmdir()
        except OSError:
            return False
        return True

    async def _prepare(self) -> bool:
        """Make the git directory and exclude large files; false where that fails."""
        if await asyncio.to_thread(_contains_home, self._project):
            self.unavailable_reason = (
                "The home folder is not a project: only changes by the edit tools can be undone "
                "here."
            )
        elif git_program() is None:
            self.unavailable_reason = "File changes cannot be undone without git."
        elif not self._ready and not await self._init():
            self.unavailable_reason = (
                "The snapshot folder cannot be written: file changes cannot be undone."
            )
        if self.unavailable_reason:
            return False
        if not self._ready:
            self._ready = True
            staged = (await self._run("ls-files", "--stage", "-z") or "").split("\0")
            nested = [entry for entry in staged if entry.startswith(SUBMODULE_MODE)]
            await self._drop_entries(entry.partition("\t")[2] for entry in nested)
        listed = await self._run("ls-files", "--others", "--exclude-standard", "-z")
        if listed is None:
            self.unavailable_reason = (
                "The project takes too long to read: only changes by the edit tools can be undone."
            )
            return False
        paths = [path for path in listed.split("\0") if path]
        self._nested = tuple(path.rstrip("/") for path in paths if path.endswith("/"))
        if len(paths) > MAX_FILES:
            self.unavailable_reason = (
                f"The folder has over {MAX_FILES:,} files: only changes by the edit tools can be "
                "undone."
            )
            return False
        # A file that was small when it was added can have grown.
        changed = (await self._run("ls-files", "--modified", "-z") or "").split("\0")
        every = [*paths, *filter(None, changed)]
        large = await run_to_end(self._exclude_large, every)
        if grown := sorted({*large} & {*changed}):
            await self._run("rm", "--cached", "--force", "--quiet", "--", *grown)
        return True

    async def _drop_entries(self, paths: Iterable[str]) -> None:
        """Remove the entries of *paths* from the index."""
        if given := "".join(f"{path}\0" for path in paths):
            words = ("update-index", "--force-remove", "-z", "--stdin")
            await self._run(*words, given=given.encode("utf-8", "surrogateescape"))

    def _exclude_large(self, paths: list[str]) -> list[str]:
        """Exclude those of *paths* that are too large, and return them."""
        large: list[str] = []
        for path in paths:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(self._project, path))  # noqa: PTH118 - many of them
                if status.st_size > MAX_FILE_SIZE:
                    large.append(path)
        if large:
            lines = "".join(f"/{_exclude_pattern(path)}\n" for path in large)
            with (self._git / "info" / "exclude").open(
                "a", encoding="utf-8", errors="surrogateescape"
            ) as exclude:
                exclude.write(lines)
        return large

    def _exclude_own_files(self) -> None:
        """Exclude files that another call is writing just now, and the program's own data where it
        lies in the project: an undo would revert its store."""
        exclude(self._git, TEMPORARY_GLOB)
        data = self._git.parent.parent.resolve()
        project = Path(self._project).resolve()
        if data.is_relative_to(project) and data != project:
            exclude(self._git, f"/{_exclude_pattern(str(data.relative_to(project)))}/")

    def oversized_files(self, since: float) -> tuple[str, ...]:
        """Return the files without snapshots for their size that were written *since* (Unix
        time)."""
        try:
            lines = (self._git / "info" / "exclude").read_text("utf-8", "surrogateescape")
        except OSError:
            return ()
        found: set[str] = set()
        for line in lines.splitlines():
            path = re.sub(r"\\(.)", r"\1", line.removeprefix("/"))
            with contextlib.suppress(OSError):
                if (
                    path != ".git"
                    and not path.endswith("/")
                    and Path(self._project, path).lstat().st_mtime >= since
                ):
                    found.add(path)
        return tuple(sorted(found))

    async def _init(self) -> bool:
        try:
            made = not await run_to_end(needs_creation, self._git) or await self._create()
            if made:
                await run_to_end(configure, self._git, self._index)
                await run_to_end(self._exclude_own_files)
        except OSError:
            return False
        return made

    async def _create(self) -> bool:
        """Create the git directory next to its place and move it there complete: one whose creation
        was interrupted has stale locks."""
        try:
            words = ("init", "--quiet", "--bare", "--template=", "--shared=0600")
            if await self._run(*words, str(self._new), bare=True) is None:
                return False
            await run_to_end(install, self._new, self._git)
        finally:
            await run_to_end(shutil.rmtree, self._new, ignore_errors=True)
        return True

    @asynccontextmanager
    async def _exclusive(self, index: Path) -> AsyncGenerator[None]:
        """Work on *index* while nothing else of this program does."""
        async with self._lock:
            # A lock left by a git that a cancel killed.
            _delete(index.with_name(f"{index.name}.lock"))
            yield

    async def close(self) -> None:
        """Delete this program's own index."""
        await asyncio.to_thread(_delete, self._index)

    async def _run(
        self,
        *arguments: str,
        given: bytes | None = None,
        bare: bool = False,
        index: Path | None = None,
    ) -> str | None:
        """Return the output of git, None when it failed or took too long. *index* overrides the
        program's own."""
        where = () if bare else ("--git-dir", str(self._git), "--work-tree", self._project)
        output = await run_git(
            *GIT_OPTIONS,
            *where,
            *arguments,
            directory=self._project,
            timeout=TIMEOUT,
            given=given,
            environment={"GIT_INDEX_FILE": str(index or self._index)},
        )
        return None if output is None else output.decode("utf-8", "surrogateescape")


def _delete(path: Path) -> None:
    """Delete *path* if possible: its folder may not be accessible."""
    with contextlib.suppress(OSError):
        path.unlink()


def _link_or_file(path: Path) -> tuple[str | None, bool]:
    """Return the target of a link (None for no link), and whether a file exists."""
    return (str(path.readlink()) if path.is_symlink() else None), path.is_file()


def _blob(name: str) -> str | None:
    return None if set(name) == {"0"} else name


def _parse_counts(field: str) -> tuple[str, tuple[int, int]]:
    """Return a path and its added and removed lines; ``-`` marks a file that is not text."""
    added, removed, path = field.split("\t", 2)
    return path, (0 if added == "-" else int(added), 0 if removed == "-" else int(removed))


def _exclude_pattern(path: str) -> str:
    """Return *path* as a line of git's exclude file that matches only it."""
    return "".join(f"\\{c}" if c in "*?[\\!# " else c for c in path)


def _contains_home(folder: str) -> bool:
    """Return whether *folder* is the user's home or above it, links resolved."""
    return Path.home().resolve().is_relative_to(Path(folder).resolve())


_numbers = itertools.count()
_in_use: set[str] = set()

ATTRIBUTES = "* -text -filter -ident -eol -working-tree-encoding -merge !diff\n"
"""Bytes are kept as they are, and no filter of the project runs."""


def unique_name() -> str:
    """Return a name for files in the directory that no other instance or living process has."""
    name = f"{os.getpid()}-{next(_numbers)}"
    _in_use.add(name)
    return name


def needs_creation(git: Path) -> bool:
    """Return whether the directory *git* does not exist; then remove abandoned attempts."""
    if _mark(git).exists():
        return False
    git.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in git.parent.glob(f"{git.name}.new-*"):
        if _is_abandoned(old.name.removeprefix(f"{git.name}.new-")):
            shutil.rmtree(old, ignore_errors=True)
    return True


def install(new: Path, git: Path) -> None:
    """Move the new git directory to its place, unless another process was first. Raises
    ``OSError``."""
    new.chmod(0o700)
    (new / "info").mkdir(exist_ok=True, mode=0o700)
    _write_private(new / "info" / "exclude", "/.git\n")
    _write_private(_mark(new), ATTRIBUTES)
    with locked(git.parent):
        if not _mark(git).exists():
            shutil.rmtree(git, ignore_errors=True)  # made half-way
            new.rename(git)


def configure(git: Path, index: Path) -> None:
    """Write git's settings for the project, and copy the last saved index to *index*, so that only
    later changes are read."""
    if _mark(git).read_text("utf-8") != ATTRIBUTES:  # another process can be reading it
        _write_private(_mark(git), ATTRIBUTES)
    for old in git.glob("index-*"):
        if _is_abandoned(old.name.removeprefix("index-").partition(".")[0]):
            old.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(git / "index", index)
        index.chmod(0o600)


def exclude(git: Path, line: str) -> None:
    """Have git exclude the paths of *line*."""
    exclude = git / "info" / "exclude"
    before = exclude.read_text("utf-8", "surrogateescape") if exclude.exists() else ""
    if line not in before.splitlines():
        with exclude.open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{line}\n")  # appended, so that lines of other processes are never lost


def save_index(git: Path, index: Path) -> None:
    """Save this program's index for later instances."""
    copy = index.with_name(f"{index.name}.copy")
    with contextlib.suppress(OSError):
        shutil.copyfile(index, copy)
        copy.chmod(0o600)
        copy.replace(git / "index")


def _mark(git: Path) -> Path:
    """Return the file that exists once the directory is complete."""
    return git / "info" / "attributes"


def _is_abandoned(name: str) -> bool:
    """Return whether a name is unused: its process is gone, or this one has its number by
    chance."""
    pid = name.partition("-")[0]
    return name not in _in_use if pid == str(os.getpid()) else not process_exists(int(pid))


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
