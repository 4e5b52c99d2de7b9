"""Discovery of config files, in the order of precedence."""

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from agent.config import env_variables
from agent.config.paths import Paths, display_path, expand_home, home_folder, opencode_folder
from agent.records.frozen import frozen

SIZE_LIMIT = 1_048_576
"""Bytes of a config file; a larger one is no config file."""


SourceForm = Literal["ours", "tui", "claude", "mcp"]
"""The format of a source: this program's own, opencode's ``tui.json``, or Claude Code's settings
and ``.mcp.json``."""

MCP_FILE = ".mcp.json"
"""The servers of a project, in Claude Code's format."""

CLAUDE_FILES = ("settings.json", "settings.local.json")
"""Settings files of Claude Code in a folder ``.claude``."""


@frozen
class Source:
    """A file or text with settings."""

    name: str
    """The name as shown to users."""
    folder: Path
    """The folder that relative paths start from."""
    path: Path | None = None
    """None for settings that were given as text."""
    text: str = ""
    project: bool = False
    """True if it came with the opened folder, so that it needs trust."""
    required: bool = False
    """True if the user named the file, so that a missing one is reported."""
    form: SourceForm = "ours"


@frozen
class ConfigSources:
    """All sources; later ones win: the user's files, the project's, then those of the command."""

    before: tuple[Source, ...]
    project: tuple[Source, ...]
    after: tuple[Source, ...]


def find_sources(
    directory: Path, project: Path, paths: Paths, env: Mapping[str, str]
) -> ConfigSources:
    """Return the sources for the opened *directory* below the root *project*."""
    before = [*_existing(_user_files(paths, env), env)]
    for variable, form in FILE_VARIABLES.items():
        if named := env.get(variable):
            path = expand_home(named, env)
            path = path if path.is_absolute() else directory / path
            before.append(
                Source(display_path(path, env), path.parent, path, required=True, form=form)
            )
    own = {source.path.resolve() for source in before if source.path is not None}
    project_folders = (
        () if env_variables.is_on(env, "DISABLE_PROJECT_CONFIG") else (directory, project)
    )
    files = _existing(
        _project_files(*project_folders, env) if project_folders else iter(()), env, project=project
    )
    after = [Source(name, directory, text=text) for name, text in env_variables.config_texts(env)]
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
"""Variables that name a file, in the order of precedence."""


def read_source(source: Source) -> str:
    """Return the text of *source*. Raises ``OSError``, or ``ValueError`` with what was expected."""
    if source.path is None:
        return source.text
    return read_text(source.path)


def read_text(path: Path) -> str:
    """Return the text of a regular UTF-8 file of at most ``SIZE_LIMIT`` bytes.

    Raises ``OSError``, or ``ValueError`` with what was expected.
    """
    status = path.stat()
    # A pipe or a device in its place would block the start.
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("expected a regular file")
    if status.st_size > SIZE_LIMIT:
        raise ValueError("expected at most 1 MB")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("expected text in UTF-8") from error


def _user_files(paths: Paths, env: Mapping[str, str]) -> Iterator[Path]:
    yield from _claude_files(home_folder(env), env)
    yield from _own_files(paths.config)
    shared = opencode_folder(env)
    yield shared / "config.json"
    further = env.get("OPENCODE_CONFIG_DIR")
    folders = [shared, home_folder(env) / ".opencode"]
    for folder in [*folders, expand_home(further, env)] if further else folders:
        yield from _json_and_jsonc(folder, "opencode")
        yield from _json_and_jsonc(folder, "tui")


def folder_chain(directory: Path, project: Path) -> tuple[Path, ...]:
    """Return the folders from the root *project* down to the opened *directory*."""
    if not directory.is_relative_to(project):
        return (directory,)
    chain = (directory, *directory.parents)
    return tuple(folder for folder in reversed(chain) if folder.is_relative_to(project))


def _project_files(directory: Path, project: Path, env: Mapping[str, str]) -> Iterator[Path]:
    for folder in folder_chain(directory, project):
        yield from _claude_files(folder, env)
        if not env_variables.is_on(env, "DISABLE_CLAUDE_CODE"):
            yield folder / MCP_FILE
        for top in (folder, folder / ".opencode"):
            yield from _json_and_jsonc(top, "opencode")
            yield from _json_and_jsonc(top, "tui")
        yield from _own_files(folder / ".opencode-py")


def _own_files(folder: Path) -> Iterator[Path]:
    """Yield our files, also under opencode's name: a file that was copied there is not ignored."""
    yield from _json_and_jsonc(folder, "opencode")
    yield from _json_and_jsonc(folder, "config")


def _claude_files(folder: Path, env: Mapping[str, str]) -> Iterator[Path]:
    if not env_variables.is_on(env, "DISABLE_CLAUDE_CODE"):
        yield from (folder / ".claude" / name for name in CLAUDE_FILES)


def _form(path: Path) -> SourceForm:
    if path.parent.name == ".claude":
        return "claude"
    if path.name == MCP_FILE:
        return "mcp"
    return "tui" if path.stem == "tui" else "ours"


def _json_and_jsonc(folder: Path, stem: str) -> tuple[Path, Path]:
    return folder / f"{stem}.json", folder / f"{stem}.jsonc"


def _existing(
    candidates: Iterator[Path], env: Mapping[str, str], *, project: Path | None = None
) -> Iterator[Source]:
    for path in candidates:
        try:
            path.lstat()
        except OSError:
            continue  # missing, or in a folder that cannot be entered
        inside = project is not None and path.is_relative_to(project)
        name = (
            path.relative_to(project).as_posix() if project and inside else display_path(path, env)
        )
        yield Source(name, path.parent, path, project=project is not None, form=_form(path))
