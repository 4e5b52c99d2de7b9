"""Entries of a config file that run a program, reach a server or allow something."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Literal

from agent.config.permission_rules import parse_rules, parse_switches
from agent.config.project_restrictions import allows_everything
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

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
