"""Worktrees for sessions: a branch and a folder of their own below the data folder.

Git never reads the configuration of the repository (see ``agent.git``): neither hooks nor filters
run when a worktree is made, merged or removed.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Protocol

from agent.config.loading import LoadedConfig
from agent.config.paths import Paths, ensure_folder
from agent.config.private_file import write_private
from agent.config.settings_schema import WorktreeConfig
from agent.git import RepositoryPaths, find_repository, git, private_git_dir
from agent.permission.trust.trust import TrustStore
from agent.process import (
    Capture,
    Command,
    FinishedCommand,
    SpillStore,
    child_environment,
    run,
    shell_argv,
)
from agent.provider.catalog.from_config import secret_variables
from agent.records.errors import WorktreeError
from agent.records.frozen import frozen
from agent.records.messages import Session
from agent.runtime.worktree_git import (
    counted,
    digests,
    git_answer,
    reason_in,
    require_git,
    run_once,
    run_words,
    status_entries,
    uncommitted_files,
)
from agent.session.subagents.worktrees import KeptWorktree, WorkPlace
from agent.store.store import Store

BRANCHES = "opencode/"
"""The beginning of the branches' names."""
SETUP_TIMEOUT = 1_800.0
"""Seconds for the setup command."""
MAX_PREPARED = 5_000
"""Files that are noted as prepared; of more, all count as work."""

MAX_NESTED = 8
"""Worktrees that were made from worktrees."""
MAX_OUTPUT = 8_000
SHOWN_OUTPUT = 300
"""Characters of a failed command's output that are shown."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


@frozen(kw_only=True)
class Worktree:
    """A worktree that this program made."""

    name: str
    folder: str
    """Its root, absolute and resolved."""
    branch: str
    source: str
    """The root of the work tree that it was made from."""
    commit: str
    """The commit that it began with."""
    prepared: Mapping[str, str] = field(default_factory=dict[str, str])
    """The digests of the files that were not committed when it was ready for use: they were copied,
    or written by the setup command, and are no work."""

    @property
    def record(self) -> Path:
        return Path(f"{self.folder}.json")


def worktrees_folder(paths: Paths) -> Path:
    return paths.data / "worktrees"


def find_worktree(paths: Paths, directory: Path | str) -> Worktree | None:
    """Return the worktree that *directory* is in; None if this program made none there, or it is
    gone."""
    top, path = worktrees_folder(paths).resolve(), Path(directory)
    if not path.is_relative_to(top) or len(path.relative_to(top).parts) < 2:
        return None
    project, name = path.relative_to(top).parts[:2]
    try:
        found = Worktree(**json.loads((top / project / f"{name}.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return found if path.is_dir() else None


def is_worktree_of(paths: Paths, project: Path, folder: str) -> bool:
    """Return whether *folder* is the root of a worktree of *project*, or of one of its
    worktrees."""
    for _ in range(MAX_NESTED):
        found = find_worktree(paths, folder)
        if found is None or found.folder != folder:
            return False
        if found.source == str(project):
            return True
        folder = found.source
    return False


async def worktree_of_session(
    paths: Paths, store: Store, opened: Path, session_id: str
) -> Path | None:
    """Return the folder of the worktree that a session belongs to, or that of the session which a
    sub-agent works for; None without one, or if *opened* is that folder. Raises
    ``SessionNotFound``."""
    session = await store.session(session_id)
    while session.parent_id is not None:
        session = await store.session(session.parent_id)
    if session.directory == str(opened):
        return None
    found = await asyncio.to_thread(find_worktree, paths, session.directory)
    return Path(session.directory) if found is not None else None


def project_of(paths: Paths, project: Path, path: str) -> Path:
    """Return the root of the project of *path*: a worktree of *project* that it is in, else
    *project*."""
    top = worktrees_folder(paths).resolve()
    if not Path(path).is_relative_to(top) or Path(path).is_relative_to(project):
        return project
    root = Path(top, *Path(path).relative_to(top).parts[:2])
    return root if is_worktree_of(paths, project, str(root)) else project


def related_folders(paths: Paths, directory: Path, project: Path) -> tuple[str, ...]:
    """Return where *directory* is in the other worktrees of its repository, and in the work tree
    that they were made from."""
    found = Worktrees(paths, project).all()
    roots = {folder for one in found for folder in (one.folder, one.source)} - {str(project)}
    inside = directory.relative_to(project) if directory.is_relative_to(project) else Path()
    return tuple(sorted(str(Path(root, inside)) for root in roots))


class Worktrees:
    """The worktrees of the repository around *project*."""

    def __init__(self, paths: Paths, project: Path) -> None:
        self._paths = paths
        self._project = project

    def all(self) -> list[Worktree]:
        """Return the worktrees that exist, in the order of their names."""
        repository = find_repository(self._project)
        folder = self._folder(repository) if repository is not None else None
        names = sorted(folder.glob("*.json")) if folder is not None and folder.is_dir() else ()
        found = (find_worktree(self._paths, path.with_suffix("")) for path in names)
        return [one for one in found if one is not None]

    async def create(
        self, name: str, config: WorktreeConfig, env: Mapping[str, str]
    ) -> tuple[Worktree, tuple[str, ...]]:
        """Make a worktree *name* ("" for a free name) at HEAD; return it with sentences for the
        user. Trust in the project applies in it too.

        Raises ``WorktreeError``; then nothing is left.
        """
        repository = await self._repository()
        head = await git(str(self._project), "rev-parse", "--verify", "HEAD^{commit}")
        if head is None:
            raise WorktreeError(
                "A worktree starts from a commit, and this repository has none yet."
            )
        folder = ensure_folder(self._folder(repository)).resolve()
        taken = await git(str(self._project), "for-each-ref", "--format=%(refname:short)")
        name = await asyncio.to_thread(_free_name, folder, (taken or "").split("\n"), name)
        worktree = Worktree(
            name=name,
            folder=str(folder / name),
            branch=BRANCHES + name,
            source=str(self._project),
            commit=head.strip(),
        )
        try:
            await self._add(repository, worktree)
            await asyncio.to_thread(_copy_files, self._project, Path(worktree.folder), config.copy)
        except OSError as error:
            await self._delete(worktree, branch=True)
            raise WorktreeError(f"The worktree could not be created: {_reason(error)}.") from error
        except BaseException:
            await self._delete(worktree, branch=True)
            raise
        self._carry_trust(worktree)
        changed: list[str] = []
        with contextlib.suppress(WorktreeError):  # only a notice depends on it
            changed = await uncommitted_files(self._project)
        without = (
            f"The worktree starts from the last commit, without your changes to {counted(changed)}."
        )
        notices = (without,) if changed else ()
        notices = (*notices, *await _set_up(worktree, config, env))
        return await _noted(worktree), notices

    async def remove(self, worktree: Worktree) -> str:
        """Remove a clean worktree; return what was done. Its branch stays unless it is merged.

        Raises ``WorktreeError`` for one with changes that are not committed.
        """
        await require_branch(worktree)
        if changed := await uncommitted_work(worktree):
            raise WorktreeError(
                f"The worktree {worktree.name} is kept: {counted(changed)} "
                f"{'is' if len(changed) == 1 else 'are'} not committed ({', '.join(changed[:3])})."
            )
        ahead = await git(worktree.source, "log", "--format=%H", f"HEAD..{worktree.branch}")
        merged = ahead is not None and not ahead.strip()
        await self._delete(worktree, branch=merged)
        if merged:
            return f"The worktree {worktree.name} and its branch are removed."
        return (
            f"The worktree {worktree.name} is removed. The branch {worktree.branch} is kept: it "
            "has commits that are not merged."
        )

    async def has_branch(self, name: str) -> bool:
        """Return whether the branch of a worktree *name* exists."""
        found = await git(str(self._project), "for-each-ref", f"refs/heads/{BRANCHES}{name}")
        return bool(found and found.strip())

    async def changed_files(self, worktree: Worktree) -> tuple[str, ...]:
        """Return the files that differ from the commit that *worktree* began with, committed or
        not. Raises ``WorktreeError`` if git does not tell."""
        words = ("--name-only", "-z", worktree.commit, "--")
        listed = await git_answer(worktree.folder, "diff", *words)
        names = {*listed.split("\0"), *await uncommitted_files(Path(worktree.folder))}
        names -= await asyncio.to_thread(as_prepared, worktree)
        return tuple(sorted(name for name in names if name))

    async def discard_unchanged(self, worktree: Worktree) -> bool:
        """Remove *worktree* with its branch if nothing was changed or committed in it; return
        whether it was removed. Raises ``WorktreeError`` if git does not tell."""
        if any(one.source == worktree.folder for one in await asyncio.to_thread(self.all)):
            return False  # the work of another would have nowhere to go
        head = await git_answer(worktree.folder, "rev-parse", "--verify", "HEAD^{commit}")
        if head.strip() != worktree.commit or await self.changed_files(worktree):
            return False
        await self._delete(worktree, branch=True)
        return True

    async def _repository(self) -> RepositoryPaths:
        require_git()
        repository = await asyncio.to_thread(find_repository, self._project)
        if repository is None:
            raise WorktreeError(
                f"There is no git repository in {self._project}, so no worktree can be created."
            )
        return repository

    def _folder(self, repository: RepositoryPaths) -> Path:
        main = repository.common_dir
        key = hashlib.sha256(os.fsencode(main)).hexdigest()[:8]
        name = main.parent.name if main.name == ".git" else main.name
        return worktrees_folder(self._paths) / f"{name}-{key}"

    async def _add(self, repository: RepositoryPaths, worktree: Worktree) -> None:
        """Check the branch out. Git makes its administrative folder in the private git directory;
        it is moved to the repository."""
        async with private_git_dir(repository, writes=True) as git_dir:
            common = git_dir if repository.git_dir == repository.common_dir else git_dir.parents[1]
            before = {path.name for path in (common / "worktrees").iterdir()}
            words = ("worktree", "add", "--quiet", "-b", worktree.branch, worktree.folder)
            result = await run_words(git_dir, repository.root, *words, worktree.commit)
            if not result.ok:
                raise WorktreeError(
                    f"The worktree could not be created: {reason_in(result.errors)}."
                )
            made = next(p for p in (common / "worktrees").iterdir() if p.name not in before)
            target = repository.common_dir / "worktrees" / made.name
            target.parent.mkdir(exist_ok=True)
            await asyncio.to_thread(shutil.move, made, target)
        await asyncio.to_thread(_record, worktree, target)

    async def _delete(self, worktree: Worktree, *, branch: bool) -> None:
        """Remove the folder, git's record of it and, with *branch*, its branch."""
        folder = Path(worktree.folder)
        found = find_repository(folder) if (folder / ".git").is_file() else None
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        if found is not None and found.git_dir != found.common_dir:
            await asyncio.to_thread(shutil.rmtree, found.git_dir, ignore_errors=True)
        with contextlib.suppress(OSError):
            worktree.record.unlink()
        repository = await asyncio.to_thread(find_repository, Path(worktree.source))
        if branch and repository is not None:
            await run_once(repository, "branch", "-D", worktree.branch)

    def _carry_trust(self, worktree: Worktree) -> None:
        """Answer the question about trust as for the source: its files are the same."""
        store = TrustStore(self._paths.data)
        if (answer := store.load(Path(worktree.source))) is not None:
            store.save(Path(worktree.folder), answer)


def as_prepared(worktree: Worktree) -> frozenset[str]:
    """Return the files of *worktree* that are still as it was prepared for use."""
    now = digests(Path(worktree.folder), worktree.prepared)
    return frozenset(name for name, _ in now.items() & worktree.prepared.items())


async def uncommitted_work(worktree: Worktree) -> list[str]:
    """Return the files of *worktree* that are not committed and were changed since it was prepared.
    Raises ``WorktreeError`` if git does not tell."""
    changed = await uncommitted_files(Path(worktree.folder))
    prepared = await asyncio.to_thread(as_prepared, worktree)
    return [name for name in changed if name not in prepared]


async def work_filter(paths: Paths, directory: Path) -> Callable[[str, str], bool]:
    """Return a function that says whether an entry of git's status is somebody's work. In a
    worktree, the files that its setup created are not. The function gets the name of the entry
    (that of a folder ends with a slash) and, for a renamed file, its earlier name, since
    ``uncommitted_files`` lists both."""
    worktree = await asyncio.to_thread(find_worktree, paths, directory)
    if worktree is None or not worktree.prepared:
        return lambda name, before: True
    try:
        work = await uncommitted_work(worktree)
    except WorktreeError:  # git does not tell
        return lambda name, before: True

    def is_work(name: str, before: str) -> bool:
        is_folder = name.endswith("/")
        return any(one in (name, before) or (is_folder and one.startswith(name)) for one in work)

    return is_work


async def git_status(paths: Paths, directory: Path) -> str | None:
    """Return ``git status --porcelain=v2 --branch`` of a folder, without the files that the setup
    of a worktree created; None outside a repository. Only LF ends a line, and names are not
    quoted."""
    words = ("--porcelain=v2", "--branch", "-z", "--renames")
    output = await git(str(directory), "status", *words)
    if output is None:
        return None
    is_work = await work_filter(paths, directory)
    lines = [
        f"{line}\t{before}" if before else line
        for line, before in status_entries(output)
        if line.startswith("#") or is_work(_named_in(line), before)
    ]
    return "\n".join(line.replace("\n", " ") for line in lines)


def _named_in(line: str) -> str:
    """Return the path in a line of git status, version 2."""
    fields = {"?": 1, "1": 8, "2": 9, "u": 10}.get(line[:1], 0)
    return line.split(" ", fields)[-1]


async def _noted(worktree: Worktree) -> Worktree:
    """Note in the record of *worktree* which files it was prepared with; return it. Where that
    fails, all files count as work."""
    with contextlib.suppress(WorktreeError, OSError):
        found = await uncommitted_files(Path(worktree.folder))
        names = [name for name in found if "\ufffd" not in name]  # that is not its whole name
        if names and len(names) <= MAX_PREPARED:
            prepared = await asyncio.to_thread(digests, Path(worktree.folder), names)
            noted = replace(worktree, prepared=prepared)
            write_private(worktree.record, json.dumps(asdict(noted)))
            return noted
    return worktree


async def require_branch(worktree: Worktree) -> None:
    """Raise ``WorktreeError`` if something else than its branch is checked out in *worktree*: its
    commits would be overlooked."""
    branch = (await git_answer(worktree.folder, "rev-parse", "--abbrev-ref", "HEAD")).strip()
    if branch != worktree.branch:
        where = f"on the branch {branch}" if branch != "HEAD" else "on no branch"
        raise WorktreeError(
            f"The worktree {worktree.name} is {where}, not on {worktree.branch}, so nothing was "
            f"done with it. Check out {worktree.branch} in {worktree.folder} first."
        )


def _record(worktree: Worktree, git_dir: Path) -> None:
    """Point the worktree to its *git_dir* and store its record. Raises ``OSError``."""
    Path(worktree.folder, ".git").write_text(f"gitdir: {git_dir}\n", "utf-8")
    write_private(worktree.record, json.dumps(asdict(worktree)))


class OpenedFolder(Protocol):
    """An opened folder, such as a ``Runtime``."""

    @property
    def directory(self) -> Path: ...
    @property
    def project(self) -> Path: ...
    @property
    def paths(self) -> Paths: ...
    @property
    def config(self) -> LoadedConfig: ...


async def open_worktree(
    opened: OpenedFolder, name: str, env: Mapping[str, str]
) -> tuple[Path, tuple[str, ...]]:
    """Make a worktree of an opened folder; return the same folder in it, with sentences for the
    user. Raises ``WorktreeError``."""
    worktrees = Worktrees(opened.paths, opened.project)
    secret = set(secret_variables(opened.config))
    config = opened.config.config.worktree
    worktree, notices = await worktrees.create(name, config, child_environment(env, secret))
    folder = Path(worktree.folder, opened.directory.relative_to(opened.project))
    there = await asyncio.to_thread(folder.is_dir)  # a folder without committed files is not
    return folder if there else Path(worktree.folder), notices


def write_files(folder: Path, texts: Mapping[str, str | None]) -> tuple[str, ...]:
    """Make the files below *folder* what *texts* says, None for no file; return those that could
    not be written."""
    failed: list[str] = []
    for path, text in texts.items():
        try:
            target = folder / path
            if text is None:
                target.unlink(missing_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8", "surrogateescape", newline="")
        except OSError:
            failed.append(path)
    return tuple(failed)


def _free_name(folder: Path, branches: Sequence[str], name: str) -> str:
    """Return *name*, or a name that is free. Raises ``WorktreeError`` if it cannot be used."""

    def is_taken(one: str) -> bool:
        return os.path.lexists(folder / one) or BRANCHES + one in branches

    if not name:
        return next(one for n in range(1, 10_000) if not is_taken(one := f"work-{n}"))
    if not _NAME.fullmatch(name) or name.endswith((".lock", ".json", ".")) or ".." in name:
        raise WorktreeError(
            f"A worktree cannot be named {name}: use letters, digits, dots, - and _."
        )
    if is_taken(name):
        raise WorktreeError(
            f"A worktree or branch {BRANCHES}{name} already exists. Choose another name; "
            "/sessions also lists sessions in worktrees."
        )
    return name


def _copy_files(source: Path, target: Path, patterns: Sequence[str]) -> None:
    """Copy what *patterns* match in *source* and is not in *target* yet. Raises ``OSError``."""
    for path in _matches(source, patterns):
        copy = target / path.relative_to(source)
        if os.path.lexists(copy):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, copy, symlinks=True)
        else:
            shutil.copy2(path, copy, follow_symlinks=False)


def _matches(source: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for pattern in patterns:
        if not pattern or Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise WorktreeError(
                f"worktree.copy: {pattern or 'an empty pattern'} is not inside the project."
            )
        yield from (path for path in source.glob(pattern) if ".git" not in path.parts)


async def _set_up(
    worktree: Worktree, config: WorktreeConfig, env: Mapping[str, str]
) -> tuple[str, ...]:
    """Run the setup command; return a sentence if it failed: the worktree can be used all the
    same."""
    if not config.setup:
        return ()
    command = Command(
        argv=shell_argv(config.setup), directory=worktree.folder, env=env, timeout=SETUP_TIMEOUT
    )
    spills = SpillStore(Path(worktree.folder).parent / ".spill")
    try:
        done = await run(command, Capture(spills, max_lines=MAX_OUTPUT, max_bytes=MAX_OUTPUT))
    except OSError as error:
        return (f"worktree.setup could not be started: {_reason(error)}.",)
    assert isinstance(done, FinishedCommand)  # it is never moved to the background
    if done.exit_code == 0:
        return ()
    how = "took too long" if done.timed_out else f"failed ({done.signal or done.exit_code})"
    return (f"worktree.setup {how}: {done.output.text.strip()[-SHOWN_OUTPUT:]}",)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


# The worktrees of sub-agents: each is made for one session, and removed when it is unchanged.

GONE = (
    "The worktree of this sub-agent was removed, and its branch {branch} is kept. Start a new "
    "sub-agent instead of continuing this one."
)


class RuntimeWorktrees:
    """Implements ``SubagentWorktrees`` with the settings of an opened folder; *env* are the
    variables that the setup command gets. *left* is awaited with a worktree that nobody works in
    any more."""

    def __init__(
        self,
        paths: Paths,
        config: WorktreeConfig,
        env: Mapping[str, str],
        left: Callable[[str], Awaitable[None]],
    ) -> None:
        self._left = left
        self._paths = paths
        self._config = config
        self._env = env

    async def enter(self, caller: Session, name: str) -> WorkPlace:
        project = Path(caller.project)
        made, notices = await self._create(project, name)
        directory = await asyncio.to_thread(_same_folder, made, Path(caller.directory), project)
        return WorkPlace(str(directory), made.folder, made.branch, notices)

    async def enter_again(self, caller: Session, child: Session) -> None:
        name = Path(child.project).name
        if await asyncio.to_thread(Path(child.project).is_dir):
            return
        if await Worktrees(self._paths, Path(caller.project)).has_branch(name):
            raise WorktreeError(GONE.format(branch=f"{BRANCHES}{name}"))
        await self._create(Path(caller.project), name)

    async def leave(self, child: Session) -> KeptWorktree | None:
        made = await asyncio.to_thread(find_worktree, self._paths, child.project)
        if made is None:
            return None
        await self._left(made.folder)
        worktrees = Worktrees(self._paths, Path(made.source))
        try:
            if await worktrees.discard_unchanged(made):
                return None
            files = await worktrees.changed_files(made)
        except WorktreeError:  # git does not tell: nothing is removed
            files = ()
        return KeptWorktree(made.name, made.folder, made.branch, files)

    async def _create(self, project: Path, name: str) -> tuple[Worktree, tuple[str, ...]]:
        return await Worktrees(self._paths, project).create(name, self._config, self._env)


def _same_folder(made: Worktree, directory: Path, project: Path) -> Path:
    """Return where *directory* of *project* is in the worktree; its root if it is not there."""
    inside = directory.relative_to(project) if directory.is_relative_to(project) else Path()
    folder = Path(made.folder, inside)
    return folder if folder.is_dir() else Path(made.folder)
