"""Which config files there are, in the order in which they count (spec 10, K1)."""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.config import environment
from agent.config.paths import Paths, display_path, expand_home, home_folder, opencode_folder

SIZE_LIMIT = 1_048_576
"""Bytes of a config file; a larger one is no config file."""


SourceForm = Literal["ours", "tui", "claude", "mcp"]
"""How a file says its settings: as ours do, as opencode's ``tui.json``, or as Claude Code's
settings and ``.mcp.json``."""

MCP_FILE = ".mcp.json"
"""The servers of a project, as Claude Code writes them down."""

CLAUDE_FILES = ("settings.json", "settings.local.json")
"""Settings files of Claude Code in a folder ``.claude``."""


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
    form: SourceForm = "ours"


@dataclass(frozen=True, slots=True)
class ConfigSources:
    """Sources, later wins: the user's files, the project's, then what was given at the start."""

    before: tuple[Source, ...]
    project: tuple[Source, ...]
    after: tuple[Source, ...]


def find_sources(
    directory: Path, project: Path, paths: Paths, env: Mapping[str, str]
) -> ConfigSources:
    """All sources that exist for the opened *directory* below the root *project*."""
    before = [*_present(_own(paths, env), env)]
    for variable, form in FILE_VARIABLES.items():
        if named := env.get(variable):
            path = expand_home(named, env)
            path = path if path.is_absolute() else directory / path
            before.append(
                Source(display_path(path, env), path.parent, path, required=True, form=form)
            )
    own = {source.path.resolve() for source in before if source.path is not None}
    theirs = () if environment.is_on(env, "DISABLE_PROJECT_CONFIG") else (directory, project)
    files = _present(_of_project(*theirs, env) if theirs else iter(()), env, project=project)
    after = [Source(name, directory, text=text) for name, text in environment.config_texts(env)]
    if content := env.get("OPENCODE_PY_CONFIG_CONTENT"):
        after.append(Source("OPENCODE_PY_CONFIG_CONTENT", directory, text=content))
    return ConfigSources(
        before=tuple(before),
        project=tuple(s for s in files if s.path is None or s.path.resolve() not in own),
        after=tuple(after),
    )


FILE_VARIABLES: Mapping[str, SourceForm] = {
    "OPENCODE_CONFIG": "ours",
    "OPENCODE_TUI_CONFIG": "tui",
    "OPENCODE_PY_CONFIG": "ours",
}
"""Variables that name a file, in the order in which they count."""


def read_source(source: Source) -> str:
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
    yield from _claude(home_folder(env), env)
    yield from _ours(paths.config)
    shared = opencode_folder(env)
    yield shared / "config.json"
    further = env.get("OPENCODE_CONFIG_DIR")
    tops = [shared, home_folder(env) / ".opencode"]
    for top in [*tops, expand_home(further, env)] if further else tops:
        yield from _both(top, "opencode")
        yield from _both(top, "tui")


def folder_chain(directory: Path, project: Path) -> tuple[Path, ...]:
    """The folders from the root *project* down to the opened *directory*."""
    if not directory.is_relative_to(project):
        return (directory,)
    chain = (directory, *directory.parents)
    return tuple(folder for folder in reversed(chain) if folder.is_relative_to(project))


def _of_project(directory: Path, project: Path, env: Mapping[str, str]) -> Iterator[Path]:
    for folder in folder_chain(directory, project):
        yield from _claude(folder, env)
        if not environment.is_on(env, "DISABLE_CLAUDE_CODE"):
            yield folder / MCP_FILE
        for top in (folder, folder / ".opencode"):
            yield from _both(top, "opencode")
            yield from _both(top, "tui")
        yield from _ours(folder / ".opencode-py")


def _ours(folder: Path) -> Iterator[Path]:
    """Under opencode's name too: a file that was copied there is not passed over in silence."""
    yield from _both(folder, "opencode")
    yield from _both(folder, "config")


def _claude(folder: Path, env: Mapping[str, str]) -> Iterator[Path]:
    if not environment.is_on(env, "DISABLE_CLAUDE_CODE"):
        yield from (folder / ".claude" / name for name in CLAUDE_FILES)


def _form(path: Path) -> SourceForm:
    if path.parent.name == ".claude":
        return "claude"
    if path.name == MCP_FILE:
        return "mcp"
    return "tui" if path.stem == "tui" else "ours"


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
        name = (
            path.relative_to(project).as_posix() if project and inside else display_path(path, env)
        )
        yield Source(name, path.parent, path, project=project is not None, form=_form(path))
