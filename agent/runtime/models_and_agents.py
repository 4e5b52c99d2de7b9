"""The models and agents of an opened folder.

What a project's files ask for and the user cannot use is ignored with a notice, and the user's own
value is used: a project never keeps the program from working. A wrong name in the user's own
settings is reported at once, not at the first prompt.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from agent.agents import Agents
from agent.config.definitions import SMALL_MODEL
from agent.config.loading import LoadedConfig
from agent.config.settings_schema import AgentConfig, CommandConfig
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.from_config import catalog_from_config
from agent.provider.catalog.providers import DEMO
from agent.records.errors import AgentNotFound, ModelNotFound
from agent.runtime.service_factories import OpenedFolder
from agent.session.fallback import fallback_notices

_Entry = TypeVar("_Entry", AgentConfig, CommandConfig)

_CHOICES = ("enabled_providers", "disabled_providers")
_MODEL_TABLES = ("provider.", *_CHOICES)


def models_and_agents(opened: OpenedFolder) -> tuple[Catalog, Agents, LoadedConfig]:
    """Return the models, the agents, and the settings without what cannot be used."""
    catalog, loaded = _usable_default(opened, opened.loaded)
    loaded = _with_usable_models(catalog, loaded)
    agents = Agents(loaded)
    default = loaded.config.default_agent
    try:
        agents.get(default)
    except AgentNotFound as error:
        own = "default_agent" in loaded.sources and not loaded.from_project("default_agent")
        if own and not _project_changes(loaded, (f"agent.{default}.",)):
            raise
        given = loaded.own_value("default_agent")
        found = agents.find(given) if isinstance(given, str) else None
        used = (found or agents.primary()[0]).name
        loaded = _without(loaded, "default_agent", f"{error.message} {used} is used.", used)
    notices = fallback_notices(catalog, loaded.config.fallback.models)
    return catalog, agents, replace(loaded, notices=(*loaded.notices, *notices))


def _usable_default(opened: OpenedFolder, loaded: LoadedConfig) -> tuple[Catalog, LoadedConfig]:
    """Return the catalog, whose default model the user can use unless no settings give one."""

    def catalog_of(settings: LoadedConfig) -> Catalog:
        return catalog_from_config(settings, opened.paths, opened.env)

    catalog = catalog_of(loaded)
    try:
        catalog.model(catalog.default_model())
    except ModelNotFound as error:
        if not (loaded.from_project("model") or _project_changes(loaded, _MODEL_TABLES)):
            raise
        loaded = _without(loaded, "model", error.message, loaded.own_value("model"))
        catalog = catalog_of(loaded)
    why = _unusable(catalog, catalog.default_model())
    if why and loaded.from_project("model"):
        loaded = _without(loaded, "model", why, loaded.own_value("model"))
        catalog = catalog_of(loaded)
    choices = [key for key in _CHOICES if _project_changes(loaded, (key,))]
    if not choices or not (catalog.lacks_model or _unusable(catalog, catalog.default_model())):
        return catalog, loaded
    others = replace(loaded, config=replace(loaded.config, model=None))
    if not (catalog := catalog_of(others)).lacks_model:
        why = f"it leaves {catalog.default_model()}, which is used instead of {loaded.config.model}"
        notice = f"{loaded.sources[choices[0]]}: {choices[0]}: {why}."
        return catalog, replace(others, notices=(*loaded.notices, notice))
    for key in choices:
        own = loaded.own_value(key) or ()
        loaded = _without(loaded, key, "it would leave no provider that you can use.", own)
    return catalog_of(loaded), loaded


def _with_usable_models(catalog: Catalog, loaded: LoadedConfig) -> LoadedConfig:
    """Return *loaded* with models of agents and commands, and other models, that can be used."""
    small = catalog.small_model(catalog.default_model().partition("/")[0])
    config = loaded.config
    ignored: dict[tuple[str, str], list[str]] = {}
    """The keys by their file and the reason."""

    def usable(model: str | None, *key: str) -> str | None:
        if model == SMALL_MODEL:
            return small
        dotted = ".".join(key)
        why = _unusable(catalog, model) if model and loaded.from_project(dotted) else ""
        if not why:
            return model
        source = loaded.sources[dotted]
        ignored.setdefault((source, why), []).append(key[-1] if source.endswith(".md") else dotted)
        own = loaded.own_value(*key)
        return own if isinstance(own, str) else None

    def with_models(kind: str, entries: Mapping[str, _Entry]) -> dict[str, _Entry]:
        return {
            name: replace(entry, model=usable(entry.model, kind, name, "model"))
            for name, entry in entries.items()
        }

    made = replace(
        config,
        small_model=usable(config.small_model, "small_model"),
        compaction=replace(
            config.compaction, model=usable(config.compaction.model, "compaction", "model")
        ),
        agent=with_models("agent", config.agent),
        command=with_models("command", config.command),
    )
    notices = (
        f"{source}: {', '.join(keys)} {'are' if len(keys) > 1 else 'is'} ignored: {why}"
        for (source, why), keys in ignored.items()
    )
    return replace(loaded, config=made, notices=(*loaded.notices, *notices))


def _unusable(catalog: Catalog, model: str) -> str:
    """Return a sentence why *model* cannot be used, "" if it can."""
    try:
        provider = catalog.model(model).provider
    except ModelNotFound as error:
        return error.message
    if not catalog.has_model(model):
        return f"{provider} is turned off."
    usable = provider == DEMO or catalog.access.is_usable(provider)
    return "" if usable else f"there is no key for {provider}."


def _project_changes(loaded: LoadedConfig, prefixes: tuple[str, ...]) -> bool:
    """Return whether a project's file sets a value whose dotted key begins with a prefix."""
    return any(
        key.startswith(prefixes) and source in loaded.project_files
        for key, source in loaded.sources.items()
    )


def _without(loaded: LoadedConfig, key: str, why: str, instead: Any) -> LoadedConfig:
    """Return *loaded* with *instead* in place of the value of *key*, and a notice."""
    notice = f"{loaded.sources.get(key, 'Settings')}: {key} is ignored: {why}"
    return replace(
        loaded,
        config=replace(loaded.config, **{key: instead}),
        notices=(*loaded.notices, notice),
        sources={name: source for name, source in loaded.sources.items() if name != key},
    )
