"""Reads one source of settings into a layer: checked values, rules, and what to tell."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from agent.config import checking, foreign, jsonc, rules
from agent.config.checking import dotted
from agent.config.finding import Source, read
from agent.config.jsonc import KeyPath
from agent.config.rules import ConfigRule
from agent.config.substitute import fill
from agent.jsontypes import Json, JsonObject

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


def read_layer(source: Source, env: Mapping[str, str]) -> Layer:
    """The layer of a file or a text. Never raises for what stands in it."""
    layer = Layer(source)
    try:
        text = read(source)
        raw = jsonc.parse(text)
    except jsonc.JsoncError as error:
        place = f"{source.name}:{error.line}:{error.column}"
        return _give_up(layer, f"{place}: {error.expected}.")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return _give_up(layer, f"{source.name} cannot be read: {reason}.")
    except ValueError as error:
        return _give_up(layer, f"{source.name} cannot be read: {error}.")
    teller = _Teller(layer, text)
    if source.project:
        _take_project(layer, raw, teller)
    else:
        _take_own(layer, raw, teller, env)
    return layer


def given_layer(values: Mapping[str, Json], source: Source, env: Mapping[str, str]) -> Layer:
    """The layer of values that came with the command line."""
    layer = Layer(source)
    _take_own(layer, deepcopy(dict(values)), _Teller(layer, ""), env)
    return layer


@dataclass(slots=True)
class _Teller:
    """Adds notices that name the line; the lines are looked up when the first one is needed."""

    layer: Layer
    text: str
    _lines: dict[KeyPath, int] | None = None

    def tell(self, path: KeyPath, sentence: str) -> None:
        self.layer.notices.append(f"{self.place(path)}: {sentence}.")

    def place(self, path: KeyPath) -> str:
        if self._lines is None:
            self._lines = jsonc.lines(self.text) if self.text else {}
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
    filled = fill(raw, layer.source.folder, env)
    for path, note in filled.notes:
        teller.tell(path, f"{dotted(path)}: {note}")
        layer.broken = layer.broken or path[0] in {"permission", "tools"}
    values = filled.value
    foreign.translate(values)
    for path, reason in foreign.take_unsupported(values):
        teller.tell(path, f"{dotted(path)} has no effect: {reason}")
    layer.rules = _take_rules(layer, values, (), teller)
    for name, agent in _agents(values):
        layer.agents[name] = _take_rules(layer, agent, ("agent", name), teller)
    for fault in checking.check(values):
        teller.tell(fault.path, fault.message)
    _write_rules(layer, values)
    layer.values = values


def _take_project(layer: Layer, raw: JsonObject, teller: _Teller) -> None:
    """Only what tightens counts before trust (spec 4, M9); the rest is named."""
    foreign.translate(raw)
    found = _take_rules(layer, raw, (), teller)
    layer.rules = rules.tightening(found)
    for name, agent in _agents(raw):
        # An agent's rules come after the user's, so its "ask" could lift one of their denials.
        of_agent = _take_rules(layer, agent, ("agent", name), teller)
        layer.agents[name] = tuple(rule for rule in of_agent if rule.action == "deny")
    left = [dotted((key,)) for key in raw]
    if len(found) > len(layer.rules):
        left.append("its allow rules")
    if left:
        more = len(left) - _SHOWN_KEYS
        names = ", ".join(left[:_SHOWN_KEYS]) + (f" and {more} more" if more > 0 else "")
        layer.notices.append(
            f"{layer.source.name}: {names} left out. A project's settings need your trust, which"
            " this version cannot give yet; only its ask and deny rules apply."
        )


def _take_rules(
    layer: Layer, values: JsonObject, path: KeyPath, teller: _Teller
) -> tuple[ConfigRule, ...]:
    """Take ``tools`` and ``permission`` out of *values*; the rules they say."""
    name = layer.source.name if not path else f"{layer.source.name}, agent {path[-1]}"
    switches = values.pop("tools", {})
    taken = rules.parse_switches(switches, name)
    if not isinstance(switches, dict) or len(taken) < len(switches):
        teller.tell((*path, "tools"), f"{dotted((*path, 'tools'))}: expected true or false by name")
        layer.broken = True
    if "permission" not in values:
        return taken
    parsed = rules.parse_rules(values.pop("permission"), name)
    layer.broken = layer.broken or parsed.fallback
    for fault in parsed.faults:
        place = (*path, "permission", *fault.path)
        teller.tell(place, f"{dotted(place)}: {fault.expected}; until it is mended it asks")
    return (*taken, *parsed.rules)


def _write_rules(layer: Layer, values: JsonObject) -> None:
    """Put the rules back where ``Config`` documents them, in one form."""
    if layer.rules:
        values["permission"] = rules.as_setting(layer.rules)
    for name, agent in _agents(values):
        if found := layer.agents.get(name):
            agent["permission"] = rules.as_setting(found)


def _agents(values: JsonObject) -> list[tuple[str, JsonObject]]:
    agents = values.get("agent")
    if not isinstance(agents, dict):
        return []
    return [(name, agent) for name, agent in agents.items() if isinstance(agent, dict)]
