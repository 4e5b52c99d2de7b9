"""The values that variables can have at one place of a line.

It is carried along the walk: a subshell works on a copy, and where branches meet, a variable has
the values of all of them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agent.permission.shell.paths import Dirs
from agent.permission.syntax import words
from agent.permission.syntax.source import word_set
from agent.permission.syntax.words import MAX_VALUES, Word

Values = tuple[str, ...] | None
"""Every text that a variable can hold, None if that is not known."""

NUMBER: Values = (words.NUMBER,)
"""The values of a variable that holds some whole number."""

_INITIAL = "\uf8fe"
"""The value from the environment in which the line starts."""
_WHOLE = re.compile(rf"-?\d+|{words.NUMBER}")
_NUMERIC = word_set(
    "BASHPID COLUMNS EPOCHSECONDS EUID HISTCMD LINENO LINES OPTIND PPID RANDOM SECONDS SHLVL "
    "SRANDOM UID"
)
"""Variables that bash sets to a number. Its others hold text: names, commands, what was read."""
_OWN = re.compile(r"[a-z][a-z0-9_]*|_[a-z0-9_]+|[A-Z]")
"""Names that bash itself does not set."""


class Snapshot(NamedTuple):
    """The variables at one place, to return to."""

    values: dict[str, Values]
    unknown: bool

    at: int
    """The number of assignments before."""


@dataclass
class Environment:
    """The variables that the line may have set so far."""

    _values: dict[str, Values] = field(default_factory=dict[str, Values])
    _unknown: bool = False
    """True if any variable may have been set."""

    assigned: list[str] = field(default_factory=list[str])
    """Every name that was set, in order; an empty one for another change."""

    read: set[str] = field(default_factory=set[str])
    """The variables that can hold text that was read, such as a file's."""

    escapes: list[tuple[Snapshot, Dirs]] = field(default_factory=list[tuple[Snapshot, Dirs]])
    """The variables and the folders at each ``break`` and ``continue`` so far."""

    def values(self, name: str) -> Values:
        """Return every value of *name*, None if that is not known."""
        found = None if self._unknown else self._values.get(name)
        return None if found is None or _INITIAL in found else found

    def may_be_set(self, name: str) -> bool:
        """Return whether the line may have set *name*."""
        return self._unknown or name in self._values

    def is_number(self, name: str) -> bool:
        """Return whether *name* is a number, or a variable of the user's that the line does not
        set: its value cannot come from a file of the project."""
        if self._unknown:
            return False
        found = self._values.get(name, (_INITIAL,))
        if found is None:
            return False
        own = name in _NUMERIC or _OWN.fullmatch(name) is not None
        return all(_WHOLE.fullmatch(each) or (own and each == _INITIAL) for each in found)

    def assign(self, name: str, values: Values, *, read: bool = False) -> None:
        many = values is not None and len(values) > MAX_VALUES
        self._values[name] = None if many else values
        self.assigned.append(name)
        if read:
            self.read.add(name)

    def calculate(self, name: str) -> None:
        """Note that *name* may be set to a number."""
        known = self._values.get(name, (_INITIAL,))
        self.assign(name, _union(known, NUMBER))

    def escape(self, dirs: Dirs) -> None:
        """Note a ``break`` or ``continue`` in one of *dirs*."""
        self.escapes.append((self.snapshot(), dirs))
        self.assigned.append("")

    def forget(self) -> None:
        """Note that any variable may have been set."""
        self._unknown = True
        self.assigned.append("")

    def snapshot(self) -> Snapshot:
        return Snapshot(dict(self._values), self._unknown, len(self.assigned))

    def restore(self, state: Snapshot) -> None:
        if len(self.assigned) == state.at:
            return  # nothing was set in between
        self._values, self._unknown = dict(state.values), state.unknown

    def start_process(self) -> None:
        """Begin the environment of another shell: what the line set is there if it is exported."""
        self._values = dict.fromkeys(self._values)
        self.assigned += self._values

    def merge(self, states: Iterable[Snapshot], start: Snapshot) -> bool:
        """Add the values of *states*: each may be what was reached. All come from *start*.

        Return whether anything changed.
        """
        changed = False
        names = set(self.assigned[start.at :])
        for state in states:
            changed = changed or state.unknown > self._unknown
            self._unknown = self._unknown or state.unknown
            for name in names:
                known = self._values.get(name, (_INITIAL,))
                both = _union(known, state.values.get(name, (_INITIAL,)))
                if both is None or known is None or set(both) != set(known):
                    changed = changed or both != known
                    self._values[name] = both
        return changed


def _union(first: Values, second: Values) -> Values:
    if first is None or second is None:
        return None
    both = tuple(dict.fromkeys((*first, *second)))
    return both if len(both) <= MAX_VALUES else None


_SETTERS = word_set(
    "read mapfile readarray getopts printf let declare typeset local export readonly unset wait "
    "eval source ."
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def set_variables(base: str, arguments: Sequence[Word]) -> list[str] | None:
    """Return the variables that the command may set in the shell that runs it, too many rather than
    too few; None if it may set any."""
    if base not in _SETTERS or (base == "printf" and not _may_set(arguments)):
        return []
    if base in ("eval", "source", "."):
        return [] if base == "eval" and all(word.literal for word in arguments) else None
    if not all(word.literal for word in arguments):
        return None
    texts = [word.text for word in arguments]
    joined = [text[at:] for text in texts if text[:1] == "-" for at in range(2, len(text))]
    return ["REPLY", "MAPFILE", "OPTARG", *_NAME.findall(" ".join([*texts, *joined[:100]]))]


def _may_set(arguments: Sequence[Word]) -> bool:
    return bool(arguments) and (not arguments[0].literal or arguments[0].text.startswith("-"))
