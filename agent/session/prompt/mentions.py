"""Mentions in a prompt: files, folders, resources and sub-agents that it names with ``@``."""

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TypeVar

from agent.session.api import Mention

Found = TypeVar("Found")

MENTION = re.compile(r'(?<![\w@/.`])@(?:"([^"\n]+)"|([^\s"@][^\s"]*))')
LINES = re.compile(r"#L?(\d+)(?:-L?(\d+))?$")
TRAILING_PUNCTUATION = ".,;:!?)]}'`"
"""Not part of a path at its end, unless such a file exists."""


def mentions_in(text: str, directory: Path) -> tuple[Mention, ...]:
    """Return the existing files and folders that *text* names, each once."""
    found: dict[str, Mention] = {}
    for mention in _named(text, lambda word: _parse_mention(word, directory)):
        found.setdefault(f"{mention.path}#{mention.first}", mention)
    return tuple(found.values())


def _named(text: str, find: Callable[[str], Found | None]) -> Iterator[Found]:
    """Yield the things that *find* returns for the words of *text* after an ``@``.

    A word can contain further ones (``packages/@acme/ui``, ``icon@2x.png``), so all of it is tried
    first. Where nothing is named so, the next ``@`` can begin another mention.
    """
    at = 0
    while match := MENTION.search(text, at):
        at = match.end()
        word = match[1] or match[2]
        while (found := find(word)) is None and not match[1] and "@" in word:
            word = word[: word.rindex("@")]
            at = match.start(2) + len(word)
            if word.endswith("/"):  # a folder of this name is not meant
                break
        if found is not None:
            yield found


def agents_in(text: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the agents among *names* that *text* names, each once."""

    def find(word: str) -> str | None:
        while word and word not in names and word[-1] in TRAILING_PUNCTUATION:
            word = word[:-1]
        return word if word in names else None

    return tuple(dict.fromkeys(_named(text, find)))


def resources_in(text: str, resources: Collection[tuple[str, str]]) -> tuple[Mention, ...]:
    """Return the *resources* (server and address) that *text* names as ``@server:address``."""
    known = {f"{server}:{uri}": (server, uri) for server, uri in resources}
    named = (known[word] for word in agents_in(text, known))
    return tuple(Mention(uri, server=server) for server, uri in named)


def _parse_mention(word: str, directory: Path) -> Mention | None:
    while word:
        if _exists(directory, word):
            return Mention(word)
        lines = LINES.search(word)
        path = word[: lines.start()] if lines else word
        if lines and path and _exists(directory, path):
            first = int(lines[1])
            last = int(lines[2]) if lines[2] else first
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
