"""Discovery of the files that define commands, agents, skills, plugins and tools.

Each kind has its folders in a *config folder*: the user's own, ``.opencode``, ``.opencode-py``,
``.claude`` or ``.agents``.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Literal

from agent.config import env_variables
from agent.config.discovery import folder_chain
from agent.config.paths import Paths, display_path, expand_home, home_folder, opencode_folder
from agent.records.frozen import frozen

DefinitionKind = Literal["command", "agent", "skill", "plugin", "tool"]

DEFINITION_FOLDERS: Mapping[DefinitionKind, tuple[tuple[str, ...], str]] = {
    "command": (("command", "commands"), ".md"),
    "agent": (("agent", "agents", "mode", "modes"), ".md"),
    "skill": (("skill", "skills"), "SKILL.md"),
    "plugin": (("plugin", "plugins"), ".py"),
    "tool": (("tool", "tools"), ".py"),
}
"""Folder names of each kind, and the end of its files' names."""

OWN_FOLDERS = (".opencode", ".opencode-py")
"""Config folders of a project; the later one wins."""

FOREIGN_FOLDERS = (".claude", ".agents")
"""Config folders of other programs; only their skills, agents and commands are read."""

NAMES_INSIDE = (*FOREIGN_FOLDERS, ".opencode", "opencode")
"""Config folders of programs that name what a file defines by the ``name`` in it."""

MAX_DEPTH = 5
"""Levels of folders below the folder of a kind."""

MAX_FILES = 500
"""Files of one kind in one config folder; further ones are ignored."""


@frozen
class DefinitionFile:
    """A file that defines something."""

    kind: DefinitionKind
    name: str
    """The path below the folder of its kind, without the extension."""
    path: Path
    source: str
    """The path as shown to users."""
    folder: str
    """The name of the folder of its kind."""
    foreign: bool
    """True if it was written for another program."""
    names_inside: bool = False
    """True if a name in the file counts rather than that of the file, as in Claude Code and
    opencode."""
    project: Path | None = None
    """The project that it came with, None for the user's own."""


def find_definitions(
    kind: DefinitionKind,
    folders: Iterable[Path],
    env: Mapping[str, str],
    project: Path | None = None,
) -> Iterator[DefinitionFile]:
    """Yield the definitions of *kind* in the config *folders*, in order; later ones win."""
    for folder in folders:
        for path in definition_paths(kind, folder, project):
            relative = path.relative_to(folder)
            inside = project is not None and path.is_relative_to(project)
            source = path.relative_to(project).as_posix() if project and inside else None
            yield DefinitionFile(
                kind=kind,
                name=Path(*relative.parts[1:]).with_suffix("").as_posix(),
                path=path,
                source=source or display_path(path, env),
                folder=relative.parts[0],
                foreign=folder.name in FOREIGN_FOLDERS,
                names_inside=folder.name in NAMES_INSIDE,
                project=project,
            )


def user_folders(paths: Paths, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the user's own config folders; later ones win."""
    home = home_folder(env)
    foreign = [home / name for name in _foreign(env)]
    named = [expand_home(further, env)] if (further := env.get("OPENCODE_CONFIG_DIR")) else []
    return (*foreign, opencode_folder(env), home / ".opencode", *named, paths.config)


def project_folders(directory: Path, project: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the config folders of a project, from its root to the opened folder; later ones win.

    The user's own are excluded, since a project can be the home folder.
    """
    if env_variables.is_on(env, "DISABLE_PROJECT_CONFIG"):
        return ()
    home = home_folder(env)
    own = {home / name for name in (*FOREIGN_FOLDERS, ".opencode")}
    return tuple(
        folder / name
        for folder in folder_chain(directory, project)
        for name in (*_foreign(env), *OWN_FOLDERS)
        if folder / name not in own
    )


def _foreign(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders of other programs that are read."""
    excluded = {".claude"} if env_variables.is_on(env, "DISABLE_CLAUDE_CODE") else set[str]()
    return tuple(name for name in FOREIGN_FOLDERS if name not in excluded)


def folders_without_skills(env: Mapping[str, str]) -> frozenset[str]:
    """Return the folders of other programs whose skills are not read."""
    if env_variables.is_on(env, "DISABLE_EXTERNAL_SKILLS"):
        return frozenset(FOREIGN_FOLDERS)
    return frozenset({".claude"} if env_variables.is_on(env, "DISABLE_CLAUDE_CODE_SKILLS") else ())


def definition_paths(kind: DefinitionKind, folder: Path, inside: Path | None = None) -> list[Path]:
    """Return the files of *kind* in the config folder *folder*, sorted by name.

    *inside* is the project that they have to be in after symlinks are resolved, None for the user's
    own.
    """
    names, ending = DEFINITION_FOLDERS[kind]
    if kind in {"plugin", "tool"} and folder.name in FOREIGN_FOLDERS:
        return []
    return [
        path
        for name in names
        for path in islice(_walk(folder / name, ending, inside, MAX_DEPTH), MAX_FILES)
    ]


def skill_paths(folder: Path) -> list[Path]:
    """Return the ``SKILL.md`` files below a *folder* that the settings name, sorted."""
    return list(islice(_walk(folder, DEFINITION_FOLDERS["skill"][1], None, MAX_DEPTH), MAX_FILES))


def _walk(folder: Path, ending: str, inside: Path | None, depth: int) -> Iterator[Path]:
    if not _is_inside(folder, inside):
        return
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = folder / entry.name
        if entry.is_dir():
            if depth > 0:
                yield from _walk(path, ending, inside, depth - 1)
        elif entry.name.endswith(ending) and entry.is_file() and _is_inside(path, inside):
            yield path


def _is_inside(path: Path, inside: Path | None) -> bool:
    return inside is None or path.resolve().is_relative_to(inside)
