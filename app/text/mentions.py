"""What is named with @ while it is typed (spec 8, U8)."""

import re

TYPED_MENTION = re.compile(r'(?:^|(?<=\s))@"?([^\s"@]*)$')
"""A mention that is being typed, before the cursor."""


def mention_of(path: str) -> str:
    """*path* as it is put into a prompt."""
    return f'@"{path}"' if re.search(r'[\s"]', path) else f"@{path}"
