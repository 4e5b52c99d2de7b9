"""Loads the settings for a folder: find, read, check, merge (spec 10, K1 and K2).

A start without config files takes the short way: no parser and no validation is loaded.
"""

from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from agent.config import environment
from agent.config.definitions import (
    DefinitionFile,
    DefinitionKind,
    find_definitions,
    project_folders,
    user_folders,
)
from agent.config.finding import ConfigSources, Source, find_sources
from agent.config.model import Config
from agent.config.paths import Paths
from agent.config.rules import ConfigRule
from agent.records.json import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """The settings in force and where they come from.

    *rules* are the permission rules of all sources in the order in which they count (the
    defaults of the program come before them, an agent's own and the session's after);
    *agent_rules* those of agents by name. *notices* are sentences for the user: what could
    not be read, has no effect, or waits for trust. *files* are the sources that were read,
    *sources* the one behind each value, by its dotted key. *project_files* are the sources that
    came with the folder, *project_providers* the providers that only they define: what the
    user's keys must never be sent to.
    """

    config: Config = field(default_factory=Config)
    rules: tuple[ConfigRule, ...] = ()
    agent_rules: Mapping[str, tuple[ConfigRule, ...]] = field(
        default_factory=dict[str, tuple[ConfigRule, ...]]
    )
    notices: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    project_files: frozenset[str] = frozenset()
    project_providers: frozenset[str] = frozenset()

    def from_project(self, key: str) -> bool:
        """Whether a project's file set the value at the dotted *key*."""
        return self.sources.get(key) in self.project_files

    def source_of(self, prefix: str) -> str:
        """The sources behind the values whose dotted keys begin with *prefix*, each once."""
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
    keyed: Collection[str] = (),
) -> LoadedConfig:
    """The settings for the opened *directory* in *project* (both absolute).

    *overrides* come from the command line, in the form of a file; None values in it mean
    "not given". Nothing in a file makes this raise: faults are ``LoadedConfig.notices``.
    Unless the project is *trusted*, its files only tighten (M9); if it is, *keyed* are the
    providers that may hold a key of the user's, beside those that their settings name.
    """
    paths = paths or Paths.find(env)
    found = find_sources(directory, project, paths, env)
    own = _defined(user_folders(paths, env), env, None)
    tops = project_folders(directory, project, env) if trusted else ()
    theirs = _defined(tops, env, project)
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    if not given and not any((found.before, found.project, found.after, own, theirs)):
        return LoadedConfig(notices=environment.notices(env))
    limits = _Limits(trusted, frozenset(keyed), project, own, theirs)
    return _load(found, given, Source("command line", directory), env, limits)


_Defined = tuple[tuple[DefinitionKind, DefinitionFile], ...]


def _defined(tops: tuple[Path, ...], env: Mapping[str, str], project: Path | None) -> _Defined:
    """What is defined in markdown that becomes a part of the settings."""
    kinds: tuple[DefinitionKind, ...] = ("agent", "command")
    return tuple(
        (kind, file) for kind in kinds for file in find_definitions(kind, tops, env, project)
    )


@dataclass(frozen=True, slots=True)
class _Limits:
    trusted: bool
    keyed: frozenset[str]
    root: Path
    own: _Defined
    theirs: _Defined


def _load(
    found: ConfigSources,
    given: Mapping[str, Json],
    command_line: Source,
    env: Mapping[str, str],
    limits: _Limits,
) -> LoadedConfig:
    # Brings pydantic, which a start without config files does not need.
    from agent.config import checking, merging, reading, rules  # see above

    before = [reading.read_layer(source, env) for source in found.before]
    before += [reading.definition_layer(kind, file) for kind, file in limits.own]
    after = [reading.read_layer(source, env) for source in found.after]
    if given:
        after.append(reading.command_line_layer(given, command_line, env))
    own: dict[str, Json] = {}
    for layer in (*before, *after):
        merging.merge_values(own, deepcopy(layer.values), layer.source.name, {})
    trust = reading.trust_limits(own, limits.keyed, limits.root) if limits.trusted else None
    project = [reading.read_layer(source, env, trust) for source in found.project]
    project += [reading.definition_layer(kind, file, trust) for kind, file in limits.theirs]
    layers = [*before, *project, *after]

    values: dict[str, Json] = {}
    sources: dict[tuple[str | int, ...], str] = {}
    for layer in layers:
        merging.merge_values(values, layer.values, layer.source.name, sources)

    def joined(of: list[reading.Layer], agent: str | None) -> tuple[ConfigRule, ...]:
        return tuple(
            rule
            for layer in of
            for rule in (layer.rules if agent is None else layer.agents.get(agent, ()))
        )

    def in_order(agent: str | None) -> tuple[ConfigRule, ...]:
        first, second = joined(before, agent), joined(project, agent)
        # What a trusted project may loosen is decided rule by rule (``permission.rules``).
        start = (*first, *second) if limits.trusted else rules.join_rules(first, second)
        return (*start, *joined(after, agent))

    names = dict.fromkeys(name for layer in layers for name in layer.agents)
    general = in_order(None)
    by_agent = {name: in_order(name) for name in names}
    broken = next((layer.source.name for layer in layers if layer.broken), None)
    if broken is not None:
        general = rules.ask_by_default(general, f"{broken} (cannot be read)")
        by_agent = {name: rules.allow_to_ask(found) for name, found in by_agent.items()}
    return LoadedConfig(
        config=checking.build_config(values),
        rules=general,
        agent_rules={name: found for name, found in by_agent.items() if found},
        notices=(*(n for layer in layers for n in layer.notices), *environment.notices(env)),
        files=tuple(layer.source.name for layer in layers),
        sources={checking.dotted_key(path): source for path, source in sources.items()},
        project_files=frozenset(layer.source.name for layer in project),
        project_providers=reading.names_in(values, "provider") - reading.names_in(own, "provider"),
    )
