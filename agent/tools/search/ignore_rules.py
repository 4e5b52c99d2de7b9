"""The lines of one ignore file, as git and ripgrep read them for a single entry.

Translating a line is pathspec's work. Its own matching also finds what lies below a folder
that a line names, which is wrong for a walk: there each folder was judged before, and
``!*/`` must bring back folders, not the files in them.
"""

import re
import warnings
from dataclasses import dataclass
from typing import cast

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

# A set such as [[]x] in a stranger's file is no news, and a warning would paint over the screen.
warnings.filterwarnings("ignore", category=FutureWarning, module=r"pathspec\b")

_OWN = "ps_d"
"""The group in which pathspec's expressions hold a folder's own slash."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line. *ignores* is false for one that begins with ``!``."""

    regex: re.Pattern[str]
    ignores: bool

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether the line names this very entry (*path* relative to the file's folder)."""
        match self.regex.pattern:
            case ".":  # as pathspec writes a single *
                return True
            case "(?P<ps_d>/)":  # and */
                return is_folder
            case _:
                pass
        text = f"{path}/" if is_folder else path
        found = self.regex.search(text)
        if found is None:
            return False
        if _OWN in self.regex.groupindex:
            return found.end() == len(text)
        return found.end() < len(text)  # "docs/**" means what is inside


class Rules:
    """All lines of one file; the last that matches decides."""

    def __init__(self, text: str) -> None:
        rules: list[Rule] = []
        for line in text.removeprefix("\ufeff").split("\n"):
            rule = _rule(line.removesuffix("\r"))
            if rule is not None:
                rules.append(rule)
        self._rules = tuple(reversed(rules))

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """True: ignored, False: brought back by a ``!``, None: no line names it."""
        for rule in self._rules:
            if rule.matches(path, is_folder=is_folder):
                return rule.ignores
        return None


def _rule(line: str) -> Rule | None:
    """The rule in *line*, None for a remark, nothing, or what git can't read either."""
    try:
        pattern = GitIgnoreSpecPattern(line)
    except (ValueError, re.error):
        return None
    regex = cast("re.Pattern[str] | None", pattern.regex)
    if pattern.include is None or regex is None:
        return None
    return Rule(regex, pattern.include)
