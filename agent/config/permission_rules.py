"""Permission rules of config files, in the order of evaluation.

The last rule that matches decides. The rules of an untrusted project, which can only tighten, are
placed so that none of them lifts a ``deny`` of the user's own.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import get_args

from agent.config.jsonc import KeyPath
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.requests import Action
from agent.records.tool_facts import FORMER_TOOLS, TOOL_FACTS, permission_of

ACTIONS: tuple[Action, ...] = get_args(Action)

_SWITCHES = {
    "patch": "edit",
    **{name: "edit" for name in (*TOOL_FACTS, *FORMER_TOOLS) if permission_of(name) == "edit"},
}
"""Names of tools that several share a permission of, with that permission."""


@frozen
class ConfigRule:
    """A permission rule of a config file."""

    permission: str
    pattern: str
    """Compared with the value that *permission* is requested for."""
    action: Action
    source: str
    """The name of the file."""
    saved: bool = False
    """True for an answer "always" that was saved to the user's settings."""


@frozen
class RuleFault:
    """A value that is no action."""

    path: KeyPath
    """Its path in the permission setting."""
    expected: str


@frozen
class ParsedRules:
    """The rules of a permission setting."""

    rules: tuple[ConfigRule, ...] = ()
    faults: tuple[RuleFault, ...] = ()
    unreadable: bool = False
    """True if the setting could not be read at all; then everything asks."""


def parse_rules(setting: Json, source: str) -> ParsedRules:
    """Return the rules of a ``permission`` value. A part that is no action becomes ``ask``."""
    whole = _action(setting)
    if whole is not None:
        return ParsedRules((ConfigRule("*", "*", whole, source),))
    if not isinstance(setting, dict):
        return ParsedRules(
            (), (RuleFault((), f"expected {_ONE_OF}, or an object"),), unreadable=True
        )
    rules: list[ConfigRule] = []
    faults: list[RuleFault] = []
    for name, value in setting.items():
        permission = _SWITCHES.get(name, name)
        patterns = value if isinstance(value, dict) else {"*": value}
        for pattern, wanted in patterns.items():
            action = _action(wanted)
            if action is None:
                place = (name, pattern) if isinstance(value, dict) else (name,)
                faults.append(RuleFault(place, f"expected {_ONE_OF}"))
            rules.append(ConfigRule(permission, pattern, action or "ask", source))
    return ParsedRules(tuple(rules), tuple(faults))


def parse_switches(setting: Json, source: str) -> tuple[ConfigRule, ...]:
    """Return the rules of opencode's older ``tools`` value: names (with wildcards) on or off."""
    if not isinstance(setting, dict):
        return ()
    return tuple(
        ConfigRule(_SWITCHES.get(name, name), "*", "allow" if value is True else "deny", source)
        for name, value in setting.items()
        if isinstance(value, bool)
    )


def as_setting(rules: Iterable[ConfigRule]) -> JsonObject:
    """Return *rules* in the form of a file, patterns in order."""
    setting: dict[str, dict[str, Json]] = {}
    for rule in rules:
        patterns = setting.setdefault(rule.permission, {})
        patterns.pop(rule.pattern, None)
        patterns[rule.pattern] = rule.action
    return dict(setting)


def tightening_rules(rules: Iterable[ConfigRule]) -> tuple[ConfigRule, ...]:
    """Return the rules that an untrusted project can add: deny and ask."""
    return tuple(rule for rule in rules if rule.action != "allow")


def join_rules(
    own: tuple[ConfigRule, ...], project: tuple[ConfigRule, ...]
) -> tuple[ConfigRule, ...]:
    """Return the user's *own* rules with those of a *project*; no deny of the user's is lifted.

    A project's ``ask`` that may cover something that an own rule denies is followed by the own
    rules from that denial on once more. The project's denials come last of all.
    """
    asks = [rule for rule in project if rule.action == "ask"]
    denies = [rule for rule in project if rule.action == "deny"]
    denied = [index for index, rule in enumerate(own) if rule.action == "deny"]
    many = len(asks) * len(denied) > _MAX_PAIRS
    meeting = (
        i for i in denied if asks and (many or any(may_overlap(own[i], ask) for ask in asks))
    )
    first = next(meeting, len(own))
    return (*own, *asks, *own[first:], *denies)


def ask_by_default(rules: tuple[ConfigRule, ...], source: str) -> tuple[ConfigRule, ...]:
    """Return the rules while *source* cannot be read: denials stay, everything else asks."""
    return (ConfigRule("*", "*", "ask", source), *allow_to_ask(rules))


def allow_to_ask(rules: tuple[ConfigRule, ...]) -> tuple[ConfigRule, ...]:
    """Return *rules* with every ``allow`` turned into ``ask``."""
    return tuple(replace(rule, action="ask") if rule.action == "allow" else rule for rule in rules)


def may_overlap(one: ConfigRule, other: ConfigRule) -> bool:
    """Return whether some request may match both rules; true in case of doubt."""
    return _patterns_overlap(one.permission, other.permission) and _patterns_overlap(
        one.pattern, other.pattern
    )


_MAX_PAIRS = 10_000
"""Pairs of rules that are compared; a file with more counts as overlapping (it is hostile)."""

_MAX_PATTERN = 1_000
"""Characters of a pattern that are compared; longer ones count as overlapping."""

_ONE_OF = '"allow", "ask" or "deny"'


def _action(value: Json) -> Action | None:
    return next((action for action in ACTIONS if action == value), None)


def _patterns_overlap(one: str, other: str) -> bool:
    """Return whether a text may match two patterns with the wildcards ``*`` and ``?``.

    Walks all reachable pairs of positions at once, one row per character of *one*. A home folder
    and the optional tail ``" *"`` are read as ``*``.
    """
    if len(one) > _MAX_PATTERN or len(other) > _MAX_PATTERN:
        return True
    first, second = _generalized(one), _generalized(other)
    row = _skip_stars({0}, second)
    for char in first:
        if char == "*":
            row = set(range(min(row), len(second) + 1)) if row else set[int]()
            continue
        step = {at + 1 for at in row if at < len(second) and _chars_match(char, second[at])}
        # A star of the other pattern matches this character and can match more.
        step |= {at for at in row if at < len(second) and second[at] == "*"}
        row = _skip_stars(step, second)
    return len(second) in row


def _skip_stars(row: set[int], pattern: str) -> set[int]:
    """Return *row* with the positions after stars, which can match nothing."""
    reached = set(row)
    for start in sorted(row):
        at = start
        while at < len(pattern) and pattern[at] == "*":
            at += 1
            reached.add(at)
    return reached


def _chars_match(one: str, other: str) -> bool:
    return "?" in {one, other} or (one == other and one != "*")


def _generalized(pattern: str) -> str:
    for home in ("~", "$HOME"):
        if pattern.startswith(home):
            return "*" + pattern[len(home) :]
    return pattern[:-2] + "*" if pattern.endswith(" *") else pattern
