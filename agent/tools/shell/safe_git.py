"""Git commands of the model that run without approval: no configuration of a repository is read.

Git in a folder runs what the folder's configuration names: monitors, filters, external diffs,
hooks, transports. A line that runs unasked therefore finds a small program named ``git`` first in
its PATH. It starts the real git with a private git directory, made before for each repository that
the line was found to use (see ``agent.git``), and with none anywhere else.
"""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.git import (
    BRANCH_KEYS,
    ENVIRONMENT,
    FLAGS,
    RepositoryPaths,
    Settings,
    find_repository,
    git_program,
    link_repository,
    read_settings,
    read_user_settings,
)
from agent.process import CapturedOutput
from agent.records.errors import ToolError
from agent.records.frozen import frozen

if TYPE_CHECKING:  # loads the grammar of shells and the programs that are known
    from agent.permission.shell.analysis import Analysis

SHOWN_KEYS = {**BRANCH_KEYS, "remote": ("fetch", "url", "pushurl")}
"""Keys of branches and remotes that the model's commands show. Nothing can be fetched from them."""

VARIABLES = {name: value for name, value in ENVIRONMENT.items() if name != "LC_ALL"}
"""Variables of git. Its messages keep the user's language."""

_SCRIPT = """\
#!/bin/sh
# Written for one command line. It runs git without the configuration of the repository.
real={real}
here=$(pwd -P) next=
for word do
  if [ -n "$next" ]; then
    next=
    here=$(CDPATH= cd -- "$here" && CDPATH= cd -- "$word" && pwd -P)
    continue
  fi
  case $word in
    -C) next=1 ;;
    -P|--no-pager|--no-optional-locks|--literal-pathspecs|--no-replace-objects) ;;
    *) break ;;
  esac
done
{choose}at=/dev/null top=/ head=
while :; do
  case $here in
{places}  esac
  if [ -z "$here" ] || [ -e "$here/.git" ] || [ -L "$here/.git" ]; then break; fi
  here=${{here%/*}}
done
{unset}{head}{index}export {variables}
export GIT_EXEC_PATH={inner}
GIT_DIR=$at GIT_WORK_TREE=$top exec "$real" {flags} "$@"
"""

_INNER_SCRIPT = """\
#!/bin/sh
# Git finds this when it starts itself. In a submodule it would read the configuration there.
if [ "${{GIT_DIR-}}" = .git ]; then exit 0; fi
exec {real} "$@"
"""

_CHOOSE = """\
case ${{word-}}{of_another} in
  {subcommands}) ;;
  *) PATH={path} exec "$real" "$@" ;;
esac
"""
"""In a line with commands that were approved: only what was found to read is run in this way."""

_HEAD = """\
if [ -n "$head" ] && read -r new < "$head" && read -r old < "$at/HEAD" && [ "$new" != "$old" ]; then
  printf '%s\\n' "$new" > "$at/HEAD"
fi
"""
"""Follows a checkout by an earlier command of the line."""

_INDEX = """\
case " $* " in
  *" diff "*)
    if {copy} -p "$at/index" "$at/index.$$" 2> /dev/null; then
      export GIT_INDEX_FILE="$at/index.$$"
    fi ;;
esac
"""
"""Git diff writes the index when only the times of files differ, even without optional locks."""


@frozen
class SafeGit:
    """The git commands of a line that are proven to only read."""

    folders: frozenset[str]
    """The folders that they can run in."""

    subcommands: frozenset[str] | None
    """Their subcommands, None if nothing else in the line needs approval."""


def safe_git(line: "Analysis") -> SafeGit | None:
    """Return the git commands of *line* that are proven to only read, None if it has none."""
    proven = [use for use in line.git if use.proven]
    if not proven:
        return None
    folders = frozenset(folder for use in proven for folder in use.dirs)
    if all(need.proven for need in line.needs):
        return SafeGit(folders, None)
    approved = {use.subcommand for use in line.git if not use.proven}
    names = frozenset(use.subcommand for use in proven if use.subcommand) - approved
    return SafeGit(folders, names) if names else None


class GitWrapper:
    """The program that a line finds as ``git``."""

    def __init__(
        self,
        folder: tempfile.TemporaryDirectory[str],
        environment: Mapping[str, str],
        replaced: Sequence[tuple[str, str]],
    ) -> None:
        """*replaced* are private paths, each with the one that the model should read instead."""
        self._folder = folder
        self.environment = environment
        """The environment of the line."""
        self._replaced = replaced
        self._kept = False

    def translated(self, output: CapturedOutput) -> CapturedOutput:
        """Return *output* with the paths of the repository."""
        text = output.text
        for private, own in self._replaced:
            text = text.replace(private, own)
        return replace(output, text=text)

    def keep(self) -> Callable[[], None]:
        """Keep the wrapper for a line that goes on; return the function that removes it."""
        self._kept = True
        return self._folder.cleanup

    def close_if_unused(self) -> None:
        """Remove the wrapper unless it is kept."""
        if not self._kept:
            self._folder.cleanup()


async def git_wrapper(use: SafeGit, env: Mapping[str, str]) -> GitWrapper | None:
    """Make the wrapper for a line with the environment *env*; None where there is no git.

    Raises ``ToolError`` if it cannot be made.
    """
    real = git_program()
    if real is None:
        return None
    folder = tempfile.TemporaryDirectory(prefix="opencode-py-git-", ignore_cleanup_errors=True)
    try:
        return await _filled(use, env, real, folder)
    except BaseException as error:
        await asyncio.to_thread(folder.cleanup)
        if isinstance(error, (OSError, ValueError)):
            raise ToolError(f"Git cannot be run here without approval: {error}.") from error
        raise


async def _filled(
    use: SafeGit, env: Mapping[str, str], real: str, folder: tempfile.TemporaryDirectory[str]
) -> GitWrapper:
    base = await asyncio.to_thread(Path(folder.name).resolve)
    found = await asyncio.to_thread(_repositories, use.folders)
    user = await read_user_settings() if found else ()
    private = [base / str(number) / ".git" for number in range(len(found))]
    made = await asyncio.gather(
        *(_make(repository, path, user) for repository, path in zip(found, private, strict=True))
    )
    places = list(zip(found, made, strict=True))
    path = env.get("PATH", os.defpath)
    inner = base / "inner" / "git"
    script = _script(use, real, path, env, inner, places)
    await asyncio.to_thread(_write, base / "bin" / "git", script)
    await asyncio.to_thread(_write, inner, _INNER_SCRIPT.format(real=shlex.quote(real)))
    given = {**env, "PATH": f"{base / 'bin'}{os.pathsep}{path}"}
    if use.subcommands is None:
        # A git that is reached in another way finds no repository at all.
        given = {name: value for name, value in given.items() if not name.startswith("GIT_")}
        given |= {**VARIABLES, "GIT_DIR": os.devnull}
    replaced = [(str(base / "bin" / "git"), real)]
    for repository, at in zip(found, private, strict=True):
        main = repository.common_dir
        replaced.append((str(at), str(main)))
        replaced.append((str(at.parent), str(main.parent if main.name == ".git" else main)))
    return GitWrapper(folder, given, tuple(replaced))


def _repositories(folders: frozenset[str]) -> list[RepositoryPaths]:
    found = {each.root: each for each in map(find_repository, map(Path, sorted(folders))) if each}
    return list(found.values())


async def _make(repository: RepositoryPaths, private: Path, user: Settings) -> Path:
    """Make the private git directory of *repository*; return that of its work tree."""
    own = await read_settings(repository.common_dir / "config", branch_keys=SHOWN_KEYS)
    return await asyncio.to_thread(link_repository, repository, private, (*user, *own))


def _write(program: Path, script: str) -> None:
    program.parent.mkdir()
    program.write_text(script, "utf-8", "surrogateescape")
    program.chmod(0o700)


def _script(
    use: SafeGit,
    real: str,
    path: str,
    env: Mapping[str, str],
    inner: Path,
    places: Sequence[tuple[RepositoryPaths, Path]],
) -> str:
    """Return the text of the wrapper."""
    choose = head = unset = ""
    if use.subcommands is not None:
        choose = _CHOOSE.format(
            subcommands="|".join(map(shlex.quote, sorted(use.subcommands))),
            path=shlex.quote(path),
            of_another="" if "GIT_DIR" in env else "${GIT_DIR-}${GIT_INDEX_FILE-}",
        )
        head = _HEAD
        set_by_user = [name for name in env if name.startswith("GIT_") and name.isidentifier()]
        unset = f"unset {' '.join(set_by_user)}\n" if set_by_user else ""
    return _SCRIPT.format(
        real=shlex.quote(real),
        inner=shlex.quote(str(inner.parent)),
        choose=choose,
        places="".join(_place(repository, private) for repository, private in places),
        head=head,
        index=_INDEX.format(copy=shlex.quote(git_program("cp") or "cp")),
        unset=unset,
        variables=" ".join(f"{name}={shlex.quote(value)}" for name, value in VARIABLES.items()),
        flags=shlex.join((*FLAGS, "-c", "diff.ignoreSubmodules=dirty")),
    )


def _place(repository: RepositoryPaths, private: Path) -> str:
    """Return the branch of the script for a folder with a repository."""
    root = "" if repository.root == Path("/") else str(repository.root)
    head = repository.git_dir / "HEAD"
    followed = "" if head.is_symlink() else shlex.quote(str(head))
    return (
        f"    {shlex.quote(root)}) at={shlex.quote(str(private))}"
        f" top={shlex.quote(str(repository.root))} head={followed}; break ;;\n"
    )
