"""Reads one source of settings into a layer of validated values and rules, and merges layers."""

from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from agent.config import (
    jsonc,
    opencode,
    other_programs,
    permission_rules,
    project_restrictions,
    repeated_keys,
    validation,
)
from agent.config.definition_files import DefinitionFile
from agent.config.definitions import DEFINITION_READERS
from agent.config.discovery import Source, read_source
from agent.config.jsonc import KeyPath
from agent.config.markdown_files import FrontmatterError
from agent.config.paths import is_near
from agent.config.permission_rules import ConfigRule
from agent.config.project_restrictions import UserOwned
from agent.config.substitution import AllowedReads, Substituted, substitute
from agent.config.validation import dotted_key
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.redact import remember_secrets

_SHOWN_KEYS = 8
SANDBOX_IS_YOURS = "only your own settings can allow commands to leave the sandbox"


@dataclass(slots=True)
class Layer:
    """The values of one source."""

    source: Source
    values: JsonObject = field(default_factory=dict[str, Json])
    rules: tuple[ConfigRule, ...] = ()
    """Its general permission rules."""
    agents: dict[str, tuple[ConfigRule, ...]] = field(
        default_factory=dict[str, tuple[ConfigRule, ...]]
    )
    """Permission rules of agents by name."""
    notices: list[str] = field(default_factory=list[str])
    broken: bool = False
    """True if its rules could not be read; then every tool asks."""
    variables: frozenset[str] = frozenset()
    """The environment variables that it reads."""


@frozen
class TrustLimits:
    """The limits of a project that the user trusts."""

    own: UserOwned
    """The names and keys that belong to the user."""
    allowed: AllowedReads
    """The variables and files that its settings may read."""


def trust_limits(
    own: Mapping[str, Json], keyed: Mapping[str, Collection[str]], root: Path
) -> TrustLimits:
    """Return the limits of a trusted project in *root*.

    *own* are the user's merged settings, *keyed* further providers that may have a key, with what
    is usual for each.
    """
    reads = own.get("project_reads")
    entries = tuple(e for e in reads if isinstance(e, str)) if isinstance(reads, list) else ()
    tables = {table: names_in(own, table) for table in project_restrictions.NAMED_TABLES}
    servers = own.get("mcp")
    sandboxes = {
        name: server.get("sandbox")
        for name, server in (servers.items() if isinstance(servers, dict) else ())
        if isinstance(server, dict)
    }
    owned = UserOwned(
        providers=names_in(own, "provider").union(keyed),
        usual=keyed,
        tables=tables,
        sandboxes=sandboxes,
    )
    return TrustLimits(owned, AllowedReads(entries, root))


def names_in(values: Mapping[str, Json], table: str) -> frozenset[str]:
    """Return the names in a table of *values*, such as ``provider``."""
    entries = values.get(table)
    return frozenset(entries) if isinstance(entries, dict) else frozenset()


def read_layer(source: Source, env: Mapping[str, str], trusted: TrustLimits | None = None) -> Layer:
    """Return the layer of a file or a text. Never raises for its content.

    Of a project's file only rules that tighten count unless it is *trusted*.
    """
    layer = Layer(source)
    try:
        text = read_source(source)
        raw, ignored_keys = other_programs.to_own_form(source, repeated_keys.parse_strictly(text))
    except jsonc.JsoncError as error:
        place = f"{source.name}:{error.line}:{error.column}"
        return _mark_broken(layer, f"{place}: {error.expected}.")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return _mark_broken(layer, f"{source.name} cannot be read: {reason}.")
    except ValueError as error:
        return _mark_broken(layer, f"{source.name} cannot be read: {error}.")
    layer.notices += repeated_keys.notices(text, source.name)
    notices = _NoticeWriter(layer, text)
    if not source.project or trusted is not None:
        for path, reason in ignored_keys:
            notices.add(path, f" has no effect: {reason}")
    if not source.project:
        _load_user_source(layer, raw, notices, env)
    elif trusted is not None:
        _load_trusted_project(layer, raw, notices, env, trusted)
    else:
        _load_untrusted_project(layer, raw, notices)
    return layer


def command_line_layer(values: Mapping[str, Json], source: Source, env: Mapping[str, str]) -> Layer:
    """Return the layer of values that came with the command line."""
    layer = Layer(source)
    _load_user_source(layer, deepcopy(dict(values)), _NoticeWriter(layer, ""), env)
    return layer


def definition_layer(file: DefinitionFile, trusted: TrustLimits | None = None) -> Layer:
    """Return the layer of a definition in markdown; an unreadable one is reported.

    Only for the user's own files, and for those of a *trusted* project.
    """
    source = Source(file.source, file.path.parent, file.path, project=file.project is not None)
    layer = Layer(source)
    try:
        definition = DEFINITION_READERS[file.kind](file)
    except (FrontmatterError, OSError, ValueError) as error:
        system = (error.strerror or "").lower() if isinstance(error, OSError) else ""
        layer.notices.append(f"The {file.kind} {source.name} is ignored: {system or error}.")
        return layer
    values: JsonObject = {file.kind: {definition.name: definition.values}}
    notices = _NoticeWriter(layer, "", unwritten=2)
    for key, reason in definition.ignored:
        notices.add((file.kind, definition.name, key), f" has no effect: {reason}")
    opencode.translate(values)
    if trusted is not None:
        for path, why in project_restrictions.restrict(values, trusted.own):
            notices.add(path, f" is ignored: {why}")
    _load(layer, values, notices)
    return layer


@dataclass(slots=True)
class _NoticeWriter:
    """Adds notices that name the line; lines are looked up when the first one is needed."""

    layer: Layer
    text: str
    unwritten: int = 0
    """How many steps of each path the file does not contain: what it defines, and the name."""
    _lines: dict[KeyPath, int] | None = None

    def add(self, path: KeyPath, rest: str, *further: KeyPath) -> None:
        """Add a sentence of the key at *path*, and of *further* ones, and *rest*."""
        keys = (dotted_key(self._written(each)[self.unwritten :]) for each in (path, *further))
        end = "" if rest.endswith("?") else "."
        self.layer.notices.append(f"{self._position(path)}: {', '.join(keys)}{rest}{end}")

    def _position(self, path: KeyPath) -> str:
        written, lines = self._written(path), self._key_lines()
        for length in range(len(written), 0, -1):
            line = lines.get(written[:length])
            if line is not None:
                return f"{self.layer.source.name}:{line}"
        return self.layer.source.name

    def _written(self, path: KeyPath) -> KeyPath:
        """Return *path* with the spelling of each key that the file has."""
        lines, written = self._key_lines(), KeyPath()
        for step in path:
            here, other = (*written, step), (*written, _SPELLINGS.get(step, step))
            written = other if here not in lines and other in lines else here
        return written

    def _key_lines(self) -> dict[KeyPath, int]:
        if self._lines is None:
            self._lines = jsonc.key_lines(self.text) if self.text else {}
        return self._lines


_SPELLINGS: Mapping[str | int, str] = {
    "mcp": "mcpServers",
    "environment": "env",
    "agent": "mode",
    "effort": "variant",
    "steps": "maxSteps",
}
"""Other spellings of keys, which ``opencode.translate`` replaces."""


def _mark_broken(layer: Layer, sentence: str) -> Layer:
    layer.broken = True
    layer.notices.append(
        f"{sentence} It is ignored, and every tool asks for permission until you fix it."
    )
    return layer


def _load_user_source(
    layer: Layer, raw: JsonObject, notices: _NoticeWriter, env: Mapping[str, str]
) -> None:
    values = _substituted(layer, raw, notices, env).value
    opencode.translate(values)
    _load(layer, values, notices)


def _load_trusted_project(
    layer: Layer,
    raw: JsonObject,
    notices: _NoticeWriter,
    env: Mapping[str, str],
    trusted: TrustLimits,
) -> None:
    """Load a trusted project's file except for what a project can never set."""
    taken = project_restrictions.remove_keys(raw, trusted.own.usual)
    filled = _substituted(layer, raw, notices, env, trusted.allowed)
    values = filled.value
    opencode.translate(values)
    for path, reason in (*taken, *project_restrictions.restrict(values, trusted.own)):
        notices.add(path, f" is ignored: {reason}")
    for path, kind, name in filled.unlisted:
        if kind == "variable" and path[2:] == ("options", "apiKey"):
            _require_key(values, str(path[1]), name)
    _load(layer, values, notices)


def _require_key(values: JsonObject, name: str, variable: str) -> None:
    """Have the provider *name*, whose key cannot be read, need one: without it, every request to
    a server elsewhere would fail."""
    from urllib.parse import urlsplit  # only for such a provider

    providers = values.get("provider")
    entry = providers.get(name) if isinstance(providers, dict) else None
    options = entry.get("options") if isinstance(entry, dict) else None
    address = options.get("baseURL") if isinstance(options, dict) else None
    host = urlsplit(address).hostname if isinstance(address, str) else None
    if isinstance(entry, dict) and not is_near(host or ""):
        entry["env"] = [variable]


def _substituted(
    layer: Layer,
    raw: JsonObject,
    notices: _NoticeWriter,
    env: Mapping[str, str],
    allowed: AllowedReads | None = None,
) -> Substituted:
    filled = substitute(raw, layer.source.folder, env, allowed)
    layer.variables = frozenset(filled.variables)
    remember_secrets(filled.secrets)
    for path, note in filled.notes:
        notices.add(path, f": {note}")
    if filled.unlisted:
        paths = [path for path, _, _ in filled.unlisted]
        notices.add(paths[0], f": {_unlisted(filled.unlisted)}", *paths[1:])
    for path in (*(path for path, _ in filled.notes), *(path for path, _, _ in filled.unlisted)):
        layer.broken = layer.broken or path[0] in {"permission", "tools"}
        if _disable_incomplete_server(filled.value, path):
            notices.add(path[:2], f" is turned off: its {path[2]} cannot be filled in")
    return filled


def _unlisted(found: list[tuple[KeyPath, str, str]]) -> str:
    """Return a sentence on the variables and files in *found* that may not be read."""
    kinds = dict.fromkeys(kind for _, kind, _ in found)
    names = {k: dict.fromkeys(name for _, kind, name in found if kind == k) for k in kinds}
    what = " and ".join(
        f"the {kind}{'s' * (len(each) > 1)} {', '.join(each)}" for kind, each in names.items()
    )
    several = sum(map(len, names.values())) > 1
    return (
        f"a project's settings cannot read {what}, so {'they are' if several else 'it is'}"
        f" ignored; list {'them' if several else 'it'} under project_reads in your own to allow it"
    )


def _disable_incomplete_server(values: JsonObject, path: KeyPath) -> bool:
    """Disable a server whose command or URL could not be filled in: *path* is the missing value.

    Return whether it did.
    """
    if len(path) != 3 or path[0] != "mcp" or path[2] not in {"command", "args", "url"}:
        return False
    servers = values.get("mcp")
    entry = servers.get(str(path[1])) if isinstance(servers, dict) else None
    if not isinstance(entry, dict) or str(path[2]) in entry:
        return False
    entry["enabled"] = False
    return True


def _load(layer: Layer, values: JsonObject, notices: _NoticeWriter) -> None:
    for path, reason in opencode.remove_unsupported(values):
        notices.add(path, f" has no effect: {reason}")
    layer.rules = _take_rules(layer, values, (), notices)
    for name, agent in _agents(values):
        layer.agents[name] = _take_rules(layer, agent, ("agent", name), notices)
    for fault in validation.remove_invalid(values):
        notices.add(fault.path, f": {fault.message}")
    _write_rules(layer, values)
    layer.values = values


def _load_untrusted_project(layer: Layer, raw: JsonObject, notices: _NoticeWriter) -> None:
    """Load a project's file before trust: only its rules that tighten; the rest is named."""
    opencode.translate(raw)
    found = _take_rules(layer, raw, (), notices)
    layer.rules = permission_rules.tightening_rules(found)
    for name, agent in _agents(raw):
        # An agent's rules come after the user's, so its "ask" could lift one of the user's denials.
        of_agent = _take_rules(layer, agent, ("agent", name), notices)
        layer.agents[name] = tuple(rule for rule in of_agent if rule.action == "deny")
    ignored = [dotted_key((key,)) for key in raw]
    if len(found) > len(layer.rules):
        ignored.append("its allow rules")
    if ignored:
        more = len(ignored) - _SHOWN_KEYS
        names = ", ".join(ignored[:_SHOWN_KEYS]) + (f" and {more} more" if more > 0 else "")
        layer.notices.append(
            f"{layer.source.name}: {names} ignored, because this folder is not trusted (/trust); "
            "only its ask and deny rules apply."
        )


def _take_rules(
    layer: Layer, values: JsonObject, path: KeyPath, notices: _NoticeWriter
) -> tuple[ConfigRule, ...]:
    """Remove ``tools`` and ``permission`` from *values* and return their rules."""
    name = f"project {layer.source.name}" if layer.source.project else layer.source.name
    name += f", agent {path[-1]}" if path else ""
    switches = values.pop("tools", {})
    taken = permission_rules.parse_switches(switches, name)
    if not isinstance(switches, dict) or len(taken) < len(switches):
        notices.add((*path, "tools"), ": expected true or false by name")
        layer.broken = True
    if "permission" not in values:
        return taken
    parsed = permission_rules.parse_rules(values.pop("permission"), name)
    layer.broken = layer.broken or parsed.unreadable
    for fault in parsed.faults:
        place = (*path, "permission", *fault.path)
        notices.add(place, f": {fault.expected}; it asks until you fix it")
    found = (*taken, *parsed.rules)
    if not layer.source.project:
        return found
    kept = tuple(rule for rule in found if not project_restrictions.allows_everything(rule))
    if len(kept) < len(found):
        notices.add(
            (*path, "permission"), ": a project cannot allow everything; that rule is ignored"
        )
    inside = tuple(rule for rule in kept if not project_restrictions.loosens_sandbox(rule))
    for rule in kept:
        if rule not in inside:
            place = (*path, "permission", rule.permission)
            notices.add(place, f": {SANDBOX_IS_YOURS}; that rule is ignored")
    return inside


def _write_rules(layer: Layer, values: JsonObject) -> None:
    """Write the rules back where ``Config`` documents them, in one form."""
    if layer.rules:
        values["permission"] = permission_rules.as_setting(layer.rules)
    for name, agent in _agents(values):
        if found := layer.agents.get(name):
            agent["permission"] = permission_rules.as_setting(found)


def _agents(values: JsonObject) -> list[tuple[str, JsonObject]]:
    agents = values.get("agent")
    if not isinstance(agents, dict):
        return []
    return [(name, agent) for name, agent in agents.items() if isinstance(agent, dict)]


JOINED = ("instructions",)
"""The list that is joined, not replaced, as those of hooks are by event. Permission rules are
joined as rules."""


def merge_values(
    base: JsonObject, later: JsonObject, source: str, sources: dict[KeyPath, str], at: KeyPath = ()
) -> None:
    """Merge *later* into *base*, in place, and note *source* for each value that it sets.

    A key that is set again moves to the end, since the order of patterns matters.
    """
    for key, value in later.items():
        path = (*at, key)
        before = base.pop(key, None)
        if isinstance(value, dict):
            branch = before if isinstance(before, dict) else {}
            base[key] = branch
            merge_values(branch, value, source, sources, path)
            continue
        joined = path == JOINED or (len(path) == 2 and path[0] == "hooks")
        base[key] = _joined(before, value) if joined else value
        sources[path] = source


def _joined(before: Json, value: Json) -> Json:
    """Return both lists without duplicates, each entry at its first position."""
    if not isinstance(before, list) or not isinstance(value, list):
        return value
    return [*before, *(item for item in value if item not in before)]
