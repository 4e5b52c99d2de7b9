"""Permission rules and the decisions that they make.

A rule is ``(permission, pattern, action)`` with a source. Rules are given in the order
defaults → global config → project config → agent → session → "always"; the last one that
matches decides, within what its source can say:

- a default rule only sets the starting point, which a need's default action can tighten;
- a rule of the project can always tighten; it loosens an ``ask`` only if the project is trusted,
  and never lifts a deny of the user's own;
- a pattern that the user answered "always" to never lifts a deny.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from agent.permission.patterns import (
    expand_home,
    is_path,
    matches,
    matches_command,
    matches_path,
    unquoted,
)
from agent.records.frozen import frozen
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
"""Source of rules from a project's own files: this word, or this word, a space and the file."""

_ANSWERS = frozenset({ALWAYS, SAVED})

STRENGTH: dict[Action, int] = {"allow": 0, "ask": 1, "deny": 2}
"""Rank of the actions: the stricter, the higher."""


NETWORK, UNSANDBOXED = "network", "unsandboxed"
"""Permissions of commands: the network, and running without the sandbox."""

_OF_COMMANDS = frozenset({"bash", NETWORK, UNSANDBOXED})
"""Permissions whose texts are commands."""

ALLOWED_BY_NAME = frozenset({"doom_loop", UNSANDBOXED})
"""Permissions that a rule allows only by name: allowing everything does not include them."""


@frozen
class Rule:
    """One rule: what it does with calls that match."""

    permission: str
    """Can hold wildcards, as the pattern can; ``!a,b`` is every permission but those."""

    pattern: str
    action: Action

    source: str
    """The origin of the rule, for the user."""

    cautious: bool = False
    """True if it does not apply to calls that are proven to change nothing, and only tightens."""

    saved: bool = False
    """True for an answer "always" that was saved to the user's settings before."""

    @property
    def answered(self) -> bool:
        """True for an answer "always": it covers only uses like the one that was asked about, and
        does not override deny rules."""
        return self.saved or self.source in _ANSWERS

    def matches(self, permission: str, text: str) -> bool:
        return self.concerns(permission) and matches(text, self.pattern)

    def covers(
        self, need: PermissionNeed, text: str | None = None, *, written: bool = False
    ) -> bool:
        """Return whether it applies to *need*, or to *text*, another spelling of it. With
        *written*, only as it is written: a deny or an ask is read more widely otherwise."""
        if not self.concerns(need.permission):
            return False
        tightens = self.action != "allow" and not written
        if need.root or is_path(need.permission):
            given = need.pattern if text is None else text
            return matches_path(given, self.pattern, need.root, tightens=tightens)
        if need.permission not in _OF_COMMANDS:
            return matches(need.pattern if text is None else text, self.pattern)
        if text is not None:
            return matches_command(text, "", self.pattern, tightens=tightens)
        return self._covers_command(need, tightens=tightens)

    def _covers_command(self, need: PermissionNeed, *, tightens: bool) -> bool:
        placed = f"cd {need.folder} && "
        there = bool(need.folder) and self.pattern.startswith(placed)
        pattern = self.pattern.removeprefix(placed) if there else self.pattern
        if self.answered:
            return (there or need.folder == "") and _covers_answered(need, pattern)
        texts = (need.pattern, *need.same)
        return any(matches_command(text, need.words, pattern, tightens=tightens) for text in texts)

    def concerns(self, permission: str) -> bool:
        """Return whether it is about *permission*."""
        if self.permission.startswith("!"):
            return not any(matches(permission, name) for name in self.permission[1:].split(","))
        by_name = permission in ALLOWED_BY_NAME and self.action == "allow"
        if by_name and self.permission != permission:
            return False
        return matches(permission, self.permission)


def _covers_answered(need: PermissionNeed, pattern: str) -> bool:
    """Return whether *pattern*, the answer "always" to one command, covers another: the same words,
    or with ``*`` more of them."""
    text, marked = unquoted(pattern) or (pattern, pattern)
    same = () if need.words else need.same
    if "*" not in pattern:
        alike = text == need.pattern and marked == (need.words or need.pattern)
        return alike or pattern in same
    named = set(need.named) <= set(pattern.split())
    return named and any(matches(one, marked) for one in (need.words or need.pattern, *same))


def _defaults(action: Action, *permissions: str) -> tuple[Rule, ...]:
    return tuple(Rule(name, "*", action, DEFAULT) for name in permissions)


DEFAULT_RULES: tuple[Rule, ...] = (
    *_defaults("ask", "*"),
    *_defaults("allow", *(name for name, facts in TOOL_FACTS.items() if facts.action == "allow")),
    *_defaults("ask", *(name for name, facts in TOOL_FACTS.items() if facts.action == "ask")),
    *_defaults("ask", "external_directory", "doom_loop"),
)
"""The built-in rules. For bash the need's default action decides: allow if proven read-only."""


def strictest(*actions: Action) -> Action:
    return max(actions, key=STRENGTH.__getitem__)


def is_project_rule(rule: Rule) -> bool:
    return rule.source == PROJECT or rule.source.startswith(PROJECT + " ")


def _may_replace(rule: Rule, current: Rule | None, *, trusted: bool) -> bool:
    """Return whether *rule* can replace *current*, the rule that decided so far."""
    if current is None or STRENGTH[rule.action] >= STRENGTH[current.action]:
        return True
    if rule.cautious:
        return False
    if rule.answered:
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
    matching = [rule for rule in rules if rule.matches(permission, text)]
    return _deciding(matching, lambda _: True, trusted=trusted, deny_wins=deny_wins)


def rule_for(
    need: PermissionNeed,
    rules: Sequence[Rule],
    *,
    text: str | None = None,
    trusted: bool = False,
    deny_wins: bool = False,
) -> Rule | None:
    """Return the rule that decides for *need*, or for *text*, another spelling of it; the rest is
    as for ``deciding_rule``."""

    def as_written(rule: Rule) -> bool:
        return rule.covers(need, text, written=True)

    covering = [rule for rule in rules if rule.covers(need, text)]
    return _deciding(covering, as_written, trusted=trusted, deny_wins=deny_wins)


def _deciding(
    matching: Iterable[Rule],
    as_written: Callable[[Rule], bool],
    *,
    trusted: bool,
    deny_wins: bool,
) -> Rule | None:
    """Return the one of the *matching* rules that decides. One that asks and matches only in a
    wider reading, not *as_written*, does not override deny rules."""
    current: Rule | None = None
    user_deny: Rule | None = None
    for rule in matching:
        lifts = current is not None and current.action == "deny" and rule.action == "ask"
        if lifts and not as_written(rule):
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
    return [rule for rule in rules if not rule.cautious] if need.proven else rules


def evaluate(
    need: PermissionNeed,
    rules: Sequence[Rule],
    *,
    trusted: bool = False,
    deny_wins: bool = False,
) -> EvaluatedNeed:
    """Return the verdict on *need* with a reason for the user.

    An explicit rule decides. Without one the default action of the need does, tightened
    by the default rule (not for bash: the analysis knows what is read-only).
    """
    rules = applicable_rules(need, rules)

    def ruling(text: str | None = None) -> Rule | None:
        return rule_for(need, rules, text=text, trusted=trusted, deny_wins=deny_wins)

    denies = _denies(need, rules)
    denied = _network_denial(need, rules, trusted=trusted, deny_wins=deny_wins)
    denied = denied or _denial(need, denies, ruling)
    if denied is not None:
        return EvaluatedNeed(need, "deny", _by(denied))
    rule = ruling()
    if rule is None or rule.source == DEFAULT:
        action = need.default_action
        if rule is not None and need.permission != "bash":
            action = strictest(action, rule.action)
        if need.strict and action == "allow":
            action = "ask"
        return EvaluatedNeed(need, action, need.reason or _unruled(need, action))
    if rule.action == "allow" and need.strict and not _covers(need, rules, deny_wins):
        return EvaluatedNeed(need, "ask", need.reason or _unruled(need, "ask"))
    # A rule that allows everything was not written with this program in mind.
    everything = rule.action == "allow" and not rule.pattern.strip("*")
    if everything and (reason := _mentioned_denial(need, denies, ruling)):
        return EvaluatedNeed(need, "ask", reason)
    if rule.action == "ask" and need.incidental and not rule.pattern.strip("*"):
        return EvaluatedNeed(need, need.default_action, _unruled(need, need.default_action))
    if rule.action == "ask" and need.reason:
        return EvaluatedNeed(need, "ask", need.reason)
    return EvaluatedNeed(need, rule.action, _by(rule))


def mentioned_denial(need: PermissionNeed, rules: Sequence[Rule], **how: bool) -> str:
    """Return the reason for asking about a command that may run what a rule denies, "" without
    one. *how* is as for ``deciding_rule``."""

    def ruling(text: str | None) -> Rule | None:
        return rule_for(need, rules, text=text, **how)

    return _mentioned_denial(need, _denies(need, rules), ruling)


def _mentioned_denial(
    need: PermissionNeed, denies: Sequence[Rule], ruling: Callable[[str], Rule | None]
) -> str:
    for text in need.mentions:
        if (denied := _within(f" {text}", denies, ruling)) is not None:
            return f"can run what is {_by(denied)}"
    return ""


def _denies(need: PermissionNeed, rules: Sequence[Rule]) -> list[Rule]:
    return [
        rule for rule in rules
        if rule.action == "deny" and matches(need.permission, rule.permission)
    ]  # fmt: skip


def _denial(
    need: PermissionNeed, denies: Sequence[Rule], ruling: Callable[[str | None], Rule | None]
) -> Rule | None:
    """Return the rule among *denies* that decides for a spelling of *need*, None if there is
    none."""
    for text in (None, *need.aliases) if denies else ():
        found = ruling(text) if any(rule.covers(need, text) for rule in denies) else None
        if found is not None and found.action == "deny":
            return found
    return _within(need.runs, denies, ruling) if need.runs else None


def _network_denial(need: PermissionNeed, rules: Sequence[Rule], **how: bool) -> Rule | None:
    """Return the rule that denies the network to a command that is known to use it."""
    if not need.network:
        return None
    named = [rule for rule in rules if rule.permission == NETWORK]
    rule = rule_for(replace(need, permission=NETWORK), named, text=None, **how)
    return rule if rule is not None and rule.action == "deny" else None


def accept_edit(evaluated: EvaluatedNeed, rules: Sequence[Rule], **how: bool) -> EvaluatedNeed:
    """Return the verdict in the mode that accepts edits: an edit that asks is allowed, unless a
    rule names its file or it is guarded. *how* is as for ``deciding_rule``."""
    need = evaluated.need
    if need.permission != "edit" or evaluated.action != "ask" or need.strict:
        return evaluated
    rule = rule_for(need, rules, text=None, **how)
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
    rule = rule_for(need, rules, text=None, **how)
    if rule is not None and rule.source != DEFAULT:
        return evaluated
    return EvaluatedNeed(need, "allow", HOOK_ALLOWS)


def _within(text: str, denies: Sequence[Rule], ruling: Callable[[str], Rule | None]) -> Rule | None:
    """Return the rule that denies a tail of *text* starting at a word or a path component."""
    for rule in denies:
        pattern = expand_home(rule.pattern)
        if not pattern.strip("*"):
            continue  # denies everything, and so the text itself
        folded = text.lower(), pattern.lower()
        if not any(matches(folded[0], f"*{mark}{folded[1]}") for mark in (" ", "/")):
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
        elif not rule.answered and not is_project_rule(rule):
            open_to_all = open_to_all or not rule.pattern.strip("*")
    return open_to_all


def _by(rule: Rule) -> str:
    verb = {"allow": "allowed", "ask": "asked", "deny": "denied"}[rule.action]
    return f"{verb} by {rule.permission} `{rule.pattern}` ({rule.source})"


_POSSIBLE: Mapping[str, str] = MappingProxyType(
    {
        "bash": "could change files or use the network",
        "edit": "writes this file",
        "read": "reads this file",
        "webfetch": "uses the network",
    }
)
"""The effect of calls that have no reason of their own, by permission."""


def _unruled(need: PermissionNeed, action: Action) -> str:
    """Return the reason for *action* where no rule decides."""
    if action != "allow":
        return need.possible or _POSSIBLE.get(need.permission, "could have any effect")
    return "only reads" if need.permission in {"bash", "read"} else "allowed by default"
