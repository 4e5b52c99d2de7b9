"""What the files of a project hold that can run code or steer the agent (spec 4, M9).

Everything here only reads: nothing of the project is started, imported or followed out of it.
"""

import glob
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

from agent.config import formats, jsonc, opencode
from agent.config.definition_files import (
    DefinitionFile,
    definition_paths,
    find_definitions,
    project_folders,
)
from agent.config.discovery import find_sources, folder_chain, read_source, read_text
from agent.config.markdown_files import FrontmatterError, read_agent
from agent.config.paths import Paths, home_folder
from agent.permission.trust.project_programs import TABLES, Runs, programs
from agent.records.json import Json, JsonObject

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""Names of instruction files in the order in which they count (spec 6, I4)."""

HOOK_FILES = (".claude/settings.json", ".claude/settings.local.json")
"""Settings of another program, of which the hooks are read."""

HASHED = 16 * 1024 * 1024
"""Bytes of a program's file that its hash covers, with its size."""

PATTERN_FILES = 200
"""Files that one pattern of instructions may name."""

_JUDGED = frozenset({"permission", "tools", "$schema", *TABLES})

SteerKind = Literal["instructions", "command", "agent", "skill", "settings"]


@dataclass(frozen=True, slots=True)
class Steers:
    """One thing that would steer the agent: *name* is its file, or the names of settings."""

    kind: SteerKind
    name: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What a folder holds. *hashes* are of what can run, by the file that says so: trust is
    bound to them. A folder with nothing found is not asked about."""

    runs: tuple[Runs, ...] = ()
    steers: tuple[Steers, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])

    def __bool__(self) -> bool:
        return bool(self.runs or self.steers)


def look_through(
    directory: Path,
    project: Path,
    paths: Paths,
    env: Mapping[str, str],
    patterns: Iterable[str] = (),
) -> Findings:
    """What the project's files hold for the opened *directory* below the root *project* (both
    resolved).

    *patterns* are the user's own further instructions; relative ones lead into the project.
    """
    looker = _Looker(directory, project)
    for source in find_sources(directory, project, paths, env).project:
        try:
            values, _ = formats.to_own_form(source, jsonc.parse(read_source(source)))
        except (OSError, ValueError, jsonc.JsoncError):
            continue  # such a file has no effect, which loading tells
        opencode.translate(values)
        looker.config(source.name, source.folder, values)
    for top in project_folders(directory, project, env):
        looker.top(top, env)
    for folder in folder_chain(directory, project):
        looker.folder(folder, own_hooks=folder == home_folder(env))
    for pattern in patterns:
        for path in pattern_files(pattern, directory, project):
            looker.steer("instructions", path)
    return looker.findings()


def pattern_files(pattern: str, directory: Path, project: Path) -> list[Path]:
    """The files in *project* that a relative *pattern* of instructions names, looked for from
    the root down to *directory*. None for an address or a path outside."""
    if "://" in pattern or pattern.startswith(("/", "~")):
        return []
    found: dict[Path, None] = {}
    for folder in folder_chain(directory, project):
        # Path.glob raises for some patterns, and a pattern is a stranger's.
        names = glob.iglob(pattern, root_dir=folder, recursive=True)  # see above
        for name in islice(names, PATTERN_FILES):
            path = folder / name
            if path.is_file() and path.resolve().is_relative_to(project):
                found[path] = None
    return list(found)


class _Looker:
    """Collects findings; names are relative to the project's root where they can be."""

    def __init__(self, directory: Path, project: Path) -> None:
        self._starts = (directory, project)
        self._project = project
        self._runs: list[Runs] = []
        self._steers: dict[Steers, None] = {}
        self._hashed: dict[str, list[Json]] = {}

    def findings(self) -> Findings:
        hashes = {
            name: hashlib.sha256(json.dumps(parts).encode()).hexdigest()
            for name, parts in sorted(self._hashed.items())
        }
        return Findings(tuple(self._runs), tuple(self._steers), hashes)

    def config(self, name: str, folder: Path, values: JsonObject) -> None:
        """What a config file would run, allow and set."""
        self._add(name, folder, programs(values, name))
        settings = [key for key in values if key not in _JUDGED]
        if settings:
            self._steers[Steers("settings", f"{name}: {', '.join(settings)}")] = None

    def top(self, top: Path, env: Mapping[str, str]) -> None:
        """Definitions and code below a folder such as ``.opencode-py``."""
        for path in definition_paths("command", top, self._project):
            self.steer("command", path)
        for file in find_definitions("agent", (top,), env, self._project):
            self.steer("agent", file.path)
            self._agent(file)
        for path in definition_paths("skill", top, self._project):
            self.steer("skill", path)
        for path in definition_paths("plugin", top, self._project):
            self._code(Runs(kind="plugin", name=path.stem, source=self._name(path)), path)
        for path in definition_paths("tool", top, self._project):
            self._code(Runs(kind="tool", name=path.stem, source=self._name(path)), path)

    def folder(self, folder: Path, *, own_hooks: bool) -> None:
        """Instruction files and hooks in a folder on the way down to the opened one.
        *own_hooks*: it is the user's home, where the hooks are theirs."""
        for name in INSTRUCTION_FILES:
            if (folder / name).is_file():
                self.steer("instructions", folder / name)
        for name in () if own_hooks else HOOK_FILES:
            try:
                values = jsonc.parse(read_text(folder / name))
            except (OSError, ValueError, jsonc.JsoncError):
                continue
            source = self._name(folder / name)
            self._add(source, folder, programs({"hooks": values.get("hooks")}, source))

    def steer(self, kind: SteerKind, path: Path) -> None:
        self._steers[Steers(kind, self._name(path))] = None

    def _agent(self, file: DefinitionFile) -> None:
        """What an agent would allow. One that cannot be read has no effect."""
        try:
            values: JsonObject = {"agent": {file.name: read_agent(file)}}
        except (FrontmatterError, OSError, ValueError):
            return
        name = self._name(file.path)
        self._add(name, file.path.parent, programs(values, name))

    def _code(self, runs: Runs, path: Path) -> None:
        self._runs.append(runs)
        self._hashed.setdefault(runs.source, []).append(_file_hash(path))

    def _add(self, name: str, folder: Path, found: Iterable[Runs]) -> None:
        for runs in found:
            self._runs.append(runs)
            parts = self._hashed.setdefault(name, [])
            parts.append([runs.kind, runs.name, list(runs.argv), runs.detail, runs.raw])
            parts.extend(self._scripts(folder, runs.argv))

    def _scripts(self, folder: Path, argv: tuple[str, ...]) -> Iterator[Json]:
        """The hashes of the project's own files among the words of a command."""
        for word in dict.fromkeys(part for text in argv for part in (text, *text.split())):
            for start in dict.fromkeys((folder, *self._starts)):
                digest = self._own_file(start, word)
                if digest:
                    yield [word, digest]
                    break

    def _own_file(self, start: Path, word: str) -> str:
        try:
            real = (start / word).resolve()
            own = bool(word) and real.is_file() and real.is_relative_to(self._project)
        except (OSError, ValueError):
            return ""  # a word that cannot be a path
        return _file_hash(real) if own else ""

    def _name(self, path: Path) -> str:
        return path.relative_to(self._project).as_posix()


def _file_hash(path: Path) -> str:
    """A hash of a file's content, "unreadable" where that cannot be had."""
    try:
        with path.open("rb") as file:
            data = file.read(HASHED)
            return f"{path.stat().st_size} {hashlib.sha256(data).hexdigest()}"
    except OSError:
        return "unreadable"
