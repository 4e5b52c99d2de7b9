"""Regular expressions that are compiled when they are first used.

Compiling one takes up to a millisecond, and a short run uses few: those for the errors of providers
and for the lines of shells, for example, wait until there are any.
"""

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn")


class _LazyPattern:
    """Stands for a pattern. Its methods become those of the compiled one."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self.flags)
        self.__dict__.update({each: getattr(compiled, each) for each in _METHODS})
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return *pattern*, to be compiled when it is first used."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
