"""Reads one source of settings into a layer: checked values, rules, and what to tell."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from agent.config import (
    formats,
    jsonc,
    opencode,
    permission_rules,
    project_restrictions,
    validation,
)
from agent.config.definition_files import DefinitionFile
from agent.config.discovery import Source, read_source
from agent.config.jsonc import KeyPath
from agent.config.markdown_files import DEFINITION_READERS, FrontmatterError
from agent.config.permission_rules import ConfigRule
from agent.config.project_restrictions import UserOwned
from agent.config.substitution import AllowedReads, substitute
from agent.config.validation import dotted_key
from agent.records.json import Json, JsonObject

_SHOWN_KEYS = 8


@dataclass(slots=True)
class Layer:
    """What one source gave. *broken* when its rules could not be read: then all must ask (K2).

    *agents* are the rules of agents by name.
    """

    source: Source
    values: JsonObject = field(default_factory=dict[str, Json])
    rules: tuple[ConfigRule, ...] = ()
    agents: dict[str, tuple[ConfigRule, ...]] = field(
        default_factory=dict[str, tuple[ConfigRule, ...]]
    )
    notices: list[str] = field(default_factory=list[str])
    broken: bool = False


@dataclass(frozen=True, slots=True)
class TrustLimits:
    """The limits of a project that the user trusts: what is theirs, what it may read."""

    own: UserOwned
    allowed: AllowedReads


def trust_limits(own: Mapping[str, Json], keyed: frozenset[str], root: Path) -> TrustLimits:
    """The limits of a trusted project in *root*, given the user's *own* settings together and
    the providers that may hold a key beside those in them."""
    reads = own.get("project_reads")
    entries = tuple(e for e in reads if isinstance(e, str)) if isinstance(reads, list) else ()
    tables = {table: names_in(own, table) for table in project_restrictions.NAMED_TABLES}
    owned = UserOwned(providers=keyed | names_in(own, "provider"), tables=tables)
    return TrustLimits(owned, AllowedReads(entries, root))


def names_in(values: Mapping[str, Json], table: str) -> frozenset[str]:
    """The names in a table of *values*, such as ``provider``."""
    entries = values.get(table)
    return frozenset(entries) if isinstance(entries, dict) else frozenset()


def read_layer(source: Source, env: Mapping[str, str], trusted: TrustLimits | None = None) -> Layer:
    """The layer of a file or a text. Never raises for what stands in it.

    Of a project's file only what tightens counts unless it is *trusted*.
    """
    layer = Layer(source)
    try:
        text = read_source(source)
        raw, useless = formats.to_own_form(source, jsonc.parse(text))
    except jsonc.JsoncError as error:
        place = f"{source.name}:{error.line}:{error.column}"
        return _give_up(layer, f"{place}: {error.expected}.")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return _give_up(layer, f"{source.name} cannot be read: {reason}.")
    except ValueError as error:
        return _give_up(layer, f"{source.name} cannot be read: {error}.")
    teller = _Teller(layer, text)
    if not source.project or trusted is not None:
        for path, reason in useless:
            teller.tell(path, f"{dotted_key(path)} has no effect: {reason}")
    if not source.project:
        _take_own(layer, raw, teller, env)
    elif trusted is not None:
        _take_trusted(layer, raw, teller, env, trusted)
    else:
        _take_project(layer, raw, teller)
    return layer


def command_line_layer(values: Mapping[str, Json], source: Source, env: Mapping[str, str]) -> Layer:
    """The layer of values that came with the command line."""
    layer = Layer(source)
    _take_own(layer, deepcopy(dict(values)), _Teller(layer, ""), env)
    return layer


def definition_layer(file: DefinitionFile, trusted: TrustLimits | None = None) -> Layer:
    """The layer of a definition in markdown. One that cannot be read is left out, and told.

    Only for the user's own, and for those of a *trusted* project.
    """
    source = Source(file.source, file.path.parent, file.path, project=file.project is not None)
    layer = Layer(source)
    try:
        values: JsonObject = {file.kind: {file.name: DEFINITION_READERS[file.kind](file)}}
    except (FrontmatterError, OSError, ValueError) as error:
        system = (error.strerror or "").lower() if isinstance(error, OSError) else ""
        layer.notices.append(f"The {file.kind} {source.name} is left out: {system or error}.")
        return layer
    teller = _Teller(layer, "")
    opencode.translate(values)
    if trusted is not None:
        for path, why in project_restrictions.restrict(values, trusted.own):
            teller.tell(path, f"{dotted_key(path)} is left out: {why}")
    _take(layer, values, teller)
    return layer


@dataclass(slots=True)
class _Teller:
    """Adds notices that name the line; the lines are looked up when the first one is needed."""

    layer: Layer
    text: str
    _lines: dict[KeyPath, int] | None = None

    def tell(self, path: KeyPath, sentence: str) -> None:
        end = "" if sentence.endswith("?") else "."
        self.layer.notices.append(f"{self.place(path)}: {sentence}{end}")

    def place(self, path: KeyPath) -> str:
        if self._lines is None:
            self._lines = jsonc.key_lines(self.text) if self.text else {}
        for length in range(len(path), 0, -1):
            line = self._lines.get(path[:length])
            if line is not None:
                return f"{self.layer.source.name}:{line}"
        return self.layer.source.name


def _give_up(layer: Layer, sentence: str) -> Layer:
    layer.broken = True
    layer.notices.append(f"{sentence} It is left out, and until it is mended every tool asks.")
    return layer


def _take_own(layer: Layer, raw: JsonObject, teller: _Teller, env: Mapping[str, str]) -> None:
    values = _filled(layer, raw, teller, env)
    opencode.translate(values)
    _take(layer, values, teller)


def _take_trusted(
    layer: Layer, raw: JsonObject, teller: _Teller, env: Mapping[str, str], trusted: TrustLimits
) -> None:
    """All of a trusted project's file but for what is never a project's to set (9.1)."""
    taken = project_restrictions.remove_keys(raw)
    values = _filled(layer, raw, teller, env, trusted.allowed)
    opencode.translate(values)
    for path, reason in (*taken, *project_restrictions.restrict(values, trusted.own)):
        teller.tell(path, f"{dotted_key(path)} is left out: {reason}")
    _take(layer, values, teller)


def _filled(
    layer: Layer,
    raw: JsonObject,
    teller: _Teller,
    env: Mapping[str, str],
    listed: AllowedReads | None = None,
) -> JsonObject:
    filled = substitute(raw, layer.source.folder, env, listed)
    for path, note in filled.notes:
        teller.tell(path, f"{dotted_key(path)}: {note}")
        layer.broken = layer.broken or path[0] in {"permission", "tools"}
        _switch_off(filled.value, path)
    return filled.value


def _switch_off(values: JsonObject, path: KeyPath) -> None:
    """Start no server with half of its words: *path* is of a value that was left out."""
    if len(path) != 3 or path[0] != "mcp" or path[2] not in {"command", "args", "url"}:
        return
    servers = values.get("mcp")
    entry = servers.get(str(path[1])) if isinstance(servers, dict) else None
    if isinstance(entry, dict) and str(path[2]) not in entry:
        entry["enabled"] = False


def _take(layer: Layer, values: JsonObject, teller: _Teller) -> None:
    for path, reason in opencode.remove_unsupported(values):
        teller.tell(path, f"{dotted_key(path)} has no effect: {reason}")
    layer.rules = _take_rules(layer, values, (), teller)
    for name, agent in _agents(values):
        layer.agents[name] = _take_rules(layer, agent, ("agent", name), teller)
    for fault in validation.remove_invalid(values):
        teller.tell(fault.path, fault.message)
    _write_rules(layer, values)
    layer.values = values


def _take_project(layer: Layer, raw: JsonObject, teller: _Teller) -> None:
    """Only what tightens counts before trust (spec 4, M9); the rest is named."""
    opencode.translate(raw)
    found = _take_rules(layer, raw, (), teller)
    layer.rules = permission_rules.tightening_rules(found)
    for name, agent in _agents(raw):
        # An agent's rules come after the user's, so its "ask" could lift one of their denials.
        of_agent = _take_rules(layer, agent, ("agent", name), teller)
        layer.agents[name] = tuple(rule for rule in of_agent if rule.action == "deny")
    left = [dotted_key((key,)) for key in raw]
    if len(found) > len(layer.rules):
        left.append("its allow rules")
    if left:
        more = len(left) - _SHOWN_KEYS
        names = ", ".join(left[:_SHOWN_KEYS]) + (f" and {more} more" if more > 0 else "")
        layer.notices.append(
            f"{layer.source.name}: {names} left out, since this folder is not trusted (/trust);"
            " of its settings only the ask and deny rules apply."
        )


def _take_rules(
    layer: Layer, values: JsonObject, path: KeyPath, teller: _Teller
) -> tuple[ConfigRule, ...]:
    """Take ``tools`` and ``permission`` out of *values*; the rules they say."""
    name = f"project {layer.source.name}" if layer.source.project else layer.source.name
    name += f", agent {path[-1]}" if path else ""
    switches = values.pop("tools", {})
    taken = permission_rules.parse_switches(switches, name)
    if not isinstance(switches, dict) or len(taken) < len(switches):
        teller.tell(
            (*path, "tools"), f"{dotted_key((*path, 'tools'))}: expected true or false by name"
        )
        layer.broken = True
    if "permission" not in values:
        return taken
    parsed = permission_rules.parse_rules(values.pop("permission"), name)
    layer.broken = layer.broken or parsed.unreadable
    for fault in parsed.faults:
        place = (*path, "permission", *fault.path)
        teller.tell(place, f"{dotted_key(place)}: {fault.expected}; until it is mended it asks")
    found = (*taken, *parsed.rules)
    if not layer.source.project:
        return found
    kept = tuple(rule for rule in found if not project_restrictions.allows_everything(rule))
    if len(kept) < len(found):
        place = (*path, "permission")
        sentence = f"{dotted_key(place)}: a project may not allow everything; that rule is left out"
        teller.tell(place, sentence)
    return kept


def _write_rules(layer: Layer, values: JsonObject) -> None:
    """Put the rules back where ``Config`` documents them, in one form."""
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
"""The list that is joined, not replaced, as those of hooks are by event. (Permission rules are
joined as rules.)"""


def merge_values(
    base: JsonObject, later: JsonObject, source: str, sources: dict[KeyPath, str], at: KeyPath = ()
) -> None:
    """Lay *later* over *base*, in place, and note *source* for each value it sets.

    A key that is set again moves to the end, since patterns count in order.
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
    """Both lists, each entry once, in the first place it stood."""
    if not isinstance(before, list) or not isinstance(value, list):
        return value
    return [*before, *(item for item in value if item not in before)]
