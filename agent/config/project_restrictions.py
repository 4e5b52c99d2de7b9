"""What even a trusted project may not set (spec 4, M9; security reference, 9.1).

Trust lets a project run its own programs and ask its own servers. It does not hand over what
is the user's: keys and where they are sent, what their money and rules allow, their keyboard.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from agent.config.jsonc import KeyPath
from agent.config.permission_rules import ConfigRule
from agent.records.json import Json, JsonObject

USER_ONLY_KEYS: dict[str, str] = {
    "project_reads": "only your own settings say what a project may read",
    "keybinds": "your keys are set in your own settings",
    "limits": "limits are set in your own settings",
    "server": "a project starts no server",
    "autoupdate": "a project does not choose what is installed",
    "webfetch": "what may be fetched from your network is set in your own settings",
    "websearch": "where your searches are sent is set in your own settings",
}
"""Keys of the user's settings alone, with the reason."""

TIGHTEN_ONLY: dict[KeyPath, str] = {
    ("permission_mode",): "deny-wins",
    ("bash", "env"): "strict",
}
"""Settings that a project may only tighten: to this value."""

USER_ONLY_PATHS: dict[KeyPath, str] = {
    ("bash", "keep"): "which of your variables commands see is set in your own settings",
}
"""The same for single settings of a table that is not the user's alone."""

NAMED_TABLES = ("mcp", "formatter", "lsp")
"""Tables of programs by name: a project may add its own, not change those of the user."""

_Take = Callable[[JsonObject, KeyPath, str], None]
_SLOT = re.compile(r"\{(env|file):[^{}]+\}")
_SWITCHES = frozenset({"enabled", "disabled"})
_KEPT = frozenset({"models"})
_REDIRECTS = "the provider is yours, and your key would follow"
_KEYS = "a project's settings hold no keys and name no variable that does"
_ROUTE = "how your requests travel is set in your own settings"
_SLOTS = "a project may not put variables of your environment into a request"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOwned:
    """What is the user's already: *providers* that may have a key of theirs, and the names in
    their tables (``mcp`` …)."""

    providers: Collection[str] = ()
    tables: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])


def remove_keys(raw: JsonObject) -> list[tuple[KeyPath, str]]:
    """Take the keys out of *raw* that stand in it in full; the paths with the reason. One in a
    slot is left: ``fill`` lets only through what the user listed, and that is theirs to give."""
    taken: list[tuple[KeyPath, str]] = []
    for name, provider in _objects(raw.get("provider")):
        options = provider.get("options")
        if isinstance(options, dict) and "apiKey" in options:
            key = options["apiKey"]
            if not (isinstance(key, str) and _SLOT.fullmatch(key)):
                del options["apiKey"]
                taken.append((("provider", name, "options", "apiKey"), _KEYS))
    return taken


def restrict(values: JsonObject, own: UserOwned) -> list[tuple[KeyPath, str]]:
    """Take out of *values* (filled, and after ``foreign.translate``) what is not a project's to
    set; the paths with the reasons."""
    taken: list[tuple[KeyPath, str]] = []

    def take(parent: JsonObject, path: KeyPath, reason: str) -> None:
        if parent.pop(str(path[-1]), None) is not None:
            taken.append((path, reason))

    _restrain_own(values, take)
    _restrain_providers(values, own, take)
    _restrain_tables(values, own, take)
    return taken + _take_outside(values)


def _restrain_providers(values: JsonObject, own: UserOwned, take: _Take) -> None:
    for name, provider in _objects(values.get("provider")):
        if name in own.providers:
            for key in [key for key in provider if key not in _KEPT]:
                take(provider, ("provider", name, key), _REDIRECTS)
            continue
        take(provider, ("provider", name, "env"), _KEYS)
        options = provider.get("options")
        if isinstance(options, dict):
            _restrain_options(options, ("provider", name, "options"), take)


def _restrain_tables(values: JsonObject, own: UserOwned, take: _Take) -> None:
    for table in NAMED_TABLES:
        for name, entry in _objects(values.get(table)):
            if name in own.tables.get(table, ()):
                for key in [key for key in entry if key not in _SWITCHES]:
                    take(entry, (table, name, key), "you have one of this name already")


def _take_outside(values: JsonObject) -> list[tuple[KeyPath, str]]:
    """Take out the instruction files and skills that do not lie in the project."""
    taken: list[tuple[KeyPath, str]] = []
    for path in (("instructions",), ("skills", "paths")):
        parent = _at(values, path[:-1])
        entries = parent.get(path[-1]) if parent is not None else None
        if parent is None or not isinstance(entries, list):
            continue
        taken += [
            ((*path, index), "it leads out of the project")
            for index, entry in enumerate(entries)
            if _leads_out(entry)
        ]
        parent[path[-1]] = [entry for entry in entries if not _leads_out(entry)]
    return taken


def _restrain_own(values: JsonObject, take: _Take) -> None:
    for key, reason in USER_ONLY_KEYS.items():
        take(values, (key,), reason)
    for path, reason in USER_ONLY_PATHS.items():
        parent = _at(values, path[:-1])
        if parent is not None:
            take(parent, path, reason)
    for path, value in TIGHTEN_ONLY.items():
        parent = _at(values, path[:-1])
        if parent is not None and parent.get(str(path[-1]), value) != value:
            take(parent, path, f"a project may only set it to {value}")


def _restrain_options(options: JsonObject, at: KeyPath, take: _Take) -> None:
    for name in ("proxy", "ca"):
        take(options, (*at, name), _ROUTE)
    for name in ("baseURL", "headers"):
        if "${" in str(options.get(name)):
            take(options, (*at, name), _SLOTS)


def _leads_out(entry: Json) -> bool:
    return isinstance(entry, str) and (
        entry.startswith(("/", "~", "\\")) or ".." in entry.split("/")
    )


def allows_everything(rule: ConfigRule) -> bool:
    """Whether *rule* of a project allows something of every kind."""
    return rule.action == "allow" and not rule.permission.strip("*?")


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
