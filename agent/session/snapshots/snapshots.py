"""Snapshots of a project's files, for undo (spec 7, D5).

They live in a git directory of their own with the project as work tree: the user's repository,
its index, hooks and settings are never touched, and none of them takes part. What git would
ignore is left out, and so are files that are too large; the paths of those are told.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import unicodedata
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from agent.files.disk import TEMPORARY_GLOB
from agent.session.snapshots.repository import keep_index, own_name, pass_over, put, set_up, to_be_made

T = TypeVar("T")

LARGEST = 2 * 1024 * 1024
"""Bytes of a file above which it is not covered (spec 7, D5)."""

MOST_FILES = 60_000
"""Files above which a folder is not covered at all: it is no project then."""

TIMEOUT = 30.0
"""Seconds that git may take for one step; a folder that needs longer is not covered."""

REPOSITORY = "160000"
"""The mode by which git tells a repository inside another one, as a submodule is."""

HARDENED = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.autocrlf=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "gc.auto=0"),
    *("-c", "advice.addEmbeddedRepo=false"),
    "--literal-pathspecs",
)


def folded(path: str) -> str:
    """*path* as file systems that know no upper case, or another form of accents, compare it."""
    return unicodedata.normalize("NFC", path).casefold()


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file (path relative to the project) between two snapshots: its blobs, None where it
    is not there; the lines *added* and *removed*, 0 where it holds no text."""

    path: str
    before: str | None
    after: str | None
    added: int = 0
    removed: int = 0


class Snapshots:
    """The snapshots of one project, under *folder*. Nothing here raises: a folder that cannot
    be covered has no snapshots, and *why* says so."""

    def __init__(self, folder: Path, project: str) -> None:
        self._git = folder / hashlib.sha256(project.encode()).hexdigest()[:24]
        self._project = project
        # An index of its own for each: none waits for another, and one that was killed
        # leaves no lock behind.
        name = own_name()
        self._new = self._git.with_name(f"{self._git.name}.new-{name}")
        self._index = self._git / f"index-{name}"
        self._lock = asyncio.Lock()
        self._ready = False
        self.why = ""
        """Why the project is not covered, empty while it is."""

    async def take(self) -> str | None:
        """The id of the project's files as they are now, None where they are not covered."""
        async with self._alone(self._index):
            if self.why or not await self._prepare():
                return None
            if await self._run("add", "--all", "--ignore-errors", ".") is None:
                # An unreadable file makes git say no and add the rest all the same.
                await self._run("add", "--all", "--ignore-errors", "--update", ".")
            tree = await self._run("write-tree")
            if tree:
                await _whole(lambda: keep_index(self._git, self._index))
            return tree.strip() if tree else None

    async def with_file(self, tree: str, path: str) -> str | None:
        """The id of *tree* with the file at *path* (in full) as it is now; None where it is not
        covered."""
        if not Path(path).is_relative_to(self._project):
            return None
        relative = str(Path(path).relative_to(self._project))
        index = self._index.with_name(f"{self._index.name}.with")
        async with self._alone(index):
            if not await self._run("ls-tree", "--name-only", tree, "--", relative):
                return None
            try:
                for words in (("read-tree", tree), ("update-index", "--", relative)):
                    if await self._run(*words, index=index) is None:
                        return None
                made = await self._run("write-tree", index=index)
            finally:
                await asyncio.to_thread(_forget, index)
        return made.strip() if made else None

    def named(self, paths: Iterable[str]) -> frozenset[str] | None:
        """What ``changes`` calls the files at *paths* (in full), ``folded``; None if one of them
        lies elsewhere."""
        found: set[str] = set()
        for path in paths:
            if not Path(path).is_relative_to(self._project):
                return None
            found.add(folded(str(Path(path).relative_to(self._project))))
        return frozenset(found)

    async def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """What differs between two snapshots, by path. A repository inside the project is no
        file: which commit it stands at is not ours to set back."""
        how = ("-r", "-z", "--no-renames", "--raw", "--numstat")
        text = await self._run("diff-tree", *how, before, after)
        fields = (text or "").split("\0")
        raw = sum(field.startswith(":") for field in fields[::2])
        counts = dict(_counted(field) for field in fields[2 * raw :] if field)
        found: list[FileChange] = []
        for head, path in zip(fields[: 2 * raw : 2], fields[1 : 2 * raw : 2], strict=True):
            was, became, old, new, _ = head.split(" ")
            if REPOSITORY in {was.removeprefix(":"), became}:
                continue
            found.append(FileChange(path, _blob(old), _blob(new), *counts.get(path, (0, 0))))
        return tuple(found)

    async def nested(self, tree: str) -> tuple[str, ...]:
        """The repositories inside the project in a snapshot: what is in them is not covered."""
        listed = (await self._run("ls-tree", "-r", "-z", tree) or "").split("\0")
        return tuple(one.partition("\t")[2] for one in listed if one.startswith(REPOSITORY))

    async def content(self, blob: str | None) -> str | None:
        """The text of a blob, "" for None (no file); None for what is no text or is gone."""
        if blob is None:
            return ""
        text = await self._run("cat-file", "blob", blob)
        return None if text is None or "\0" in text else text

    async def blob_of(self, path: str) -> str | None:
        """The blob that the file at *path* would be now, None where it is not there."""
        link, is_file = await asyncio.to_thread(_kind, Path(self._project, path))
        if link is not None:
            output = await self._run("hash-object", "--stdin", given=os.fsencode(link))
        elif is_file:
            output = await self._run("hash-object", "--no-filters", "--", path)
        else:
            return None
        return output.strip() if output else None

    async def restore(self, tree: str, paths: tuple[str, ...]) -> tuple[str, ...]:
        """Make *paths* what they are in *tree*; those that could not be are returned."""
        held = await self._run("ls-tree", "-r", "-z", "--name-only", tree)
        there = set((held or "").split("\0"))
        async with self._alone(self._index):
            failed = [path for path in paths if path not in there and not self._removed(path)]
            for path in (path for path in paths if path in there):
                done = await self._run("checkout", "--force", tree, "--", path)
                failed += [path] if done is None else []
        return tuple(failed)

    def _removed(self, path: str) -> bool:
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
        """Make the git directory, and leave out what is too large; false where that fails."""
        if await asyncio.to_thread(_holds_home, self._project):
            self.why = "The home folder is no project: file changes cannot be undone here."
        elif shutil.which("git") is None:
            self.why = "File changes cannot be undone without git."
        elif not self._ready and not await self._init():
            self.why = "The snapshot folder cannot be written: file changes cannot be undone."
        if self.why:
            return False
        self._ready = True
        listed = await self._run("ls-files", "--others", "--exclude-standard", "-z")
        if listed is None:
            self.why = "The project takes too long to read: file changes cannot be undone."
            return False
        paths = [path for path in listed.split("\0") if path]
        if len(paths) > MOST_FILES:
            self.why = f"The folder has over {MOST_FILES:,} files: changes cannot be undone."
            return False
        # What was small when it was taken up may have grown.
        changed = (await self._run("ls-files", "--modified", "-z") or "").split("\0")
        every = [*paths, *filter(None, changed)]
        large = await _whole(lambda: self._leave_out(every))
        if grown := sorted({*large} & {*changed}):
            await self._run("rm", "--cached", "--force", "--quiet", "--", *grown)
        return True

    def _leave_out(self, paths: list[str]) -> list[str]:
        """Have git pass over those of *paths* that are too large, and return them."""
        large: list[str] = []
        for path in paths:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(self._project, path))  # noqa: PTH118 - many of them
                if status.st_size > LARGEST:
                    large.append(path)
        if large:
            lines = "".join(f"/{_literal(path)}\n" for path in large)
            with (self._git / "info" / "exclude").open(
                "a", encoding="utf-8", errors="surrogateescape"
            ) as exclude:
                exclude.write(lines)
        return large

    def _leave_out_own(self) -> None:
        """Pass over files that another call is writing just now, and the program's own data where
        it lies in the project: it changes with every word, and undoing that would take its store
        back."""
        pass_over(self._git, TEMPORARY_GLOB)
        data = self._git.parent.parent.resolve()
        project = Path(self._project).resolve()
        if data.is_relative_to(project) and data != project:
            pass_over(self._git, f"/{_literal(str(data.relative_to(project)))}/")

    def left_out(self, since: float) -> tuple[str, ...]:
        """The files that are not covered for their size and were written *since* (Unix time)."""
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
            made = not await _whole(lambda: to_be_made(self._git)) or await self._make()
            if made:
                await _whole(lambda: set_up(self._git, self._index))
                await _whole(self._leave_out_own)
        except OSError:
            return False
        return made

    async def _make(self) -> bool:
        """Make the git directory beside its place, and put it there whole: one whose making was
        ended half-way has locks that nobody takes off."""
        try:
            words = ("init", "--quiet", "--bare", "--template=", "--shared=0600")
            if await self._run(*words, str(self._new), bare=True) is None:
                return False
            await _whole(lambda: put(self._new, self._git))
        finally:
            await _whole(lambda: shutil.rmtree(self._new, ignore_errors=True))
        return True

    @asynccontextmanager
    async def _alone(self, index: Path) -> AsyncGenerator[None]:
        """Work on *index* while nothing else of this program does."""
        async with self._lock:
            # Left by a git that a cancel killed, wherever that came: it is nobody's any more.
            _forget(index.with_name(f"{index.name}.lock"))
            yield

    async def close(self) -> None:
        """Forget this program's own index."""
        await asyncio.to_thread(_forget, self._index)

    async def _run(
        self,
        *arguments: str,
        given: bytes | None = None,
        bare: bool = False,
        index: Path | None = None,
    ) -> str | None:
        """The output of git, None when it failed or took too long. *index* is another one than
        the program's own."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        environment |= {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_INDEX_FILE": str(index or self._index),
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }
        where = () if bare else ("--git-dir", str(self._git), "--work-tree", self._project)
        try:
            process = await asyncio.create_subprocess_exec(
                "git",
                *HARDENED,
                *where,
                *arguments,
                cwd=self._project,
                env=environment,
                stdin=asyncio.subprocess.PIPE if given is not None else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return None
        try:
            output, _ = await asyncio.wait_for(process.communicate(given), TIMEOUT)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            if isinstance(error, TimeoutError):
                return None
            raise
        return output.decode("utf-8", "surrogateescape") if process.returncode == 0 else None


async def _whole(work: Callable[[], T]) -> T:
    """Do *work* in a thread, to its end also where that is cancelled: none of it goes on behind
    whoever comes next."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _forget(path: Path) -> None:
    """Delete *path*, if it is there and can be had: its folder may be closed to us."""
    with contextlib.suppress(OSError):
        path.unlink()


def _kind(path: Path) -> tuple[str | None, bool]:
    """Where a link points (None for what is none), and whether there is a file."""
    return (str(path.readlink()) if path.is_symlink() else None), path.is_file()


def _blob(name: str) -> str | None:
    return None if set(name) == {"0"} else name


def _counted(field: str) -> tuple[str, tuple[int, int]]:
    """A path and the lines added and removed in it; ``-`` stands for what is no text."""
    added, removed, path = field.split("\t", 2)
    return path, (0 if added == "-" else int(added), 0 if removed == "-" else int(removed))


def _literal(path: str) -> str:
    """*path* as a line of git's exclude file that means just it."""
    return "".join(f"\\{c}" if c in "*?[\\!# " else c for c in path)


def _holds_home(folder: str) -> bool:
    """Whether *folder* is the user's home, also where that is reached over a link, or above it."""
    return Path.home().resolve().is_relative_to(Path(folder).resolve())
