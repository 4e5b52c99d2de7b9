"""``debug config``, ``plugins``, ``paths`` and ``info``: the settings in force and their sources,
what is installed, and the machine."""

import asyncio
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.installation import VERSION
from agent.plugins.loading import LoadedPlugin, load_plugins
from agent.records.json import Json, JsonObject
from app.cli.command_support import DONE, FAILED, read_folder_settings
from app.text.sanitize import sanitize, sanitize_line

MAX_VALUE_SHOWN = 200
"""Characters of one value."""


def show_config(*, as_json: bool) -> int:
    """Print every value that is set, with its source. Keys are hidden."""
    from agent.config.validation import file_values  # loads pydantic

    loaded, _ = asyncio.run(read_folder_settings())
    if as_json:
        print(json.dumps(_as_json(loaded), indent=1))
        return DONE
    if not loaded.sources:
        print("No configuration file sets anything: the defaults apply.")
    for key, value in _leaves(file_values(loaded.config)):
        source = loaded.sources.get(key)
        if source is not None and key.partition(".")[0] != "permission":
            print(f"{sanitize(key)} = {sanitize(_short(value))}   {sanitize(source)}")
    for rule in loaded.rules:
        what = f"{sanitize(rule.permission)}: {sanitize(rule.pattern)}"
        print(f"{rule.action:6}{what}   {sanitize(rule.source)}")
    for notice in loaded.notices:
        print(sanitize(notice))
    return DONE


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
    from agent.config.validation import json_schema  # loads pydantic

    print(json.dumps(json_schema(), indent=2))
    return DONE


def show_plugins(*, as_json: bool) -> int:
    _, trust = asyncio.run(read_folder_settings())
    paths = Paths.find(os.environ)
    plugins = asyncio.run(
        load_plugins(Path.cwd(), trust.project, paths, os.environ, trusted=trust.trusted)
    )
    code = FAILED if plugins.notices else DONE
    if as_json:
        print(json.dumps([_plugin(each) for each in plugins.all], indent=1))
        return code
    if not plugins.all:
        print("No plugins found. Put a Python file into plugins/ of a config folder.")
    if not trust.trusted and any(runs.kind in {"plugin", "tool"} for runs in trust.found.runs):
        print("This folder is not trusted, so its own plugins are ignored.")
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


def show_paths(*, as_json: bool) -> int:
    paths = Paths.find(os.environ)
    found = {name: str(getattr(paths, name)) for name in ("config", "data", "cache", "log")}
    if as_json:
        print(json.dumps(found, indent=1))
        return DONE
    for name, path in found.items():
        print(f"{name:8}{sanitize(path)}")
    return DONE


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


PARTS = ("textual", "litellm", "mcp", "agent-client-protocol", "tree-sitter", "httpx2")
PROGRAMS = ("git", "rg", "bash")
VARIABLES = ("TERM", "COLORTERM", "TERM_PROGRAM", "TMUX", "SHELL", "LANG")
"""Variables that affect how the screen is drawn; none of them contains a secret."""


def show_info(*, as_json: bool) -> int:
    facts = asyncio.run(info())
    if as_json:
        print(json.dumps(facts, indent=1))
        return DONE
    for name, value in facts.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        print(f"{name:24}{sanitize_line(str('–' if shown in (None, '') else shown))}")
    return DONE


async def info() -> JsonObject:
    """Return versions, programs, the terminal and the folder's state; no keys."""
    loaded, trust = await read_folder_settings()
    facts: dict[str, Json] = {
        "opencode-py": VERSION,
        "python": platform.python_version(),
        "system": platform.platform(),
        "program": sys.argv[0],
    }
    facts |= {name: _package_version(name) for name in PARTS}
    facts |= {name: shutil.which(name) for name in PROGRAMS}
    facts |= {name: os.environ.get(name) for name in VARIABLES}
    facts["folder"] = str(Path.cwd())
    facts["trust"] = trust.status
    facts["model"] = loaded.config.model
    facts["settings from"] = list(dict.fromkeys(loaded.sources.values()))
    facts["notices"] = list(loaded.notices)
    facts["log"] = str(Paths.find(os.environ).log)
    return facts


def _package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


SHOWN = {
    "config": show_config,
    "info": show_info,
    "paths": show_paths,
    "plugins": show_plugins,
}
"""The function that prints each part."""
