"""``debug config``, ``plugins`` and ``paths``: the settings in force and their sources."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.git import project_root
from agent.permission.trust.trust import Trust
from agent.plugins.loading import LoadedPlugin, load_plugins
from agent.records.json import Json, JsonObject
from agent.runtime.settings import read_settings
from app.text.sanitize import sanitize

MAX_VALUE_SHOWN = 200
"""Characters of one value."""


def show_config(directory: Path, *, as_json: bool = False) -> int:
    """Print every value that a file, variable or option sets, with its source. Keys, and what may
    contain them, are hidden."""
    from agent.config.validation import file_values  # loads pydantic

    loaded, _ = asyncio.run(read_folder_settings(directory))
    if as_json:
        print(json.dumps(_as_json(loaded), indent=1))
        return 0
    if not loaded.sources:
        print("No configuration file sets anything: the defaults hold.")
    for key, value in _leaves(file_values(loaded.config)):
        source = loaded.sources.get(key)
        if source is not None and key.partition(".")[0] != "permission":
            print(f"{sanitize(key)} = {sanitize(_short(value))}   {sanitize(source)}")
    for rule in loaded.rules:
        what = f"{sanitize(rule.permission)}: {sanitize(rule.pattern)}"
        print(f"{rule.action:6}{what}   {sanitize(rule.source)}")
    for notice in loaded.notices:
        print(sanitize(notice))
    return 0


def _leaves(values: JsonObject, at: str = "") -> Iterator[tuple[str, Json]]:
    """Return every value with its dotted key."""
    for key, value in sorted(values.items()):
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{at}{key[:60]}.")
        else:
            yield f"{at}{key[:60]}", value


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_SHOWN else text[: MAX_VALUE_SHOWN - 1] + "…"


def show_schema() -> int:
    """Print the JSON schema of a config file, for editors."""
    from agent.config.validation import json_schema  # loads pydantic

    print(json.dumps(json_schema(), indent=2))
    return 0


def show_plugins(directory: Path, *, as_json: bool = False) -> int:
    """Print every plugin with what it adds, or why it failed; the exit code is 1 if one failed."""
    _, trust = asyncio.run(read_folder_settings(directory))
    paths = Paths.find(os.environ)
    plugins = asyncio.run(
        load_plugins(directory, trust.project, paths, os.environ, trusted=trust.trusted)
    )
    code = 1 if plugins.notices else 0
    if as_json:
        print(json.dumps([_plugin(each) for each in plugins.all], indent=1))
        return code
    if not plugins.all:
        print("There are no plugins: a file in plugins/ of a config folder would be one.")
    if not trust.trusted and any(runs.kind in {"plugin", "tool"} for runs in trust.found.runs):
        print("This folder is not trusted, so its own plugins are left out.")
    for each in plugins.all:
        print(f"{sanitize(each.plugin.name)}   {sanitize(each.plugin.source)}")
        for kind, names in _added(each).items():
            if names:
                print(f"  {kind:10}{sanitize(', '.join(names))}")
        if each.failure:
            print(sanitize(each.failure))
            print(sanitize(each.traceback))
    return code


def _added(loaded: LoadedPlugin) -> dict[str, list[str]]:
    """Return the names of what a plugin adds, by kind."""
    plugin = loaded.plugin
    return {
        "tools": [tool.spec.name for tool in plugin.tools],
        "hooks": [hook.event for hook in plugin.hooks],
        "providers": list(plugin.providers),
        "themes": list(plugin.themes),
    }


def _plugin(loaded: LoadedPlugin) -> dict[str, object]:
    named = {"name": loaded.plugin.name, "source": loaded.plugin.source}
    return {**named, **_added(loaded), "failure": loaded.failure or None}


async def read_folder_settings(directory: Path) -> tuple[LoadedConfig, Trust]:
    """Return the settings in force in *directory*, with the trust that the user gave it before."""
    return await read_settings(directory, await project_root(directory), os.environ)


def show_paths(*, as_json: bool = False) -> int:
    """Print the four folders."""
    paths = Paths.find(os.environ)
    found = {name: str(getattr(paths, name)) for name in ("config", "data", "cache", "log")}
    if as_json:
        print(json.dumps(found, indent=1))
        return 0
    for name, path in found.items():
        print(f"{name:8}{sanitize(path)}")
    return 0


def _as_json(loaded: LoadedConfig) -> JsonObject:
    return {
        "sources": dict(sorted(loaded.sources.items())),
        "rules": [
            {
                "permission": rule.permission,
                "pattern": rule.pattern,
                "action": rule.action,
                "source": rule.source,
            }
            for rule in loaded.rules
        ],
        "notices": list(loaded.notices),
    }
