"""Mentions in a prompt: files, folders, resources and sub-agents that it names with ``@``."""

import re
from collections.abc import Collection
from pathlib import Path

from agent.session.api import Mention

MENTION = re.compile(r'(?<![\w@/.`])@(?:"([^"\n]+)"|([^\s"@]+))')
LINES = re.compile(r"#L?(\d+)(?:-L?(\d+))?$")
TRAILING_PUNCTUATION = ".,;:!?)]}'`"
"""Not part of a path at its end, unless such a file exists."""


def mentions_in(text: str, directory: Path) -> tuple[Mention, ...]:
    """Return the existing files and folders that *text* names, each once."""
    found: dict[str, Mention] = {}
    for match in MENTION.finditer(text):
        mention = _parse_mention(match[1] or match[2], directory)
        if mention is not None:
            found.setdefault(f"{mention.path}#{mention.first}", mention)
    return tuple(found.values())


def agents_in(text: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the agents among *names* that *text* names, each once."""
    found: dict[str, None] = {}
    for match in MENTION.finditer(text):
        word = match[1] or match[2]
        while word and word not in names and word[-1] in TRAILING_PUNCTUATION:
            word = word[:-1]
        if word in names:
            found[word] = None
    return tuple(found)


def resources_in(text: str, resources: Collection[tuple[str, str]]) -> tuple[Mention, ...]:
    """Return the *resources* (server and address) that *text* names as ``@server:address``."""
    known = {f"{server}:{uri}": (server, uri) for server, uri in resources}
    named = (known[word] for word in agents_in(text, known))
    return tuple(Mention(uri, server=server) for server, uri in named)


def _parse_mention(word: str, directory: Path) -> Mention | None:
    while word:
        lines = LINES.search(word)
        path = word[: lines.start()] if lines else word
        if path and _exists(directory, path):
            first = int(lines[1]) if lines else None
            last = int(lines[2]) if lines and lines[2] else first
            return Mention(path, first, last)
        if word[-1] not in TRAILING_PUNCTUATION:
            return None
        word = word[:-1]
    return None


def _exists(directory: Path, path: str) -> bool:
    try:
        return (directory / Path(path).expanduser()).exists()
    except (OSError, ValueError, RuntimeError):
        return False
