"""Which config files there are, in the order in which they count (spec 10, K1)."""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.config.paths import Paths, expand, home_of, shown

SIZE_LIMIT = 1_048_576
"""Bytes of a config file; a larger one is no config file."""


@dataclass(frozen=True, slots=True)
class Source:
    """One place that settings come from. *name* is what people read.

    *path* is None for settings that were given as text; *folder* is what relative paths in
    it start from. *project* marks files that came with the folder: they need trust (M9).
    *required* marks a file that the user named, which is missed when it is not there.
    """

    name: str
    folder: Path
    path: Path | None = None
    text: str = ""
    project: bool = False
    required: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """Sources, later wins: the user's files, the project's, then what was given at the start."""

    before: tuple[Source, ...]
    project: tuple[Source, ...]
    after: tuple[Source, ...]


def find(directory: Path, project: Path, paths: Paths, env: Mapping[str, str]) -> Found:
    """All sources that exist for the opened *directory* below the root *project*."""
    before = [*_present(_own(paths, env), env)]
    named = env.get("OPENCODE_PY_CONFIG")
    if named:
        path = expand(named, env)
        path = path if path.is_absolute() else directory / path
        before.append(Source(shown(path, env), path.parent, path, required=True))
    own = {source.path.resolve() for source in before if source.path is not None}
    files = _present(_of_project(directory, project), env, project=project)
    content = env.get("OPENCODE_PY_CONFIG_CONTENT")
    return Found(
        before=tuple(before),
        project=tuple(s for s in files if s.path is None or s.path.resolve() not in own),
        after=(Source("OPENCODE_PY_CONFIG_CONTENT", directory, text=content),) if content else (),
    )


def read(source: Source) -> str:
    """The text of *source*. Raises ``OSError``, or ``ValueError`` with what was expected."""
    if source.path is None:
        return source.text
    return read_text(source.path)


def read_text(path: Path) -> str:
    """The text of a regular UTF-8 file of at most ``SIZE_LIMIT`` bytes.

    Raises ``OSError``, or ``ValueError`` with what was expected.
    """
    status = path.stat()
    # A pipe or a device in its place would keep the program from starting.
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("expected a regular file")
    if status.st_size > SIZE_LIMIT:
        raise ValueError("expected at most 1 MB")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("expected text in UTF-8") from error


def _own(paths: Paths, env: Mapping[str, str]) -> Iterator[Path]:
    yield from _both(paths.config, "config")
    base = env.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base and Path(base).is_absolute() else home_of(env) / ".config"
    yield folder / "opencode" / "config.json"
    yield from _both(folder / "opencode", "opencode")
    yield from _both(home_of(env) / ".opencode", "opencode")


def folders(directory: Path, project: Path) -> tuple[Path, ...]:
    """The folders from the root *project* down to the opened *directory*."""
    if not directory.is_relative_to(project):
        return (directory,)
    chain = (directory, *directory.parents)
    return tuple(folder for folder in reversed(chain) if folder.is_relative_to(project))


def _of_project(directory: Path, project: Path) -> Iterator[Path]:
    for folder in folders(directory, project):
        yield from _both(folder, "opencode")
        yield from _both(folder / ".opencode", "opencode")
        yield from _both(folder / ".opencode-py", "config")


def _both(folder: Path, stem: str) -> tuple[Path, Path]:
    return folder / f"{stem}.json", folder / f"{stem}.jsonc"


def _present(
    candidates: Iterator[Path], env: Mapping[str, str], *, project: Path | None = None
) -> Iterator[Source]:
    for path in candidates:
        try:
            path.lstat()
        except OSError:
            continue  # not there, or in a folder that can't be entered
        inside = project is not None and path.is_relative_to(project)
        name = path.relative_to(project).as_posix() if project and inside else shown(path, env)
        yield Source(name, path.parent, path, project=project is not None)
