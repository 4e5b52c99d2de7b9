"""Where commands, agents and skills are defined in markdown (spec 10, K7), and code beside them.

Each kind has its folders below a *top*: the config folder, ``.opencode``, ``.opencode-py``,
``.claude`` or ``.agents``. This room finds the files; what is in them is read elsewhere.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from agent.config import environment
from agent.config.discovery import folder_chain
from agent.config.paths import Paths, display_path, expand_home, home_folder, opencode_folder

DefinitionKind = Literal["command", "agent", "skill", "plugin", "tool"]

DEFINITION_FOLDERS: Mapping[DefinitionKind, tuple[tuple[str, ...], str]] = {
    "command": (("command", "commands"), ".md"),
    "agent": (("agent", "agents", "mode", "modes"), ".md"),
    "skill": (("skill", "skills"), "SKILL.md"),
    "plugin": (("plugin", "plugins"), ".py"),
    "tool": (("tool", "tools"), ".py"),
}
"""Folder names of each kind, and what its files' names end in."""

OWN_FOLDERS = (".opencode", ".opencode-py")
"""Folders of a project that are ours, the reference's first: the later wins."""

FOREIGN_FOLDERS = (".claude", ".agents")
"""Folders of other programs; only their skills, agents and commands are read."""

MAX_DEPTH = 5
"""Folders that a definition may lie below its kind's folder."""

MAX_FILES = 500
"""Files of one kind below one top; what comes after them is not looked at."""


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """One file. *name* is the path below its kind's *folder* without the ending; *source* is
    what people read of where it is; *foreign* ones are written for other programs. *project* is
    the project that it came with, None for the user's own."""

    kind: DefinitionKind
    name: str
    path: Path
    source: str
    folder: str
    foreign: bool
    project: Path | None = None


def find_definitions(
    kind: DefinitionKind, tops: Iterable[Path], env: Mapping[str, str], project: Path | None = None
) -> Iterator[DefinitionFile]:
    """The definitions of *kind* below *tops*, in order; later ones win."""
    for top in tops:
        for path in definition_paths(kind, top, project):
            relative = path.relative_to(top)
            inside = project is not None and path.is_relative_to(project)
            source = path.relative_to(project).as_posix() if project and inside else None
            yield DefinitionFile(
                kind=kind,
                name=Path(*relative.parts[1:]).with_suffix("").as_posix(),
                path=path,
                source=source or display_path(path, env),
                folder=relative.parts[0],
                foreign=top.name in FOREIGN_FOLDERS,
                project=project,
            )


def user_folders(paths: Paths, env: Mapping[str, str]) -> tuple[Path, ...]:
    """The user's own tops, later wins."""
    home = home_folder(env)
    foreign = [home / name for name in _foreign(env)]
    named = [expand_home(further, env)] if (further := env.get("OPENCODE_CONFIG_DIR")) else []
    return (*foreign, opencode_folder(env), home / ".opencode", *named, paths.config)


def project_folders(directory: Path, project: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """The tops of a project from its root down to the opened folder, later wins.

    The user's own (a project may be the home folder) are left out.
    """
    if environment.is_on(env, "DISABLE_PROJECT_CONFIG"):
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
    """The folders of other programs that are read at all."""
    left = {".claude"} if environment.is_on(env, "DISABLE_CLAUDE_CODE") else set[str]()
    return tuple(name for name in FOREIGN_FOLDERS if name not in left)


def folders_without_skills(env: Mapping[str, str]) -> frozenset[str]:
    """The names of folders of other programs whose skills are not wanted."""
    if environment.is_on(env, "DISABLE_EXTERNAL_SKILLS"):
        return frozenset(FOREIGN_FOLDERS)
    return frozenset({".claude"} if environment.is_on(env, "DISABLE_CLAUDE_CODE_SKILLS") else ())


def definition_paths(kind: DefinitionKind, top: Path, inside: Path | None = None) -> list[Path]:
    """The files of *kind* below *top*, sorted by name; folders reached twice are entered twice
    at most as deep as ``DEPTH``.

    *inside* is the project that they must really lie in, None for the user's own.
    """
    names, ending = DEFINITION_FOLDERS[kind]
    if kind in {"plugin", "tool"} and top.name in FOREIGN_FOLDERS:
        return []
    return [
        path
        for name in names
        for path in islice(_walk(top / name, ending, inside, MAX_DEPTH), MAX_FILES)
    ]


def skill_paths(folder: Path) -> list[Path]:
    """The ``SKILL.md`` files below a *folder* that the settings name, sorted."""
    return list(islice(_walk(folder, DEFINITION_FOLDERS["skill"][1], None, MAX_DEPTH), MAX_FILES))


def _walk(folder: Path, ending: str, inside: Path | None, depth: int) -> Iterator[Path]:
    if not _lies(folder, inside):
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
        elif entry.name.endswith(ending) and entry.is_file() and _lies(path, inside):
            yield path


def _lies(path: Path, inside: Path | None) -> bool:
    return inside is None or path.resolve().is_relative_to(inside)
