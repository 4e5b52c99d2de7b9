"""Loads the settings of a folder: find the sources, read, validate and merge them.

A start without config files takes the short way: no parser and no validation is loaded.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from agent.config import env_variables
from agent.config.definition_files import (
    DefinitionFile,
    DefinitionKind,
    find_definitions,
    project_folders,
    user_folders,
)
from agent.config.discovery import ConfigSources, Source, find_sources
from agent.config.paths import Paths
from agent.config.permission_rules import (
    ConfigRule,
    allow_to_ask,
    ask_by_default,
    join_rules,
)
from agent.config.saved_rule_marks import marked_rules
from agent.config.settings_schema import Config
from agent.records.frozen import frozen
from agent.records.json import Json

if TYPE_CHECKING:  # loads pydantic
    from agent.config.layers import Layer


@frozen(kw_only=True)
class LoadedConfig:
    """The settings of an opened folder and their sources."""

    config: Config = field(default_factory=Config)
    rules: tuple[ConfigRule, ...] = ()
    """The permission rules of all sources in the order of evaluation. The program's defaults come
    before them, an agent's own and the session's after."""
    agent_rules: Mapping[str, tuple[ConfigRule, ...]] = field(
        default_factory=dict[str, tuple[ConfigRule, ...]]
    )
    """The permission rules of agents by name."""
    notices: tuple[str, ...] = ()
    """Sentences for the user on what could not be read, has no effect, or waits for trust."""
    files: tuple[str, ...] = ()
    """The sources that were read."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """The source of each value, by its dotted key."""
    project_files: frozenset[str] = frozenset()
    """The sources that came with the opened folder."""
    project_providers: frozenset[str] = frozenset()
    """The providers that only the project defines; the user's keys are never sent to them."""
    variables: frozenset[str] = frozenset()
    """The environment variables that the settings read, which can hold keys."""

    own_values: Mapping[str, Json] = field(default_factory=dict[str, Json], repr=False)
    """The values that no file of the project sets."""

    def own_value(self, *key: str) -> Json:
        """Return the user's own value of *key*, None if there is none."""
        value: Json = dict(self.own_values)
        for step in key:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def from_project(self, key: str) -> bool:
        """Return whether a project's file set the value at the dotted *key*."""
        return self.sources.get(key) in self.project_files

    def source_of(self, prefix: str) -> str:
        """Return the sources of the values whose dotted keys begin with *prefix*, each once."""
        found = (source for key, source in self.sources.items() if key.startswith(prefix))
        return ", ".join(dict.fromkeys(found))


def load_config(
    directory: Path,
    project: Path,
    env: Mapping[str, str],
    overrides: Mapping[str, Json] | None = None,
    *,
    paths: Paths | None = None,
    trusted: bool = False,
    providers_with_keys: Mapping[str, Collection[str]] | None = None,
) -> LoadedConfig:
    """Return the settings for the opened *directory* in *project* (both absolute).

    *overrides* come from the command line, in the form of a file; None values in it mean "not
    given". Nothing in a file makes this raise: faults become notices. Unless the project is
    *trusted*, its files only tighten. *providers_with_keys* are the providers that may have a key
    of the user's, beside those that the settings name, with the addresses and ``{env:NAME}`` of
    keys that a project can repeat.
    """
    paths = paths or Paths.find(env)
    found = find_sources(directory, project, paths, env)
    user = _definitions(user_folders(paths, env), env, None)
    folders = project_folders(directory, project, env) if trusted else ()
    of_project = _definitions(folders, env, project)
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    if not given and not any((found.before, found.project, found.after, user, of_project)):
        return LoadedConfig(notices=env_variables.notices(env))
    keyed = providers_with_keys or {}
    definitions = _Definitions(trusted, keyed, project, user, of_project)
    return _load(found, given, Source("command line", directory), env, definitions, paths.config)


@frozen
class _Definitions:
    """Agents and commands defined in markdown, and the limits of the project's ones."""

    trusted: bool
    """True if the project is trusted."""
    providers_with_keys: Mapping[str, Collection[str]]
    """Providers that may have a key of the user's beside those that the settings name."""
    root: Path
    """The root of the project."""
    user: tuple[DefinitionFile, ...]
    project: tuple[DefinitionFile, ...]


def _definitions(
    folders: tuple[Path, ...], env: Mapping[str, str], project: Path | None
) -> tuple[DefinitionFile, ...]:
    """Return the markdown definitions that become a part of the settings."""
    kinds: tuple[DefinitionKind, ...] = ("agent", "command")
    return tuple(file for kind in kinds for file in find_definitions(kind, folders, env, project))


def _load(
    found: ConfigSources,
    overrides: Mapping[str, Json],
    command_line: Source,
    env: Mapping[str, str],
    definitions: _Definitions,
    settings: Path,
) -> LoadedConfig:
    """Return the settings; *settings* is the folder of the user's own."""
    # Loads pydantic, which a start without config files does not need.
    from agent.config.layers import (
        command_line_layer,
        definition_layer,
        merge_values,
        names_in,
        read_layer,
        trust_limits,
    )
    from agent.config.validation import build_config, dotted_key

    before = [read_layer(source, env) for source in found.before]
    for layer in before:
        layer.rules = marked_rules(settings, layer.rules)
    before += [definition_layer(file) for file in definitions.user]
    after = [read_layer(source, env) for source in found.after]
    if overrides:
        after.append(command_line_layer(overrides, command_line, env))
    user_values: dict[str, Json] = {}
    for layer in (*before, *after):
        merge_values(user_values, deepcopy(layer.values), layer.source.name, {})
    limits = None
    if definitions.trusted:
        keyed = definitions.providers_with_keys
        limits = trust_limits(user_values, keyed, definitions.root)
    project = [read_layer(source, env, limits) for source in found.project]
    project += [definition_layer(file, limits) for file in definitions.project]
    layers = [*before, *project, *after]

    values: dict[str, Json] = {}
    sources: dict[tuple[str | int, ...], str] = {}
    for layer in layers:
        merge_values(values, layer.values, layer.source.name, sources)
    rules, agent_rules = _rules_in_order(before, project, after, trusted=definitions.trusted)
    own_providers = names_in(user_values, "provider")
    return LoadedConfig(
        config=build_config(values),
        rules=rules,
        agent_rules=agent_rules,
        notices=(*(n for layer in layers for n in layer.notices), *env_variables.notices(env)),
        files=tuple(layer.source.name for layer in layers),
        sources={dotted_key(path): source for path, source in sources.items()},
        project_files=frozenset(layer.source.name for layer in project),
        project_providers=names_in(values, "provider") - own_providers,
        variables=frozenset(name for layer in layers for name in layer.variables),
        own_values=user_values,
    )


def _rules_in_order(
    before: list["Layer"], project: list["Layer"], after: list["Layer"], *, trusted: bool
) -> tuple[tuple[ConfigRule, ...], dict[str, tuple[ConfigRule, ...]]]:
    """Return the general permission rules and those of each agent, in the order of precedence."""

    def rules_of(layers: list["Layer"], agent: str | None) -> tuple[ConfigRule, ...]:
        return tuple(
            rule
            for layer in layers
            for rule in (layer.rules if agent is None else layer.agents.get(agent, ()))
        )

    def in_order(agent: str | None) -> tuple[ConfigRule, ...]:
        first, second = rules_of(before, agent), rules_of(project, agent)
        # What a trusted project may loosen is decided rule by rule in ``agent.permission.rules``.
        start = (*first, *second) if trusted else join_rules(first, second)
        return (*start, *rules_of(after, agent))

    layers = [*before, *project, *after]
    names = dict.fromkeys(name for layer in layers for name in layer.agents)
    general = in_order(None)
    by_agent = {name: in_order(name) for name in names}
    broken = next((layer.source.name for layer in layers if layer.broken), None)
    if broken is not None:
        general = ask_by_default(general, f"{broken} (cannot be read)")
        by_agent = {name: allow_to_ask(found) for name, found in by_agent.items()}
    return general, {name: found for name, found in by_agent.items() if found}


# Notices on settings, one line for each file.


def by_file(notices: Iterable[str], files: Collection[str]) -> tuple[str, ...]:
    """Return *notices* in order, with those on one of *files* joined, each on a line of its own.

    Markdown files of one folder that have the same fault share a line.
    """
    joined: dict[str, list[str]] = {}
    for notice in dict.fromkeys(notices):
        file = next((name for name in files if notice.startswith(f"{name}:")), "")
        joined.setdefault(file or notice, []).append(notice.removeprefix(file))
    alike: dict[tuple[str, str], list[str]] = {}
    for start, parts in joined.items():
        text = _join(parts)
        folder = str(PurePosixPath(start).parent) if start.endswith(".md") else start
        alike.setdefault((folder, text), []).append(start)
    return tuple(
        text if starts == [text] else f"{starts[0]}{_more(starts)}{text}"
        for (_, text), starts in alike.items()
    )


_LINE = re.compile(r":(\d+): ")


def _join(parts: list[str]) -> str:
    lines = [_LINE.match(part) for part in parts]
    order = sorted(range(len(parts)), key=lambda at: int(line[1]) if (line := lines[at]) else 1e9)
    parts = [parts[at] for at in order]
    rest = (_LINE.sub(r"line \1: ", part, count=1).removeprefix(": ") for part in parts[1:])
    return "\n  ".join(
        part if part.endswith((".", "?")) else f"{part}." for part in (parts[0], *rest)
    )


def _more(files: list[str]) -> str:
    return f" and {len(files) - 1} more there" if len(files) > 1 else ""
