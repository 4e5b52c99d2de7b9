"""Permission rules and the decisions that they make.

A rule is ``(permission, pattern, action)`` with a source. Rules are given in the order
defaults → global config → project config → agent → session → "always"; the last one that
matches decides, within what its source can say:

- a default rule only sets the starting point, which a need's floor can tighten;
- a rule of the project can always tighten; it loosens an ``ask`` only if the project is trusted,
  and never lifts a deny of the user's own;
- a pattern that the user answered "always" to never lifts a deny.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.records.requests import Action, EvaluatedNeed, PermissionNeed
from agent.records.tool_facts import TOOL_FACTS

DEFAULT = "default"
"""Source of the built-in rules."""

ALWAYS = "this session"
"""Source of the patterns that the user answered "always" to."""

SAVED = "your settings, from now on"
"""Source of the rules saved to the user's settings since the program started."""

HOOK_ALLOWS = "a hook allows it"
EDITS_ACCEPTED = "edits are accepted"
"""Reasons for allowing something that no rule allows."""

PROJECT = "project"
"""Source of rules from a project's own files: this word, or this word, a blank and the file."""

STRENGTH: dict[Action, int] = {"allow": 0, "ask": 1, "deny": 2}
"""Rank of the actions: the stricter, the higher."""


NETWORK, UNSANDBOXED = "network", "unsandboxed"
"""Permissions of commands: the network, and running without the sandbox."""

ALLOWED_BY_NAME = frozenset({"doom_loop", UNSANDBOXED})
"""Permissions that a rule allows only by name: allowing everything does not include them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it does with calls that match."""

    permission: str
    """Can hold wildcards, as the pattern can."""

    pattern: str
    action: Action

    source: str
    """The origin of the rule, for the user."""

    cautious: bool = False
    """True if it does not apply to calls that are proven to change nothing, and only tightens."""

    def matches(self, permission: str, text: str) -> bool:
        if (
            permission in ALLOWED_BY_NAME
            and self.action == "allow"
            and self.permission != permission
        ):
            return False
        return matches(permission, self.permission) and matches(text, self.pattern)


def _defaults(action: Action, *permissions: str) -> tuple[Rule, ...]:
    return tuple(Rule(name, "*", action, DEFAULT) for name in permissions)


DEFAULT_RULES: tuple[Rule, ...] = (
    *_defaults("ask", "*"),
    *(Rule(tool.name, "*", tool.action, DEFAULT) for tool in TOOL_FACTS.values() if tool.action),
    *_defaults("ask", "external_directory", "doom_loop"),
)
"""The built-in rules. For bash the need's floor decides: allow only if proven read-only."""


def strictest(*actions: Action) -> Action:
    return max(actions, key=STRENGTH.__getitem__)


def _expand(pattern: str) -> str:
    """Replace ``~`` or ``$HOME`` at the start of *pattern* with the home folder."""
    for mark in ("~", "$HOME"):
        rest = pattern.removeprefix(mark)
        if rest != pattern and (not rest or rest.startswith("/")):
            return f"{Path.home()}{rest}"
    return pattern


def matches(text: str, pattern: str) -> bool:
    """Return whether *pattern* covers the whole of *text*.

    ``*`` is any run of characters (newlines and ``/`` too), ``?`` is one; all else is
    literal. A pattern that ends in `` *`` covers the bare command too.
    """
    pattern = _expand(pattern)
    return _wild(text, pattern) or (pattern.endswith(" *") and _wild(text, pattern[:-2]))


def _wild(text: str, pattern: str) -> bool:
    """Match with two pointers; a mismatch goes back to the last star only, never deeper."""
    if "?" not in pattern:
        return _starred(text, pattern.split("*"))
    at = seen = 0
    star = resume = -1
    while at < len(text):
        here = pattern[seen] if seen < len(pattern) else ""
        if here == "*":
            star, resume = seen, at
            seen += 1
        elif here and here in ("?", text[at]):
            at += 1
            seen += 1
        elif star >= 0:
            resume += 1
            at, seen = resume, star + 1
        else:
            return False
    return not pattern[seen:].strip("*")


def _starred(text: str, parts: Sequence[str]) -> bool:
    """Return whether *text* consists of the *parts* with anything between them. Each part is taken
    at its first position, which leaves the most text for the others."""
    if len(parts) == 1:
        return text == parts[0]
    if not text.startswith(parts[0]):
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - at >= len(parts[-1]) and text.endswith(parts[-1])


def is_project_rule(rule: Rule) -> bool:
    return rule.source == PROJECT or rule.source.startswith(PROJECT + " ")


def _may_replace(rule: Rule, current: Rule | None, *, trusted: bool) -> bool:
    """Return whether *rule* can replace *current*, the rule that decided so far."""
    if current is None or STRENGTH[rule.action] >= STRENGTH[current.action]:
        return True
    if rule.cautious:
        return False
    if rule.source in {ALWAYS, SAVED}:
        return current.action != "deny"
    if is_project_rule(rule):
        own = is_project_rule(current)
        return (trusted and (own or current.action != "deny")) or (own and rule.action != "allow")
    return True


def deciding_rule(
    permission: str,
    text: str,
    rules: Sequence[Rule],
    *,
    trusted: bool = False,
    deny_wins: bool = False,
) -> Rule | None:
    """Return the rule that decides for *text*, by source and order; None if none matches.

    With *trusted*, rules of the project can loosen an ask. With *deny_wins*, any deny that matches
    decides, regardless of the order.
    """
    current: Rule | None = None
    user_deny: Rule | None = None
    for rule in rules:
        if not rule.matches(permission, text):
            continue
        if deny_wins and rule.action == "deny":
            return rule
        if is_project_rule(rule) and user_deny is not None and rule.action != "deny":
            current = user_deny
            continue
        if not _may_replace(rule, current, trusted=trusted):
            continue
        current = rule
        if not is_project_rule(rule):
            user_deny = rule if rule.action == "deny" else None
    return current


def applicable_rules(need: PermissionNeed, rules: Sequence[Rule]) -> Sequence[Rule]:
    """Return the *rules* that apply to *need*."""
    proven = need.floor == "allow" and not need.strict
    return [rule for rule in rules if not rule.cautious] if proven else rules


def evaluate(
    need: PermissionNeed,
    rules: Sequence[Rule],
    *,
    trusted: bool = False,
    deny_wins: bool = False,
) -> EvaluatedNeed:
    """Return the verdict on *need* with a reason for the user.

    An explicit rule decides. Without one the floor of the need does, tightened by the
    default rule (for bash the floor alone: the analysis knows what is read-only).
    """
    rules = applicable_rules(need, rules)

    def ruling(text: str) -> Rule | None:
        return deciding_rule(need.permission, text, rules, trusted=trusted, deny_wins=deny_wins)

    denies = [
        rule for rule in rules
        if rule.action == "deny" and matches(need.permission, rule.permission)
    ]  # fmt: skip
    offline = _network_denial(need, rules, trusted=trusted, deny_wins=deny_wins)
    if offline is not None:
        return EvaluatedNeed(need, "deny", _by(offline))
    for text in (need.pattern, *need.aliases) if denies else ():
        denied = ruling(text) if any(matches(text, rule.pattern) for rule in denies) else None
        if denied is not None and denied.action == "deny":
            return EvaluatedNeed(need, "deny", _by(denied))
    if need.runs and (denied := _within(need.runs, denies, ruling)) is not None:
        return EvaluatedNeed(need, "deny", _by(denied))
    rule = ruling(need.pattern)
    if rule is None or rule.source == DEFAULT:
        action = need.floor
        if rule is not None and need.permission != "bash":
            action = strictest(action, rule.action)
        if need.strict and action == "allow":
            action = "ask"
        return EvaluatedNeed(need, action, need.reason or _unruled(action))
    if rule.action == "allow" and need.strict and not _covers(need, rules, deny_wins):
        return EvaluatedNeed(need, "ask", need.reason or _unruled("ask"))
    if rule.action == "allow" and not rule.pattern.strip("*"):
        # A rule that allows everything was not written with this program in mind.
        for text in need.mentions:
            if (denied := _within(f" {text}", denies, ruling)) is not None:
                return EvaluatedNeed(need, "ask", f"it may run what is {_by(denied)}")
    if rule.action == "ask" and need.reason:
        return EvaluatedNeed(need, "ask", need.reason)
    return EvaluatedNeed(need, rule.action, _by(rule))


def _network_denial(need: PermissionNeed, rules: Sequence[Rule], **how: bool) -> Rule | None:
    """Return the rule that denies the network to a command that is known to use it."""
    if not need.network:
        return None
    named = [rule for rule in rules if rule.permission == NETWORK]
    rule = deciding_rule(NETWORK, need.pattern, named, **how)
    return rule if rule is not None and rule.action == "deny" else None


def accept_edit(evaluated: EvaluatedNeed, rules: Sequence[Rule], **how: bool) -> EvaluatedNeed:
    """Return the verdict in the mode that accepts edits: an edit that asks is allowed, unless a
    rule names its file or it is guarded. *how* is as for ``deciding_rule``."""
    need = evaluated.need
    if need.permission != "edit" or evaluated.action != "ask" or need.strict:
        return evaluated
    rule = deciding_rule(need.permission, need.pattern, rules, **how)
    if rule is not None and rule.pattern.strip("*"):
        return evaluated
    return EvaluatedNeed(need, "allow", EDITS_ACCEPTED)


def allow_by_hook(evaluated: EvaluatedNeed, rules: Sequence[Rule], **how: bool) -> EvaluatedNeed:
    """Return the verdict for a call that a hook of the user's allows: what asks only by default is
    allowed; a rule that asks, and what no rule can cover, still asks. *how* is as for
    ``deciding_rule``."""
    need = evaluated.need
    if evaluated.action != "ask" or need.strict or need.permission in ALLOWED_BY_NAME:
        return evaluated
    rule = deciding_rule(need.permission, need.pattern, rules, **how)
    if rule is not None and rule.source != DEFAULT:
        return evaluated
    return EvaluatedNeed(need, "allow", HOOK_ALLOWS)


def _within(text: str, denies: Sequence[Rule], ruling: Callable[[str], Rule | None]) -> Rule | None:
    """Return the rule that denies a tail of *text* starting at a word or a path component."""
    for rule in denies:
        pattern = _expand(rule.pattern)
        if not pattern.strip("*"):
            continue  # denies everything, and so the text itself
        if not any(matches(text, f"*{mark}{pattern}") for mark in (" ", "/")):
            continue
        for start in re.finditer("[ /]", text):
            found = ruling(text[start.end() :])
            if found is not None and found.action == "deny":
                return found
    return None


def _covers(need: PermissionNeed, rules: Sequence[Rule], deny_wins: bool) -> bool:
    """Return whether the rules allow everything of the permission and deny nothing.

    A project can't allow everything, trusted or not, so its rules don't count.
    """
    if need.strict == "guarded":
        return False
    open_to_all = False
    for rule in rules:
        if rule.source == DEFAULT or not matches(need.permission, rule.permission):
            continue
        if rule.action != "allow":
            open_to_all = False
            if deny_wins and rule.action == "deny":
                return False
        elif rule.source != ALWAYS and not is_project_rule(rule):
            open_to_all = open_to_all or not rule.pattern.strip("*")
    return open_to_all


def _by(rule: Rule) -> str:
    verb = {"allow": "allowed", "ask": "asked", "deny": "denied"}[rule.action]
    return f"{verb} by {rule.permission} `{rule.pattern}` ({rule.source})"


def _unruled(action: Action) -> str:
    return "allowed by default" if action == "allow" else "no rule allows it"
