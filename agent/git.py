"""Git for the program itself, safe in any folder because no configuration of the folder is read.

A repository's configuration is code: hooks, filters, file-system monitors, external diffs, pagers
and transports are programs that git runs. So git never sees it. For each call a private git
directory is made that links to the repository's objects, refs and index and has a configuration
written here; it holds only data (whether names differ by case, which branch follows which).
Without drivers the attributes in the tree name nothing, without remotes nothing can be fetched,
and repositories inside the work tree are never entered.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path

from agent.records.frozen import frozen

FLAGS = (
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),
    *("-c", "submodule.recurse=false"),
    *("-c", "diff.ignoreSubmodules=all"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    "--no-optional-locks",
    "--no-pager",
)
"""Options of every call. They repeat what the missing configuration already ensures."""

ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "false",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "false",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "SSH_ASKPASS": "false",
}
"""Variables of every call; those of the user that begin with ``GIT_`` are removed."""

DATA_KEYS = frozenset(
    {
        "core.autocrlf",
        "core.eol",
        "core.filemode",
        "core.ignorecase",
        "core.precomposeunicode",
        "core.sparsecheckout",
        "core.sparsecheckoutcone",
        "core.symlinks",
        "extensions.objectformat",
        "extensions.refstorage",
    }
)
"""Keys of a repository's configuration that say how its files and objects are stored."""

BRANCH_KEYS = {"branch": ("remote", "merge"), "remote": ("fetch",)}
"""Keys of branches and remotes that say which branch follows which; never a URL."""

LINKED = (
    *("objects", "refs", "packed-refs", "reftable", "shallow", "info/exclude"),
    *("info/sparse-checkout", "logs/refs"),
)
"""Parts of a repository that are data, shared by all its work trees."""

LINKED_STATE = (
    *("ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE"),
    *("CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "rebase-merge", "rebase-apply"),
    *("sequencer", "BISECT_LOG", "BISECT_START", "logs/HEAD"),
)
"""Parts of one work tree that are data: the operation in progress, and where HEAD has been."""

USER_KEYS = frozenset(
    {
        *("color.branch", "color.diff", "color.status", "color.ui", "core.abbrev", "core.autocrlf"),
        *("core.eol", "core.excludesfile", "core.quotepath", "core.whitespace", "diff.algorithm"),
        *("diff.colormoved", "diff.context", "diff.indentheuristic", "diff.mnemonicprefix"),
        *("diff.noprefix", "diff.renames", "i18n.logoutputencoding", "init.defaultbranch"),
        *("log.abbrevcommit", "log.date", "log.decorate", "status.branch", "status.relativepaths"),
        *("status.short", "status.showuntrackedfiles", "user.email", "user.name"),
    }
)
"""Keys of the user's own configuration that say what is shown, for commands of the model."""

Settings = tuple[tuple[str, str], ...]
"""Keys of a configuration with their values."""

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "diff": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color"),
    "for-each-ref": (),
    "log": ("--no-ext-diff", "--no-textconv", "--no-show-signature"),
    "ls-files": (),
    "merge-base": (),
    "rev-parse": (),
    "status": ("--ignore-submodules=all",),
}
"""Commands that the program may run in a repository, with options that no file of the project can
override: ``.gitmodules`` would have git enter a repository inside and run what its configuration
names."""

TIMEOUT = 2.0
"""Seconds that a call may take; a huge repository must not stall a prompt."""


@frozen
class RepositoryPaths:
    """The folders of a repository, all absolute. *common_dir* differs from *git_dir* in a linked
    work tree only."""

    root: Path
    git_dir: Path
    common_dir: Path


async def git(directory: str, *arguments: str, timeout: float = TIMEOUT) -> str | None:
    """Return the output of ``git ARGUMENTS`` in *directory*, for a command of ``COMMANDS``.

    None where there is no git, the folder is in no repository, or the call failed or took longer
    than *timeout* seconds.
    """
    (output,) = await git_outputs(directory, arguments, timeout=timeout)
    return output


async def git_outputs(
    directory: str, *commands: Sequence[str], timeout: float = TIMEOUT
) -> tuple[str | None, ...]:
    """Return the outputs of several commands as ``git`` does. They run side by side and share the
    private git directory."""
    nothing = (None,) * len(commands)
    found = await asyncio.to_thread(find_repository, Path(directory))
    if found is None:
        return nothing
    try:
        async with private_git_dir(found, timeout) as git_dir:
            outputs = await asyncio.gather(
                *(
                    run_git(
                        *("--git-dir", str(git_dir), "--work-tree", str(found.root)),
                        *(command, *COMMANDS[command], *others),
                        directory=directory,
                        timeout=timeout,
                    )
                    for command, *others in commands
                )
            )
    except OSError:
        return nothing
    return tuple(each if each is None else each.decode("utf-8", "replace") for each in outputs)


@contextlib.asynccontextmanager
async def private_git_dir(
    found: RepositoryPaths, timeout: float = TIMEOUT, *, writes: bool = False
) -> AsyncGenerator[Path]:
    """Make a private git directory for a repository; it is removed afterwards. *writes* is true for
    commands that change the repository: they take a link to nothing for an operation in progress.

    Raises ``OSError``.
    """
    settings = await read_settings(found.common_dir / "config", timeout)
    with tempfile.TemporaryDirectory(prefix="opencode-py-git-", ignore_cleanup_errors=True) as name:
        git_dir = await asyncio.to_thread(link_repository, found, Path(name) / ".git", settings)
        for path in git_dir.iterdir() if writes else ():
            if path.is_symlink() and not path.exists():
                path.unlink()
        yield git_dir


@frozen
class GitResult:
    """The end of a git command."""

    ok: bool
    output: bytes = b""
    errors: str = ""
    """What it printed to standard error, or why it has no output."""
    killed: bool = False
    """True if it did not end by itself: its locks are still there."""


async def run_git(
    *arguments: str,
    directory: str,
    timeout: float,
    given: bytes | None = None,
    environment: Mapping[str, str | None] | None = None,
) -> bytes | None:
    """Run git in *directory* with the safe flags and environment, and return its output.

    The caller names a git directory whose configuration is its own. *given* goes to standard
    input; a variable of *environment* that is None is not set. None where there is no git, the
    call failed, or it took longer than *timeout* seconds; a cancelled call leaves no process.
    """
    result = await git_result(
        *arguments, directory=directory, timeout=timeout, given=given, environment=environment
    )
    return result.output if result.ok else None


async def git_result(
    *arguments: str,
    directory: str,
    timeout: float,
    given: bytes | None = None,
    environment: Mapping[str, str | None] | None = None,
) -> GitResult:
    """Run git as ``run_git`` does and return how it ended."""
    program = git_program()
    if program is None:
        return GitResult(ok=False, errors="git is not installed")
    variables: dict[str, str | None]
    variables = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    variables |= {**ENVIRONMENT, **(environment or {})}
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *FLAGS,
            *arguments,
            cwd=directory,
            env={name: value for name, value in variables.items() if value is not None},
            stdin=asyncio.subprocess.DEVNULL if given is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:  # the folder is gone, or cannot be entered
        return GitResult(ok=False, errors=(error.strerror or str(error)).lower())
    try:
        output, errors = await asyncio.wait_for(process.communicate(given), timeout)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        if isinstance(error, TimeoutError):
            late = f"git took longer than {timeout:g} seconds"
            return GitResult(ok=False, errors=late, killed=True)
        raise
    text, code = errors.decode("utf-8", "replace"), process.returncode or 0
    if code < 0:
        text = f"{text}\nfatal: git was ended: {signal.strsignal(-code) or f'signal {-code}'}"
    return GitResult(code == 0, output, text, killed=code < 0)


def git_program(name: str = "git") -> str | None:
    """Return the path of git, or of a program that it is used with. It is looked up in the absolute
    folders of PATH only: a relative entry would find a program of the project."""
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return shutil.which(name, path=os.pathsep.join(folders))


def find_repository(directory: Path) -> RepositoryPaths | None:
    """Return the repository around *directory*: the nearest folder with a valid ``.git``.

    A bare repository, or a folder that looks like one, is never found.
    """
    try:
        directory = directory.resolve(strict=True)
        for folder in (directory, *directory.parents):
            if os.path.lexists(folder / ".git"):
                return _repository_at(folder)
    except (OSError, ValueError):
        return None
    return None


def _repository_at(root: Path) -> RepositoryPaths | None:
    git_dir = root / ".git"
    if git_dir.is_file():  # a linked work tree or a submodule
        pointer, _, target = git_dir.read_text("utf-8", "surrogateescape").partition(":")
        if pointer != "gitdir":
            return None
        git_dir = root / target.strip()
    common = git_dir / "commondir"
    common_dir = git_dir
    if common.is_file():
        common_dir = git_dir / common.read_text("utf-8", "surrogateescape").strip()
    if not (os.path.lexists(git_dir / "HEAD") and (common_dir / "objects").is_dir()):
        return None
    return RepositoryPaths(root, git_dir.resolve(), common_dir.resolve())


async def project_root(directory: Path) -> Path:
    """Return the root of the git work tree around *directory*, else *directory* itself.

    It is the folder with the ``.git``: a repository's own settings can name another work tree
    (``core.worktree``), which would take over what that one is trusted with.
    """
    found = await asyncio.to_thread(find_repository, directory)
    return found.root if found is not None and git_program() is not None else directory


async def read_settings(
    config: Path,
    timeout: float = TIMEOUT,
    branch_keys: Mapping[str, tuple[str, ...]] = BRANCH_KEYS,
) -> Settings:
    """Return the keys of the file *config* that are data, of branches and remotes *branch_keys*.

    Listing a file runs nothing and follows no include.
    """
    listed = await _listed_settings(config, timeout)
    found: list[tuple[str, str]] = []
    for key, value in _entries(listed):
        section, _, rest = key.partition(".")
        name = rest.rpartition(".")[2]
        if key in DATA_KEYS or (name != rest and name in branch_keys.get(section, ())):
            found.append((key, value))
    return tuple(found)


_listed: dict[Path, tuple[tuple[int, ...], bytes]] = {}
"""The settings in files as git listed them, with the state of the file then."""


async def _listed_settings(config: Path, timeout: float) -> bytes | None:
    """Return the output of ``git config --list`` for the file *config*: git runs only if the file
    has changed since."""
    try:
        info = await asyncio.to_thread(config.stat)
    except OSError:
        return None
    state = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    if config in _listed and _listed[config][0] == state:
        return _listed[config][1]
    listed = await run_git(
        *("config", "--file", str(config), "--no-includes", "--null", "--list"),
        directory="/",
        timeout=timeout,
    )
    if listed is not None:
        _listed[config] = (state, listed)
    return listed


async def read_user_settings() -> Settings:
    """Return ``USER_KEYS`` of the user's and the system's configuration."""
    listed = await run_git(
        *("--git-dir", os.devnull, "config", "--null", "--list"),
        directory="/",
        timeout=TIMEOUT,
        environment={
            "GIT_CONFIG_GLOBAL": os.environ.get("GIT_CONFIG_GLOBAL"),
            "GIT_CONFIG_NOSYSTEM": os.environ.get("GIT_CONFIG_NOSYSTEM"),
        },
    )
    return tuple((key, value) for key, value in _entries(listed) if key in USER_KEYS)


def _entries(listed: bytes | None) -> Iterator[tuple[str, str]]:
    """Yield the keys and values in the output of ``git config --null --list``."""
    for entry in (listed or b"").decode("utf-8", "surrogateescape").split("\0"):
        key, _, value = entry.partition("\n")
        if key:
            yield key, value


def link_repository(found: RepositoryPaths, private: Path, settings: Settings) -> Path:
    """Make *private* a git directory with the data of a repository and a configuration of ours.

    Return the git directory of the work tree, which is below *private* for a linked one.
    """
    for folder in ("info", "logs", "worktrees"):
        (private / folder).mkdir(parents=True)
    for name in LINKED:
        if (source := found.common_dir / name).exists():
            (private / name).symlink_to(source)
    for source in (found.common_dir / "worktrees").glob("*"):
        if source.resolve() != found.git_dir:
            (private / "worktrees" / source.name).symlink_to(source)
    lines = ["[core]\n\trepositoryformatversion = 1\n\tbare = false\n"]
    lines += [_setting(key, value) for key, value in settings]
    (private / "config").write_text("".join(lines), "utf-8", "surrogateescape")
    _link_work_tree(found.common_dir, private)
    if found.git_dir == found.common_dir:
        return private
    linked = private / "worktrees" / found.git_dir.name
    (linked / "logs").mkdir(parents=True)
    (linked / "commondir").write_text("../..\n", "utf-8")
    (linked / "gitdir").write_text(f"{found.root}/.git\n", "utf-8", "surrogateescape")
    _link_work_tree(found.git_dir, linked)
    return linked


def _link_work_tree(source: Path, private: Path) -> None:
    """Add the data of one work tree to a git directory."""
    head = source / "HEAD"
    target = f"ref: {head.readlink()}\n" if head.is_symlink() else head.read_text("utf-8")
    (private / "HEAD").write_text(target, "utf-8")
    for name in LINKED_STATE:  # it can begin while a command runs
        (private / name).symlink_to(source / name)
    for index in (source / "index", *source.glob("sharedindex.*")):
        if index.exists():
            (private / index.name).symlink_to(index)


def _setting(key: str, value: str) -> str:
    """Return a line of a configuration file, with the quoting of ``git-config``."""
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    head = f'[{section} "{_escape(subsection)}"]' if subsection else f"[{section}]"
    written = _escape(value).replace("\n", "\\n")
    return f'{head}\n\t{name} = "{written}"\n'


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
