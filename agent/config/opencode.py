"""opencode's config files: other spellings of keys, unsupported keys, and ``tui.json``."""

import re
from collections.abc import Iterator, Mapping

from agent.config.jsonc import KeyPath
from agent.records.json import Json, JsonObject

_NO_SERVER = "opencode-py serve has its own options"
_NO_SHARING = "sessions are never sent anywhere"
_NO_MEANING = "nothing here depends on it"
_FOLDERS = "other folders are read when you allow it (permission.external_directory)"

UNSUPPORTED: dict[str, str] = {
    "shell": "commands run in bash; each line is analyzed before it runs",
    "logLevel": "the log always has all details; opencode-py debug paths shows where it is",
    "server": _NO_SERVER,
    "skills.urls": "skills are not downloaded; put them into a folder of skills.paths",
    "references": _FOLDERS,
    "reference": _FOLDERS,
    "watcher": "files are not watched; they are read when needed",
    "plugin": "plugins written for opencode cannot run here; those in Python go into plugins/",
    "share": _NO_SHARING,
    "autoshare": _NO_SHARING,
    "autoupdate": "this program does not update itself",
    "layout": "it no longer has an effect",
    "username": "messages are shown without names",
    "attachment": "images are sent as they are, and refused where they are too large",
    "enterprise": _NO_SHARING,
    "experimental": "what it enables is either always on or not available here",
    "tui": "its settings are at the top level here: theme, keybinds",
    "compaction.tail_turns": "the recent turns that fit the context window are kept",
    "compaction.preserve_recent_tokens": "the recent turns that fit the context window are kept",
    "agent.*.top_p": "only temperature can be set for sampling",
    "agent.*.options": "only options that this program knows are sent; see effort",
    "agent.*.name": "an agent is named by its key",
    "command.*.name": "a command is named by its key",
    "provider.*.npm": "that protocol is not supported; set api instead",
    "provider.*.id": "a provider is named by its key",
    "provider.*.options.enterpriseUrl": "set baseURL to the address of your own server",
    "provider.*.options.setCacheKey": "prompt caching needs no setting here",
    "provider.*.models.*.attachment": "use vision or documents instead",
    "provider.*.models.*.modalities": "use vision or documents instead",
    "provider.*.models.*.options": "only options that this program knows are sent; see efforts",
    "provider.*.models.*.headers": "headers are set for the whole provider, in its options",
    "provider.*.models.*.variants": "only effort levels such as high are read",
    "provider.*.models.*.interleaved": "the model name decides how reasoning is sent back",
    "provider.*.models.*.experimental": _NO_MEANING,
    "provider.*.models.*.status": _NO_MEANING,
    "provider.*.models.*.release_date": _NO_MEANING,
    "provider.*.models.*.family": _NO_MEANING,
    "provider.*.models.*.provider": "a model speaks its provider's protocol",
}
"""Known keys without effect here, with the reason. ``*`` stands for a name."""

# The packages by which opencode names a protocol.
_PROTOCOLS = {
    "@ai-sdk/openai-compatible": "openai-chat",
    "@ai-sdk/openai": "openai-responses",
    "@ai-sdk/anthropic": "anthropic-messages",
    "@ai-sdk/google": "gemini",
}
_PROTOCOL_NAMES = {
    "openai": "openai-chat",
    "anthropic": "anthropic-messages",
    "google": "gemini",
}
"""Protocols by the names of their providers, which some files have in ``api``."""

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Variants of a model that are levels of reasoning, lowest first."""


_SERVER_KINDS = {
    "stdio": "local",
    "http": "remote",
    "sse": "remote",
    "streamable-http": "remote",
    "streamable_http": "remote",
    "streamablehttp": "remote",
}


def translate(raw: JsonObject) -> None:
    """Replace opencode's other spellings in *raw* by ours, in place."""
    raw.pop("$schema", None)
    if raw.get("autoupdate") is False:  # as it is here anyway
        del raw["autoupdate"]
    if isinstance(modes := raw.get("mode"), dict) and isinstance(raw.get("agent", {}), dict):
        del raw["mode"]
        agents = _child(raw, "agent")
        for name, mode in modes.items():
            entry = {**mode, "mode": "primary"} if isinstance(mode, dict) else mode
            agents.setdefault(name, entry)
    for _, agent in _entries(raw.get("agent")):
        _rename(agent, "maxSteps", "steps")
        _rename(agent, "variant", "effort")
        _take_effort(agent)
    for _, command in _entries(raw.get("command")):
        _rename(command, "variant", "effort")
    for name, provider in _entries(raw.get("provider")):
        _translate_provider(name, provider)
    if isinstance(servers := raw.get("mcpServers"), dict) and isinstance(raw.get("mcp", {}), dict):
        del raw["mcpServers"]
        own = _child(raw, "mcp")
        for name, server in servers.items():
            own.setdefault(name, with_project_folder(server))
    for _, server in _entries(raw.get("mcp")):
        _translate_server(server)


def with_project_folder(value: Json) -> Json:
    """Return *value* of a server with the folder in place of the names that editors and Claude Code
    have for the project: servers are started there."""
    if isinstance(value, str):
        return _PROJECT.sub(".", value)
    if isinstance(value, list):
        return [with_project_folder(one) for one in value]
    if isinstance(value, dict):
        return {key: with_project_folder(one) for key, one in value.items()}
    return value


_PROJECT = re.compile(r"\$\{(?:workspaceFolder|workspaceRoot|CLAUDE_PROJECT_DIR)\}")


def remove_unsupported(raw: JsonObject) -> list[tuple[KeyPath, str]]:
    """Remove the known keys without effect from *raw*; return their paths with the reasons."""
    taken: list[tuple[KeyPath, str]] = []
    for pattern, reason in UNSUPPORTED.items():
        steps = pattern.split(".")
        for path, parent in list(_walk(raw, tuple(steps[:-1]))):
            if steps[-1] in parent:
                value = parent.pop(steps[-1])
                if value and (pattern, value) != ("share", "disabled"):
                    taken.append(((*path, steps[-1]), reason))
    return taken


def _translate_provider(name: str, provider: JsonObject) -> None:
    api = provider.get("api")
    if isinstance(api, str) and api.startswith(("http://", "https://")):
        del provider["api"]
        options = provider.setdefault("options", {})
        if isinstance(options, dict):
            options.setdefault("baseURL", api)
    elif isinstance(api, str):
        provider["api"] = _PROTOCOL_NAMES.get(api.lower(), api)
    package = provider.get("npm")
    if isinstance(package, str) and package in _PROTOCOLS:
        del provider["npm"]
        if _PROTOCOL_NAMES.get(name) != _PROTOCOLS[package]:  # else it is the provider's anyway
            provider.setdefault("api", _PROTOCOLS[package])
    options = provider.get("options")
    if isinstance(options, dict) and options.get("apiKey") == "":
        del options["apiKey"]
    for _, model in _entries(provider.get("models")):
        modalities = model.get("modalities")
        if isinstance(modalities, dict) and isinstance(inputs := modalities.get("input"), list):
            del model["modalities"]
            model.setdefault("vision", "image" in inputs)
            model.setdefault("documents", "pdf" in inputs)
        if isinstance(attachment := model.get("attachment"), bool):
            del model["attachment"]
            model.setdefault("vision", attachment)
        _translate_variants(model)
        if _take_effort(model):
            model.setdefault("reasoning", True)


def _take_effort(entry: JsonObject) -> bool:
    """Turn the option ``reasoningEffort`` of an agent or a model into its effort; return whether
    there was one."""
    options = entry.get("options")
    for place in (entry, *((options,) if isinstance(options, dict) else ())):
        if place.get("reasoningEffort") in _EFFORTS:
            entry.setdefault("effort", place.pop("reasoningEffort"))
            return True
    return False


def _translate_variants(model: JsonObject) -> None:
    """Turn the *variants* of a model into its levels of reasoning, as far as they are named so."""
    variants = model.get("variants")
    if not isinstance(variants, dict):
        return
    off = {n for n, each in variants.items() if isinstance(each, dict) and each.get("disabled")}
    model["variants"] = {n: v for n, v in variants.items() if n not in off and n not in _EFFORTS}
    if levels := [name for name in _EFFORTS if name in variants and name not in off]:
        model.setdefault("efforts", list[Json](levels))
        model.setdefault("reasoning", True)


def _translate_server(server: JsonObject) -> None:
    """Translate the spellings of other programs: a command and its ``args``, ``env``, ``stdio``
    …"""
    kind = server.get("type")
    if isinstance(kind, str):
        server["type"] = _SERVER_KINDS.get(kind.lower(), kind)
    command = server.get("command")
    if isinstance(command, str):
        server["command"] = [command]
    arguments, command = server.get("args"), server.get("command")
    if isinstance(arguments, list) and isinstance(command, list):
        del server["args"]
        server["command"] = [*command, *arguments]
    _rename(server, "env", "environment")
    server.pop("description", None)
    if isinstance(off := server.get("disabled"), bool):
        del server["disabled"]
        server.setdefault("enabled", not off)


def _entries(value: Json) -> Iterator[tuple[str, JsonObject]]:
    """Yield the named objects of *value*, if it is an object."""
    if isinstance(value, dict):
        for name, entry in value.items():
            if isinstance(entry, dict):
                yield name, entry


def _walk(value: Json, steps: tuple[str, ...]) -> Iterator[tuple[KeyPath, JsonObject]]:
    """Yield all objects at *steps* below *value*, ``*`` for any name, with their paths."""
    if not isinstance(value, dict):
        return
    if not steps:
        yield (), value
        return
    names = list(value) if steps[0] == "*" else [steps[0]]
    for name in names:
        for path, found in _walk(value.get(name), steps[1:]):
            yield (name, *path), found


def _child(parent: JsonObject, key: str) -> JsonObject:
    child = parent.setdefault(key, {})
    return child if isinstance(child, dict) else {}


def _rename(entry: JsonObject, old: str, new: str) -> None:
    if old in entry:
        value = entry.pop(old)
        entry.setdefault(new, value)


_PLUGINS = "plugins written for opencode cannot run here; those in Python go into plugins/"
_BELL = "the only sound is the terminal's bell"

UNSUPPORTED_TUI_KEYS: Mapping[KeyPath, str] = {
    ("plugin",): _PLUGINS,
    ("plugin_enabled",): _PLUGINS,
    ("prompt",): "the prompt grows with its text, up to a part of the screen",
    ("scroll_acceleration",): "scroll_speed sets how far the wheel scrolls",
    ("attention", "volume"): _BELL,
    ("attention", "sound_pack"): _BELL,
    ("attention", "sounds"): _BELL,
}
"""Keys of ``tui.json`` without effect here, with the reason."""

_DIFFS: Mapping[str, str] = {"auto": "auto", "stacked": "unified"}

_KNOWN = frozenset(
    {
        "theme",
        "keybinds",
        "leader_timeout",
        "attention",
        "scroll_speed",
        "diff_style",
        "mouse",
        *(str(path[0]) for path in UNSUPPORTED_TUI_KEYS),
    }
)

_KEY_NAMES: Mapping[str, str] = {
    "return": "enter",
    "esc": "escape",
    "pgup": "pageup",
    "pgdn": "pagedown",
}
"""Names of keys that differ there."""


def from_tui(raw: JsonObject) -> tuple[JsonObject, list[tuple[KeyPath, str]]]:
    """Return the settings of a ``tui.json``, and the keys without effect with the reasons.

    A file without any known key belongs to another program and has no settings.
    """
    if not _KNOWN & set(raw):
        return {}, []
    made: JsonObject = {}
    ignored: list[tuple[KeyPath, str]] = []
    for path, reason in UNSUPPORTED_TUI_KEYS.items():
        parent: Json = raw if len(path) == 1 else raw.get(str(path[0]))
        if isinstance(parent, dict) and path[-1] in parent:
            ignored.append((path, reason))
    unknown = (key for key in raw if key not in _KNOWN and key != "$schema")
    ignored += [((key,), "there is no such setting here") for key in unknown]
    if "theme" in raw:
        made["theme"] = raw["theme"]
    if "keybinds" in raw:
        made["keybinds"] = _keybinds(raw["keybinds"], ignored)
    if ui := _ui(raw):
        made["ui"] = ui
    return made, ignored


def _ui(raw: JsonObject) -> JsonObject:
    ui: JsonObject = {key: raw[key] for key in ("leader_timeout", "scroll_speed") if key in raw}
    if "mouse" in raw:
        ui["mouse"] = raw["mouse"]
    if "diff_style" in raw:
        style = raw["diff_style"]
        ui["diffs"] = _DIFFS.get(style, style) if isinstance(style, str) else style
    attention = raw.get("attention")
    if isinstance(attention, dict) and isinstance(attention.get("enabled"), bool):
        ui["notifications"] = _notification_method(attention)
    return ui


def _notification_method(attention: JsonObject) -> str:
    """Return how the user is notified: by a notification, a sound, both or not at all."""
    wanted = attention["enabled"] is True
    notifies = wanted and attention.get("notifications") is not False
    sounds = wanted and attention.get("sound") is not False
    if notifies and sounds:
        return "auto"
    return "osc9" if notifies else "bell" if sounds else "off"


def _keybinds(given: Json, ignored: list[tuple[KeyPath, str]]) -> Json:
    if not isinstance(given, dict):
        return given
    keys: JsonObject = {}
    for name, value in given.items():
        spelled = _own_spelling(value)
        if spelled is None:
            ignored.append(
                (("keybinds", name), "keys are written as text, with commas between them")
            )
        else:
            keys[name] = spelled
    return keys


def _own_spelling(value: Json) -> str | None:
    """Return the keys of one action in our spelling, None for an invalid value."""
    match value:
        case False | None:
            return "none"
        case str():
            return ",".join(_key_name(key) for key in value.split(","))
        case list():
            texts = [_own_spelling(each) for each in value]
            return None if None in texts else ",".join(text for text in texts if text)
        case {"key": str(key)}:
            marks = [m for m in ("ctrl", "alt", "shift", "super") if value.get(m) is True]
            led = "<leader>" if value.get("leader") is True else ""
            return led + "+".join([*marks, _key_name(key)])
        case _:
            return None


def _key_name(key: str) -> str:
    """Return *key* in Textual's spelling."""
    led = "<leader>" if key.strip().lower().startswith("<leader>") else ""
    *marks, last = key.strip()[len(led) :].split("+") if key.strip()[len(led) :] else [""]
    return led + "+".join([*marks, _KEY_NAMES.get(last.lower(), last)])
