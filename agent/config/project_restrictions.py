"""Settings that even a trusted project cannot change.

Trust lets a project run its own programs and use its own servers. It does not hand over what
belongs to the user: keys and where they are sent, what their money and rules allow, their keyboard.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field

from agent.config.jsonc import KeyPath
from agent.config.permission_rules import ConfigRule
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.sandbox import PROGRAM_SANDBOXES

USER_ONLY_KEYS: dict[str, str] = {
    "project_reads": "only your own settings decide what a project can read",
    "statusLine": "your status line is set in your own settings",
    "keybinds": "your keys are set in your own settings",
    "limits": "limits are set in your own settings",
    "default_mode": "what runs without a question is decided in your own settings",
    "judge_model": "the model that judges calls is set in your own settings",
    "fallback": "fallback models are set in your own settings",
    "server": "a project cannot start a server",
    "autoupdate": "a project cannot choose what is installed",
    "webfetch": "access to your network is set in your own settings",
    "websearch": "the search engine is set in your own settings",
}
"""Keys of the user's settings alone, with the reason."""

TIGHTEN_ONLY: dict[KeyPath, str] = {
    ("permission_mode",): "deny-wins",
    ("bash", "env"): "strict",
    ("bash", "sandbox"): "required",
}
"""Settings that a project can only tighten, to this value."""

USER_ONLY_PATHS: dict[KeyPath, str] = {
    ("bash", "keep"): "the variables that commands see are set in your own settings",
    (
        "bash",
        "sandbox_writable",
    ): "the folders that commands can write to are set in your own settings",
}
"""Single settings of the user's alone in tables that a project can change."""

SANDBOX_PERMISSIONS = ("network", "unsandboxed")
"""Permissions of commands in the sandbox: only rules of the user's own allow them."""

NAMED_TABLES = ("mcp", "formatter", "lsp")
"""Tables of programs by name: a project can add its own, not change those of the user."""

_Remove = Callable[[JsonObject, KeyPath, str], None]
_SLOT = re.compile(r"\{(env|file):[^{}]+\}")
_SWITCHES = frozenset({"enabled", "disabled"})
_KEPT = frozenset({"models"})
_REDIRECTS = "the provider is yours, and your key would be sent there"
_KEYS = "a project's settings cannot contain API keys or name their variables"
_ROUTE = "proxies and certificates are set in your own settings"
_SLOTS = "a project cannot put your environment variables into a request"


@frozen(kw_only=True)
class UserOwned:
    """The providers and programs that already belong to the user."""

    providers: Collection[str] = ()
    """Providers that may have a key of the user's."""
    usual: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    """The addresses and ``{env:NAME}`` of keys that known providers have anyway."""
    tables: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    """The names in the user's tables (``mcp`` …)."""
    sandboxes: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The sandboxes of the user's MCP servers, by name."""


def remove_keys(raw: JsonObject, usual: Mapping[str, Collection[str]]) -> list[tuple[KeyPath, str]]:
    """Remove the API keys that are written in full in *raw*; return their paths with the reason.

    A key as ``{env:NAME}`` stays: ``substitute`` fills in only what the user listed. What is
    *usual* for a provider anyway is removed too.
    """
    removed: list[tuple[KeyPath, str]] = []
    for name, provider in _objects(raw.get("provider")):
        options = provider.get("options")
        if not isinstance(options, dict):
            continue
        for key in ("baseURL", "apiKey"):
            if str(options.get(key)).rstrip("/") in usual.get(name, ()):
                del options[key]
        if not options:
            del provider["options"]
        if "apiKey" in options:
            key = options["apiKey"]
            if key and not (isinstance(key, str) and _SLOT.fullmatch(key)):
                del options["apiKey"]
                removed.append((("provider", name, "options", "apiKey"), _KEYS))
    return removed


def restrict(values: JsonObject, own: UserOwned) -> list[tuple[KeyPath, str]]:
    """Remove from *values* what a project cannot set; return the paths with the reasons.

    *values* have been filled in and translated.
    """
    removed: list[tuple[KeyPath, str]] = []

    def remove(parent: JsonObject, path: KeyPath, reason: str) -> None:
        if parent.pop(str(path[-1]), None) is not None:
            removed.append((path, reason))

    _restrain_own(values, remove)
    _restrain_providers(values, own, remove)
    _restrain_tables(values, own, remove)
    return removed + _remove_outside(values)


def _restrain_providers(values: JsonObject, own: UserOwned, remove: _Remove) -> None:
    for name, provider in _objects(values.get("provider")):
        if name in own.providers:
            for key in [key for key in provider if key not in _KEPT]:
                remove(provider, ("provider", name, key), _REDIRECTS)
            continue
        remove(provider, ("provider", name, "env"), _KEYS)
        options = provider.get("options")
        if isinstance(options, dict):
            _restrain_options(options, ("provider", name, "options"), remove)


def _restrain_tables(values: JsonObject, own: UserOwned, remove: _Remove) -> None:
    for table in NAMED_TABLES:
        for name, entry in _objects(values.get(table)):
            if name in own.tables.get(table, ()):
                for key in [key for key in entry if key not in _SWITCHES]:
                    if (table, key) != ("mcp", "sandbox"):
                        remove(entry, (table, name, key), "you already have one with this name")
                    elif _strictness(entry[key]) < _strictness(own.sandboxes.get(name)):
                        remove(entry, (table, name, key), "a project can only restrict it further")


def _strictness(sandbox: Json) -> int:
    """Return the place of an MCP server's sandbox in the order of what they restrict; 0 for no
    sandbox, and for what is none."""
    return next((at for at, one in enumerate(PROGRAM_SANDBOXES) if one == sandbox), 0)


def _remove_outside(values: JsonObject) -> list[tuple[KeyPath, str]]:
    """Remove the instruction files and skills outside the project."""
    removed: list[tuple[KeyPath, str]] = []
    for path in (("instructions",), ("skills", "paths")):
        parent = _at(values, path[:-1])
        entries = parent.get(path[-1]) if parent is not None else None
        if parent is None or not isinstance(entries, list):
            continue
        removed += [
            ((*path, index), "it points outside the project")
            for index, entry in enumerate(entries)
            if _is_outside(entry)
        ]
        parent[path[-1]] = [entry for entry in entries if not _is_outside(entry)]
    return removed


def _restrain_own(values: JsonObject, remove: _Remove) -> None:
    for key, reason in USER_ONLY_KEYS.items():
        remove(values, (key,), reason)
    for path, reason in USER_ONLY_PATHS.items():
        parent = _at(values, path[:-1])
        if parent is not None:
            remove(parent, path, reason)
    for path, value in TIGHTEN_ONLY.items():
        parent = _at(values, path[:-1])
        if parent is not None and parent.get(str(path[-1]), value) != value:
            remove(parent, path, f"a project can only set it to {value}")


def _restrain_options(options: JsonObject, at: KeyPath, remove: _Remove) -> None:
    for name in ("proxy", "ca"):
        remove(options, (*at, name), _ROUTE)
    for name in ("baseURL", "headers"):
        if "${" in str(options.get(name)):
            remove(options, (*at, name), _SLOTS)


def _is_outside(entry: Json) -> bool:
    return isinstance(entry, str) and (
        entry.startswith(("/", "~", "\\")) or ".." in entry.split("/")
    )


def allows_everything(rule: ConfigRule) -> bool:
    """Return whether *rule* of a project allows something of every kind."""
    return rule.action == "allow" and not rule.permission.strip("*?")


def loosens_sandbox(rule: ConfigRule) -> bool:
    """Return whether *rule* of a project gives commands the network, or takes them out of the
    sandbox."""
    return rule.action == "allow" and rule.permission in SANDBOX_PERMISSIONS


def _at(values: JsonObject, path: KeyPath) -> JsonObject | None:
    value: Json = values
    for step in path:
        value = value.get(str(step)) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _objects(value: Json) -> Iterator[tuple[str, JsonObject]]:
    if isinstance(value, dict):
        for name, entry in value.items():
            if isinstance(entry, dict):
                yield name, entry
