"""A scan of a project for files that can run code or steer the agent.

It only reads: nothing of the project is started or imported, and no link leads out of it.
"""

import glob
import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import Literal

from agent.config import jsonc, opencode, other_programs
from agent.config.definition_files import (
    DefinitionFile,
    definition_paths,
    find_definitions,
    project_folders,
)
from agent.config.definitions import read_agent
from agent.config.discovery import find_sources, folder_chain, read_source, read_text
from agent.config.markdown_files import FrontmatterError
from agent.config.paths import Paths, home_folder
from agent.config.permission_rules import parse_rules, parse_switches
from agent.config.project_restrictions import allows_everything
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

# Entries of a config file that run a program, reach a server or allow something.

RunKind = Literal[
    "MCP server",
    "plugin",
    "tool",
    "hook",
    "formatter",
    "language server",
    "model provider",
    "worktree",
    "instructions from",
    "allowed without asking",
]

PROGRAM_KEYS: Mapping[str, RunKind] = {
    "mcp": "MCP server",
    "formatter": "formatter",
    "lsp": "language server",
    "provider": "model provider",
    "plugin": "plugin",
    "hooks": "hook",
    "worktree": "worktree",
}
"""Keys of a config file that can run code or reach a server."""


@frozen(kw_only=True)
class ProjectProgram:
    """One thing that a project would run, reach or allow."""

    kind: RunKind
    name: str

    source: str
    """The file that names it."""

    argv: tuple[str, ...] = ()
    """The whole command; empty if there is none."""

    detail: str = ""
    """A description, in place of a command or in addition to it."""

    raw: str = ""
    """The entry in the file, as JSON."""

    @property
    def text(self) -> str:
        """The whole command. A single word is a shell command, or a program without arguments."""
        if not self.argv:
            return self.detail
        words = self.argv[0] if len(self.argv) == 1 else shlex.join(self.argv)
        return f"{words}\nwith {self.detail}" if self.detail else words


def find_programs(values: JsonObject, source: str) -> Iterator[ProjectProgram]:
    """Yield what the settings *values* of the file *source* would run, reach and allow."""
    for key, kind in PROGRAM_KEYS.items():
        value = values.get(key)
        if isinstance(value, dict):
            for name, entry in value.items():
                yield from _programs_of_entry(kind, name, entry, source)
        elif isinstance(value, list):
            for entry in value:
                yield from _programs_of_entry(kind, _entry_name(entry), entry, source)
        elif value is True:
            yield ProjectProgram(kind=kind, name="all", source=source, detail="those found on PATH")
    instructions = values.get("instructions")
    for entry in instructions if isinstance(instructions, list) else []:
        if isinstance(entry, str) and "://" in entry:
            yield ProjectProgram(kind="instructions from", name=entry, source=source, detail=entry)
    yield from _allow_rules(values, source)


def _programs_of_entry(
    kind: RunKind, name: str, entry: Json, source: str
) -> Iterator[ProjectProgram]:
    """Yield the programs of one entry. A hook's entry can hold several commands, at any depth."""
    raw = json.dumps(entry, sort_keys=True)
    commands = list(_commands(entry))
    if not commands:
        detail = ", ".join(dict.fromkeys(_addresses(entry))) or _entry_text(entry)
        yield ProjectProgram(kind=kind, name=name, source=source, detail=detail, raw=raw)
    for argv, extra in commands:
        yield ProjectProgram(kind=kind, name=name, source=source, argv=argv, detail=extra, raw=raw)
    for address in _called_addresses(entry) if commands else ():
        yield ProjectProgram(kind=kind, name=name, source=source, detail=address, raw=raw)


def _commands(value: Json) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every ``command`` in *value*: its arguments, and the variables that it is given."""
    if isinstance(value, list):
        for item in value:
            yield from _commands(item)
    if not isinstance(value, dict):
        return
    command = value.get("command")
    if isinstance(command, str | list):
        words = [command] if isinstance(command, str) else command
        arguments = value.get("args")
        words = [*words, *(arguments if isinstance(arguments, list) else [])]
        given = [
            f"{name}={text}"
            for key in ("environment", "env")
            if isinstance(variables := value.get(key), dict)
            for name, text in variables.items()
        ]
        yield tuple(str(word) for word in words), " ".join(given)
        return
    for item in value.values():
        yield from _commands(item)


def _called_addresses(value: Json) -> Iterator[str]:
    """Yield the addresses of the hooks in *value* that are called."""
    if isinstance(value, list):
        for item in value:
            yield from _called_addresses(item)
    elif isinstance(value, dict):
        if value.get("type") == "http" and isinstance(url := value.get("url"), str):
            yield url
        yield from _called_addresses(value.get("hooks"))


def _addresses(value: Json) -> Iterator[str]:
    """Yield every URL in *value*."""
    if isinstance(value, str) and "://" in value:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _addresses(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _addresses(item)


def _allow_rules(values: JsonObject, source: str) -> Iterator[ProjectProgram]:
    """Yield the allow rules, which apply once the project is trusted."""
    agents = values.get("agent")
    owners: list[tuple[str, JsonObject]] = [("", values)]
    if isinstance(agents, dict):
        owners += [(name, each) for name, each in agents.items() if isinstance(each, dict)]
    for owner, entry in owners:
        found = (
            *parse_switches(entry.get("tools"), source),
            *parse_rules(entry.get("permission"), source).rules,
        )
        for rule in found:
            if rule.action == "allow" and not allows_everything(rule):
                name = rule.permission if not owner else f"{rule.permission} (agent {owner})"
                yield ProjectProgram(
                    kind="allowed without asking", name=name, source=source, detail=rule.pattern
                )


def _entry_name(entry: Json) -> str:
    return str(entry[0]) if isinstance(entry, list) and entry else _entry_text(entry)


def _entry_text(entry: Json) -> str:
    return entry if isinstance(entry, str) else json.dumps(entry, sort_keys=True)


INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CONTEXT.md")
"""Names of instruction files, in order of precedence."""

HOOK_FILES = (".claude/settings.json", ".claude/settings.local.json")
"""Settings of another program that can hold hooks."""

MAX_HASHED = 16 * 1024 * 1024
"""Bytes of a program's file that its hash covers, in addition to its size."""

MAX_PATTERN_FILES = 200
"""Limit of the files that one pattern of instructions names."""

_RULES = ".claude/rules"

_CHECKED_KEYS = frozenset({"permission", "tools", "$schema", *PROGRAM_KEYS})

SteeringKind = Literal["instructions", "command", "agent", "skill", "settings"]


@frozen
class SteeringSource:
    """A file or settings that would steer the agent."""

    kind: SteeringKind

    name: str
    """The file, or the names of the settings."""


@frozen
class ProjectFindings:
    """The result of a scan. The user is asked about a project only if something was found."""

    runs: tuple[ProjectProgram, ...] = ()
    steers: tuple[SteeringSource, ...] = ()

    hashes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Hashes of what can run, by the file that names it: trust is bound to them."""

    def __bool__(self) -> bool:
        return bool(self.runs or self.steers)


def scan_project(
    directory: Path,
    project: Path,
    paths: Paths,
    env: Mapping[str, str],
    patterns: Iterable[str] = (),
) -> ProjectFindings:
    """Scan the project's files for the open *directory* below the root *project* (both resolved).

    *patterns* come from the user's ``instructions`` setting; relative ones start in the project.
    """
    looker = _Scanner(directory, project)
    for source in find_sources(directory, project, paths, env).project:
        try:
            values, _ = other_programs.to_own_form(source, jsonc.parse(read_source(source)))
        except (OSError, ValueError, jsonc.JsoncError):
            continue  # such a file has no effect; loading it reports the error
        opencode.translate(values)
        looker.add_config(source.name, source.folder, values)
    for top in project_folders(directory, project, env):
        looker.add_definitions(top, env)
    for folder in folder_chain(directory, project):
        looker.add_folder(folder, own_hooks=folder == home_folder(env))
    for pattern in patterns:
        for path in pattern_files(pattern, directory, project):
            looker.add_steering("instructions", path)
    return looker.findings()


def pattern_files(pattern: str, directory: Path, project: Path) -> list[Path]:
    """Return the files in *project* that a relative *pattern* of instructions names, from the root
    down to *directory*; none for an address or a path outside."""
    if "://" in pattern or pattern.startswith(("/", "~")):
        return []
    found: dict[Path, None] = {}
    for folder in folder_chain(directory, project):
        # Path.glob raises for some patterns, and the pattern is untrusted.
        names = glob.iglob(pattern, root_dir=folder, recursive=True)
        for name in islice(names, MAX_PATTERN_FILES):
            path = folder / name
            if path.is_file() and path.resolve().is_relative_to(project):
                found[path] = None
    return list(found)


def rule_files(project: Path) -> list[Path]:
    """Return the files of Claude Code's rules in *project*, sorted; none that leads outside."""
    found = islice((project / _RULES).rglob("*.md"), MAX_PATTERN_FILES)
    real = project.resolve()
    return sorted(p for p in found if p.is_file() and p.resolve().is_relative_to(real))


class _Scanner:
    """Collects findings; names are relative to the project's root if possible."""

    def __init__(self, directory: Path, project: Path) -> None:
        self._starts = (directory, project)
        self._project = project
        self._runs: list[ProjectProgram] = []
        self._steers: dict[SteeringSource, None] = {}
        self._hashed: dict[str, list[Json]] = {}

    def findings(self) -> ProjectFindings:
        hashes = {
            name: hashlib.sha256(json.dumps(parts).encode()).hexdigest()
            for name, parts in sorted(self._hashed.items())
        }
        return ProjectFindings(tuple(self._runs), tuple(self._steers), hashes)

    def add_config(self, name: str, folder: Path, values: JsonObject) -> None:
        """Add what a config file would run, allow and set."""
        self._add(name, folder, find_programs(values, name))
        settings = [key for key in values if key not in _CHECKED_KEYS]
        if settings:
            self._steers[SteeringSource("settings", f"{name}: {', '.join(settings)}")] = None

    def add_definitions(self, top: Path, env: Mapping[str, str]) -> None:
        """Definitions and code below a folder such as ``.opencode-py``."""
        for path in definition_paths("command", top, self._project):
            self.add_steering("command", path)
        for file in find_definitions("agent", (top,), env, self._project):
            self.add_steering("agent", file.path)
            self._add_agent(file)
        for path in definition_paths("skill", top, self._project):
            self.add_steering("skill", path)
        for path in definition_paths("plugin", top, self._project):
            self._add_code(
                ProjectProgram(kind="plugin", name=path.stem, source=self._name(path)), path
            )
        for path in definition_paths("tool", top, self._project):
            self._add_code(
                ProjectProgram(kind="tool", name=path.stem, source=self._name(path)), path
            )

    def add_folder(self, folder: Path, *, own_hooks: bool) -> None:
        """Add instruction files and hooks in a folder on the way down to the open one. *own_hooks*:
        it is the user's home, where the hooks are theirs."""
        for name in INSTRUCTION_FILES:
            if (folder / name).is_file():
                self.add_steering("instructions", folder / name)
        for path in rule_files(folder) if folder == self._project else ():
            self.add_steering("instructions", path)
        for name in () if own_hooks else HOOK_FILES:
            try:
                values = jsonc.parse(read_text(folder / name))
            except (OSError, ValueError, jsonc.JsoncError):
                continue
            source = self._name(folder / name)
            self._add(source, folder, find_programs({"hooks": values.get("hooks")}, source))

    def add_steering(self, kind: SteeringKind, path: Path) -> None:
        self._steers[SteeringSource(kind, self._name(path))] = None

    def _add_agent(self, file: DefinitionFile) -> None:
        """Add what an agent would allow. One that cannot be read has no effect."""
        try:
            definition = read_agent(file)
        except (FrontmatterError, OSError, ValueError):
            return
        name = self._name(file.path)
        values: JsonObject = {"agent": {definition.name: definition.values}}
        self._add(name, file.path.parent, find_programs(values, name))

    def _add_code(self, runs: ProjectProgram, path: Path) -> None:
        self._runs.append(runs)
        self._hashed.setdefault(runs.source, []).append(_file_hash(path))

    def _add(self, name: str, folder: Path, found: Iterable[ProjectProgram]) -> None:
        for runs in found:
            self._runs.append(runs)
            parts = self._hashed.setdefault(name, [])
            parts.append([runs.kind, runs.name, list(runs.argv), runs.detail, runs.raw])
            parts.extend(self._scripts(folder, runs.argv))

    def _scripts(self, folder: Path, argv: tuple[str, ...]) -> Iterator[Json]:
        """Yield the hashes of the project's own files among the words of a command."""
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
    """Return a hash of a file's content, "unreadable" if it cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_HASHED)
            return f"{path.stat().st_size} {hashlib.sha256(data).hexdigest()}"
    except OSError:
        return "unreadable"
