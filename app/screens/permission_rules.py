"""The list of permission rules in force and their sources."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from agent.permission.rules import ALWAYS, DEFAULT, PROJECT, SAVED, Rule, is_project_rule
from agent.records.requests import Action
from app.screens.base.picker import Picker, Row

SESSION = "Always, in this session and its sub-agents"
BUILT_IN = "Built in"
TONES: Mapping[Action, str] = {"allow": "$tone-ok", "ask": "$tone-warn", "deny": "$tone-err"}


def rule_rows(rules: Sequence[Rule], *, trusted: bool) -> list[Row]:
    """Return the rows for *rules*, which are given in order of precedence.

    The last rule decides first and is listed first. A row's key is the rule's index in *rules*.
    """
    width = max((len(rule.permission) for rule in rules), default=0)
    return [
        Row(
            key=str(index),
            title=f"{rule.action:<5}  {rule.permission:<{width}}  {rule.pattern}",
            note=_rule_note(rule, trusted=trusted),
            group=_rule_group(rule),
            tone=TONES[rule.action],
        )
        for index, rule in reversed(list(enumerate(rules)))
    ]


def _rule_group(rule: Rule) -> str:
    match rule.source:
        case source if source == ALWAYS:
            return SESSION
        case source if source == SAVED:
            return "Saved in your settings for every folder"
        case source if source == DEFAULT:
            return BUILT_IN
        case source if source.startswith("agent "):
            return f"From the {source}"
        case source if is_project_rule(rule):
            return f"From the project: {source.removeprefix(PROJECT).strip() or 'its settings'}"
        case source:
            return f"From {source}"


def _rule_note(rule: Rule, *, trusted: bool) -> str:
    if rule.cautious or (rule.source == DEFAULT and rule.permission == "bash"):
        return "but commands that only read inside the project run"
    if rule.source == DEFAULT and rule.permission == "read":
        return "but asks for files that may contain secrets"
    if rule.saved and rule.permission == "bash":
        return "with the limits of “always”"
    if is_project_rule(rule) and rule.action != "deny":
        return "does not override deny rules" if trusted else "can only restrict"
    return ""


class PermissionsScreen(Picker):
    """Lists the rules. *revoke* and *save* are called with the key of a row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "revoke", "Revoke", priority=True),
        Binding("ctrl+s", "save", "Save", priority=True),
    ]

    def __init__(
        self,
        title: str,
        rows: Sequence[Row],
        *,
        revoke: Callable[[str], object],
        save: Callable[[str], object],
    ) -> None:
        super().__init__(
            title,
            rows,
            hints=(("ctrl+d", "revoke"), ("ctrl+s", "save")),
            enter="close",
            empty="No matching rules",
        )
        self._revoke = revoke
        self._save = save

    def action_revoke(self) -> None:
        row = self.highlighted_row()
        if row is not None:
            self._revoke(row.key)

    def action_save(self) -> None:
        row = self.highlighted_row()
        if row is not None:
            self._save(row.key)
