"""Mentions of files and agents (``@name``) while they are typed."""

import re

TYPED_MENTION = re.compile(r'(?:^|(?<=\s))@"?([^\s"@]*)$')
"""A mention that is being typed, directly before the cursor."""


def mention_of(path: str) -> str:
    """Return the mention of *path* for a prompt, quoted if the path contains spaces or quotes."""
    return f'@"{path}"' if re.search(r'[\s"]', path) else f"@{path}"
