"""Keys of opencode's files: those written another way here, and those not supported (K3)."""

from collections.abc import Iterator

from agent.config.jsonc import KeyPath
from agent.jsontypes import Json, JsonObject

_LATER = "this version does not support it yet"
_NO_SERVER = "this program has no server"
_NO_SHARING = "sessions are never sent anywhere"

UNSUPPORTED: dict[str, str] = {
    "shell": _LATER,
    "logLevel": _LATER,
    "server": _NO_SERVER,
    "command": _LATER,
    "skills": _LATER,
    "references": _LATER,
    "reference": _LATER,
    "watcher": _LATER,
    "plugin": "plugins written for opencode cannot run here",
    "share": _NO_SHARING,
    "autoshare": _NO_SHARING,
    "autoupdate": "this program does not update itself",
    "disabled_providers": _LATER,
    "enabled_providers": _LATER,
    "subagent_depth": _LATER,
    "formatter": _LATER,
    "lsp": _LATER,
    "layout": "it has no meaning any more",
    "attachment": _LATER,
    "enterprise": _NO_SHARING,
    "experimental": _LATER,
    "tui": _LATER,
    "compaction.tail_turns": _LATER,
    "compaction.preserve_recent_tokens": _LATER,
    "agent.*.variant": _LATER,
    "agent.*.top_p": _LATER,
    "agent.*.color": _LATER,
    "agent.*.options": _LATER,
    "agent.*.name": "an agent is named by its key",
    "provider.*.npm": "its protocol is not known here; set api instead",
    "provider.*.id": "a provider is named by its key",
    "provider.*.whitelist": _LATER,
    "provider.*.blacklist": _LATER,
    "provider.*.transport": _LATER,
    "provider.*.options.enterpriseUrl": _LATER,
    "provider.*.options.setCacheKey": "prompt caching needs no setting here",
    "provider.*.models.*.attachment": _LATER,
    "provider.*.models.*.modalities": _LATER,
    "provider.*.models.*.options": _LATER,
    "provider.*.models.*.headers": _LATER,
    "provider.*.models.*.variants": _LATER,
    "provider.*.models.*.interleaved": _LATER,
    "provider.*.models.*.experimental": _LATER,
    "provider.*.models.*.status": _LATER,
    "provider.*.models.*.release_date": _LATER,
    "provider.*.models.*.family": _LATER,
    "provider.*.models.*.provider": _LATER,
    "provider.*.models.*.disabled": _LATER,
}
"""Known keys without effect here, with the reason. ``*`` stands for a name."""

# The packages by which opencode names a protocol.
_PROTOCOLS = {
    "@ai-sdk/openai-compatible": "openai-chat",
    "@ai-sdk/openai": "openai-responses",
    "@ai-sdk/anthropic": "anthropic-messages",
    "@ai-sdk/google": "gemini",
}


_SERVER_KINDS = {
    "stdio": "local",
    "http": "remote",
    "sse": "remote",
    "streamable-http": "remote",
    "streamable_http": "remote",
    "streamablehttp": "remote",
}


def translate(raw: JsonObject) -> None:
    """Write opencode's other spellings in *raw* as ours, in place."""
    raw.pop("$schema", None)
    if isinstance(modes := raw.get("mode"), dict) and isinstance(raw.get("agent", {}), dict):
        del raw["mode"]
        agents = _child(raw, "agent")
        for name, mode in modes.items():
            entry = {**mode, "mode": "primary"} if isinstance(mode, dict) else mode
            agents.setdefault(name, entry)
    for _, agent in _entries(raw.get("agent")):
        _rename(agent, "maxSteps", "steps")
    for _, provider in _entries(raw.get("provider")):
        _translate_provider(provider)
    for _, server in _entries(raw.get("mcp")):
        _translate_server(server)


def take_unsupported(raw: JsonObject) -> list[tuple[KeyPath, str]]:
    """Remove the known keys without effect from *raw*; their paths and the reasons."""
    taken: list[tuple[KeyPath, str]] = []
    for pattern, reason in UNSUPPORTED.items():
        steps = pattern.split(".")
        for path, parent in list(_walk(raw, tuple(steps[:-1]))):
            if steps[-1] in parent:
                value = parent.pop(steps[-1])
                if not (pattern == "share" and value == "disabled"):
                    taken.append(((*path, steps[-1]), reason))
    return taken


def _translate_provider(provider: JsonObject) -> None:
    api = provider.get("api")
    if isinstance(api, str) and api.startswith(("http://", "https://")):
        del provider["api"]
        options = provider.setdefault("options", {})
        if isinstance(options, dict):
            options.setdefault("baseURL", api)
    package = provider.get("npm")
    if isinstance(package, str) and package in _PROTOCOLS:
        del provider["npm"]
        provider.setdefault("api", _PROTOCOLS[package])
    for _, model in _entries(provider.get("models")):
        modalities = model.get("modalities")
        if isinstance(modalities, dict) and isinstance(inputs := modalities.get("input"), list):
            del model["modalities"]
            model.setdefault("vision", "image" in inputs)
            model.setdefault("documents", "pdf" in inputs)
        if isinstance(attachment := model.get("attachment"), bool):
            del model["attachment"]
            model.setdefault("vision", attachment)


def _translate_server(server: JsonObject) -> None:
    """The spellings of other programs: a command and its ``args``, ``env``, ``stdio`` …"""
    kind = server.get("type")
    if isinstance(kind, str):
        server["type"] = _SERVER_KINDS.get(kind.lower(), kind)
    command = server.get("command")
    if isinstance(command, str):
        server["command"] = [command]
    arguments, words = server.get("args"), server.get("command")
    if isinstance(arguments, list) and isinstance(words, list):
        del server["args"]
        server["command"] = [*words, *arguments]
    _rename(server, "env", "environment")
    if isinstance(off := server.get("disabled"), bool):
        del server["disabled"]
        server.setdefault("enabled", not off)


def _entries(value: Json) -> Iterator[tuple[str, JsonObject]]:
    """The named objects of *value*, if it is an object at all."""
    if isinstance(value, dict):
        for name, entry in value.items():
            if isinstance(entry, dict):
                yield name, entry


def _walk(value: Json, steps: tuple[str, ...]) -> Iterator[tuple[KeyPath, JsonObject]]:
    """All objects at *steps* below *value*, ``*`` for any name, with their paths."""
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
