"""Permission rules as config files give them (spec 4, M1), in the order in which they count.

The last rule that matches decides. So the rules of a project, which may only tighten, are
placed such that none of them lifts a ``deny`` of the user's own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import get_args

from agent.config.jsonc import KeyPath
from agent.records.json import Json, JsonObject
from agent.records.requests import Action
from agent.records.tool_facts import TOOL_FACTS

ACTIONS: tuple[Action, ...] = get_args(Action)

_SWITCHES = {
    "patch": "edit",
    **{name: "edit" for name, facts in TOOL_FACTS.items() if facts.permission == "edit"},
}
"""Names in opencode's older ``tools`` switches → the permission that covers several of them."""


@dataclass(frozen=True, slots=True)
class ConfigRule:
    """*pattern* is matched against what *permission* is asked for. *source* names the file."""

    permission: str
    pattern: str
    action: Action
    source: str


@dataclass(frozen=True, slots=True)
class RuleFault:
    """A value that is no action. *path* leads to it inside the permission setting."""

    path: KeyPath
    expected: str


@dataclass(frozen=True, slots=True)
class ParsedRules:
    """*fallback* is set when what stood there could not be read at all: everything asks."""

    rules: tuple[ConfigRule, ...] = ()
    faults: tuple[RuleFault, ...] = ()
    unreadable: bool = False


def parse_rules(setting: Json, source: str) -> ParsedRules:
    """The rules of a ``permission`` value. A part that is no action becomes ``ask``."""
    whole = _action(setting)
    if whole is not None:
        return ParsedRules((ConfigRule("*", "*", whole, source),))
    if not isinstance(setting, dict):
        return ParsedRules(
            (), (RuleFault((), f"expected {_ONE_OF}, or an object"),), unreadable=True
        )
    rules: list[ConfigRule] = []
    faults: list[RuleFault] = []
    for permission, value in setting.items():
        patterns = value if isinstance(value, dict) else {"*": value}
        for pattern, wanted in patterns.items():
            action = _action(wanted)
            if action is None:
                place = (permission, pattern) if isinstance(value, dict) else (permission,)
                faults.append(RuleFault(place, f"expected {_ONE_OF}"))
            rules.append(ConfigRule(permission, pattern, action or "ask", source))
    return ParsedRules(tuple(rules), tuple(faults))


def parse_switches(setting: Json, source: str) -> tuple[ConfigRule, ...]:
    """The rules of opencode's older ``tools`` value: names (with wildcards) on or off."""
    if not isinstance(setting, dict):
        return ()
    return tuple(
        ConfigRule(_SWITCHES.get(name, name), "*", "allow" if value is True else "deny", source)
        for name, value in setting.items()
        if isinstance(value, bool)
    )


def as_setting(rules: Iterable[ConfigRule]) -> JsonObject:
    """*rules* in the form of a file, patterns in order."""
    setting: dict[str, dict[str, Json]] = {}
    for rule in rules:
        patterns = setting.setdefault(rule.permission, {})
        patterns.pop(rule.pattern, None)
        patterns[rule.pattern] = rule.action
    return dict(setting)


def tightening_rules(rules: Iterable[ConfigRule]) -> tuple[ConfigRule, ...]:
    """The rules that a project without trust may add: deny and ask (M9)."""
    return tuple(rule for rule in rules if rule.action != "allow")


def join_rules(
    own: tuple[ConfigRule, ...], project: tuple[ConfigRule, ...]
) -> tuple[ConfigRule, ...]:
    """*own* rules, then those of a *project*, with no deny of the user's own lifted.

    An ``ask`` of the project that may cover something that an own rule denies is followed by
    the own rules from that denial on once more; its denials come last of all.
    """
    asks = [rule for rule in project if rule.action == "ask"]
    denies = [rule for rule in project if rule.action == "deny"]
    denied = [index for index, rule in enumerate(own) if rule.action == "deny"]
    many = len(asks) * len(denied) > _PAIRS
    meeting = (
        i for i in denied if asks and (many or any(may_overlap(own[i], ask) for ask in asks))
    )
    first = next(meeting, len(own))
    return (*own, *asks, *own[first:], *denies)


def ask_by_default(rules: tuple[ConfigRule, ...], source: str) -> tuple[ConfigRule, ...]:
    """What holds while *source* can't be read (K2): denials stay, everything else asks."""
    return (ConfigRule("*", "*", "ask", source), *allow_to_ask(rules))


def allow_to_ask(rules: tuple[ConfigRule, ...]) -> tuple[ConfigRule, ...]:
    """*rules* with every ``allow`` turned into ``ask``."""
    return tuple(replace(rule, action="ask") if rule.action == "allow" else rule for rule in rules)


def may_overlap(one: ConfigRule, other: ConfigRule) -> bool:
    """Whether some request may match both rules. Errs on the side of yes."""
    return _meet(one.permission, other.permission) and _meet(one.pattern, other.pattern)


_PAIRS = 10_000
"""Pairs of rules that are compared; a file with more is taken to overlap (a hostile one)."""

_LONG = 1_000
"""Characters of a pattern that are compared; longer ones are taken to overlap."""

_ONE_OF = '"allow", "ask" or "deny"'


def _action(value: Json) -> Action | None:
    return next((action for action in ACTIONS if action == value), None)


def _meet(one: str, other: str) -> bool:
    """Whether a text may match both wildcards ``*`` and ``?`` patterns.

    Walks the pairs of places that can be reached at once, one row for each character of
    *one*. A home folder and the optional tail ``" *"`` (M2) are read as ``*``.
    """
    if len(one) > _LONG or len(other) > _LONG:
        return True
    first, second = _widened(one), _widened(other)
    row = _across({0}, second)
    for char in first:
        if char == "*":
            row = set(range(min(row), len(second) + 1)) if row else set[int]()
            continue
        step = {at + 1 for at in row if at < len(second) and _same(char, second[at])}
        # A star of the other pattern takes this character and stays.
        step |= {at for at in row if at < len(second) and second[at] == "*"}
        row = _across(step, second)
    return len(second) in row


def _across(row: set[int], pattern: str) -> set[int]:
    """*row* with the places behind stars, which may match nothing."""
    reached = set(row)
    for start in sorted(row):
        at = start
        while at < len(pattern) and pattern[at] == "*":
            at += 1
            reached.add(at)
    return reached


def _same(one: str, other: str) -> bool:
    return "?" in {one, other} or (one == other and one != "*")


def _widened(pattern: str) -> str:
    for home in ("~", "$HOME"):
        if pattern.startswith(home):
            return "*" + pattern[len(home) :]
    return pattern[:-2] + "*" if pattern.endswith(" *") else pattern
