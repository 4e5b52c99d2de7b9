"""What a line that is not understood may run: only deny rules look at it (spec 3, B3).

Nothing here has a limit of its own that padding could fill: whatever the line holds is looked
at once, however long it is.
"""

import re
from collections.abc import Iterable, Sequence

from agent.permission.shell_parser import descendants, parse, text_of

PARSED = 200_000
"""Characters that are parsed; longer text is only split at separators."""

_WHOLE_TAILS = 12
_CUT = 300
"""The first tails of a command are given whole, the others up to so many characters."""

_SEPARATOR = re.compile(r"[\n;&|(){}`]+")
_KEYWORDS = re.compile(r"^(?:\s*(?:!|then|do|else|elif|if|while|until|time|coproc)(?=\s))+\s*")


def tails(words: Sequence[str]) -> list[str]:
    """The command *words* without its first word, its first two, and so on."""
    found = [" ".join(words[at:]) for at in range(1, min(len(words), _WHOLE_TAILS))]
    rest = range(_WHOLE_TAILS, len(words))
    return found + [" ".join(words[at : at + _CUT // 2])[:_CUT] for at in rest]


def guessed(command: str) -> list[str]:
    """Texts in *command* that may be commands, each once."""
    text = _one_kind_of_blank(command)
    found: dict[str, None] = {}
    if len(text) <= PARSED:
        root = parse(text)
        _collect(found, (text_of(node) for node in descendants(root, "command")))
        if not root.has_error:
            return list(found)
    found.update(dict.fromkeys(split_up(text)))
    return list(found)


def split_up(text: str) -> list[str]:
    """As ``guessed``, at less cost and with more that is no command: no grammar is asked."""
    found: dict[str, None] = {}
    parts = _SEPARATOR.split(_one_kind_of_blank(text))
    _collect(found, (_KEYWORDS.sub("", part) for part in parts))
    return list(found)


def _one_kind_of_blank(text: str) -> str:
    spaced = re.sub(r"[^\S\n ]|[\x00-\x08\x0e-\x1f\x7f-\x9f]", "\n", text)
    return spaced.encode(errors="replace").decode()


def _collect(found: dict[str, None], commands: Iterable[str]) -> None:
    for command in commands:
        words = re.sub(r"['\"\\]", "", command).split()
        if not words:
            continue
        whole = " ".join(words)
        if whole in found:
            continue
        found[whole] = None
        found[" ".join([words[0].rsplit("/", 1)[-1], *words[1:]])] = None
        found.update(dict.fromkeys(tails(words)))
