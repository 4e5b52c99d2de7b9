"""Marks of the rules that an answer "always" put into the user's settings.

In the settings such a rule looks like one that the user wrote, which covers more. The marks are in
a file of their own beside the settings, since earlier versions read those.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from agent.config.permission_rules import ConfigRule
from agent.config.private_file import PrivateFile
from agent.records.json import JsonObject

FILE = "saved-rules.json"


def _file(folder: Path) -> PrivateFile:
    return PrivateFile(folder / FILE, "The saved rule")


def _marks(whole: JsonObject) -> dict[str, list[str]]:
    """Return the marked patterns by permission, without those that cannot be read."""
    found = whole.get("rules")
    return {
        permission: [pattern for pattern in patterns if isinstance(pattern, str)]
        for permission, patterns in (found.items() if isinstance(found, dict) else ())
        if isinstance(patterns, list)
    }


def add_mark(folder: Path, permission: str, pattern: str) -> None:
    """Mark a rule in the settings in *folder*. Raises ``StoreUnavailable``."""
    with _file(folder).edit() as whole:
        marks = _marks(whole)
        marks[permission] = list(dict.fromkeys((*marks.get(permission, ()), pattern)))
        whole["rules"] = {name: [*patterns] for name, patterns in marks.items()}


def marked_rules(folder: Path, rules: Iterable[ConfigRule]) -> tuple[ConfigRule, ...]:
    """Return *rules* of the user's settings in *folder*, the saved ones among them marked."""
    marks = _marks(_file(folder).read())
    return tuple(
        replace(rule, saved=True)
        if rule.action == "allow" and rule.pattern in marks.get(rule.permission, ())
        else rule
        for rule in rules
    )
