"""Mentions of files and agents (``@name``) while they are typed."""

import re
from typing import NamedTuple

_TYPED = re.compile(r'(?:^|(?<=\s))@(?:"([^"\n]*)(?:(?<=/)"([^\s"]*))?|([^\s"]*))$')
"""A mention directly before the cursor. Behind the closed quotes of a folder its content can
follow."""


class TypedMention(NamedTuple):
    """A mention that is being typed."""

    name: str
    length: int
    """The characters before the cursor that belong to it."""


def typed_mention(before: str) -> TypedMention | None:
    """Return the mention at the end of *before*, the text before the cursor."""
    found = _TYPED.search(before)
    return found and TypedMention("".join(part or "" for part in found.groups()), len(found[0]))


def mention_of(path: str) -> str:
    """Return the mention of *path* for a prompt, quoted if the path has a space, quote or ``@``."""
    return f'@"{path}"' if re.search(r'[\s"@]', path) else f"@{path}"
