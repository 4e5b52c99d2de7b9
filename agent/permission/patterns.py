"""The patterns of rules: what they match of a text, a path and a command.

``*`` is any run of characters, ``?`` one. In a path, ``**/`` is any number of folders, and in a
command quotes hold a word together. Where a pattern can be read in several ways, a rule that
denies or asks applies in each of them, and one that allows only as it is written.
"""

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

MAX_FOLDER_WILDCARDS = 5
"""Uses of ``**/`` in one pattern that are read both with folders and without."""

_FOLDERS = re.compile(r"(?<![^/])(?:\*\*/)+")
_PATHS = frozenset({"read", "edit", "list", "external_directory"})
"""Permissions whose texts are paths."""

_WILDCARD = re.compile(r"[*?]")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_NEEDS_QUOTES = re.compile(r"[\s'\"]")
_IN_WORD = str.maketrans({" ": "\u00a0", "\t": "\u00a0", "\n": "\u00a0"})


def is_path(permission: str) -> bool:
    """Return whether the texts of *permission* are paths."""
    return permission in _PATHS


def expand_home(pattern: str) -> str:
    """Replace ``~`` or ``$HOME`` at the start of *pattern* with the home folder."""
    for mark in ("~", "$HOME", "${HOME}"):
        rest = pattern.removeprefix(mark)
        if rest != pattern and (not rest or rest.startswith("/")):
            return f"{Path.home()}{rest}"
    return pattern


def matches(text: str, pattern: str) -> bool:
    """Return whether *pattern* covers the whole of *text*.

    ``*`` is any run of characters (newlines and ``/`` too), ``?`` is one; all else is
    literal. A pattern that ends in `` *`` covers the bare command too.
    """
    pattern = expand_home(pattern)
    return _wild(text, pattern) or (pattern.endswith(" *") and _wild(text, pattern[:-2]))


def _wild(text: str, pattern: str) -> bool:
    """Match with two pointers; a mismatch goes back to the last star only, never deeper."""
    if "?" not in pattern:
        return _starred(text, pattern.split("*"))
    at = seen = 0
    star = resume = -1
    while at < len(text):
        here = pattern[seen] if seen < len(pattern) else ""
        if here == "*":
            star, resume = seen, at
            seen += 1
        elif here and here in ("?", text[at]):
            at += 1
            seen += 1
        elif star >= 0:
            resume += 1
            at, seen = resume, star + 1
        else:
            return False
    return not pattern[seen:].strip("*")


def _starred(text: str, parts: Sequence[str]) -> bool:
    """Return whether *text* consists of the *parts* with anything between them. Each part is taken
    at its first position, which leaves the most text for the others."""
    if len(parts) == 1:
        return text == parts[0]
    if not text.startswith(parts[0]):
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - at >= len(parts[-1]) and text.endswith(parts[-1])


def matches_command(text: str, words: str, pattern: str, *, tightens: bool) -> bool:
    """Return whether *pattern* covers the command *text*.

    Quotes in a pattern hold a word together: *words* is the command with no-break spaces inside
    words. A rule that *tightens* looks at the words without their limits too, and regards no case
    in the command's name, since some file systems don't.
    """
    if matches(text, pattern):
        return True
    if tightens and (text != _lower_name(text) or pattern != _lower_name(pattern)):
        lower = _lower_name(text), _lower_name(words), _lower_name(pattern)
        if matches_command(*lower, tightens=True):
            return True
    readings = unquoted(pattern)
    if readings is None:
        return False
    joined, marked = readings
    return matches(words or text, marked) or (tightens and matches(text, joined))


def _lower_name(command: str) -> str:
    """Return *command* with its first word in lower case."""
    name, space, rest = command.partition(" ")
    return f"{name.lower()}{space}{rest}"


def quoted(words: Iterable[str]) -> str | None:
    """Return the pattern that covers the command *words* and no other: a word with spaces or quotes
    is quoted. None if one has quotes of both kinds."""
    made: list[str] = []
    for word in words:
        if word and not _NEEDS_QUOTES.search(word):
            made.append(word)
        elif "'" not in word:
            made.append(f"'{word}'")
        elif '"' not in word:
            made.append(f'"{word}"')
        else:
            return None
    return " ".join(made)


@lru_cache(maxsize=1024)
def unquoted(pattern: str) -> tuple[str, str] | None:
    """Return *pattern* without its quotes, with and without no-break spaces for the spaces inside;
    None if it has no quotes, or one that is not closed."""
    if "'" not in pattern and '"' not in pattern:
        return None
    rest = _QUOTED.sub("", pattern)
    if "'" in rest or '"' in rest:
        return None
    joined = _QUOTED.sub(lambda found: found[1] or found[2] or "", pattern)
    marked = _QUOTED.sub(lambda found: (found[1] or found[2] or "").translate(_IN_WORD), pattern)
    return joined, marked


def matches_path(text: str, pattern: str, root: str, *, tightens: bool) -> bool:
    """Return whether *pattern* covers the path *text*, relative to *root* or absolute.

    A rule that *tightens* also covers what is in a folder, regards no case, since some file systems
    don't, and follows links in its pattern: a link and its target are the same file.
    """
    if not pattern.strip("*"):
        return bool(pattern) or not text
    forms = _path_forms(_outside(expand_home(pattern), root), tightens=tightens)
    absolute = text if text.startswith("/") or not root else _absolute(text, root)
    if any(_matches_form(text, absolute, form, tightens=tightens) for form in forms):
        return True
    return any(
        _matches_form(text, absolute, form, tightens=tightens)
        for form in _resolved_forms(forms, root, tightens=tightens)
    )


class PathPatterns:
    """The patterns of rules that tighten, to be matched with many paths below *root*: what one of
    them covers is looked up on the disk only once."""

    def __init__(self, patterns: Iterable[str], root: str) -> None:
        self._root = root
        self._all = False
        forms: dict[str, None] = {}
        for pattern in patterns:
            if not pattern.strip("*"):
                self._all = True
                continue
            own = _path_forms(_outside(expand_home(pattern), root), tightens=True)
            forms |= dict.fromkeys((*own, *_resolved_forms(own, root, tightens=True)))
        folded = dict.fromkeys(form.casefold() for form in forms)
        self._absolute = tuple(form for form in folded if form.startswith("/"))
        self._relative = tuple(form for form in folded if not form.startswith("/"))

    def covers(self, text: str) -> bool:
        """Return whether a pattern covers *text*, relative to the root or absolute, without regard
        to case."""
        if self._all:
            return True
        text = text.casefold()
        if any(_wild(text, form) for form in self._relative):
            return True
        if not self._absolute:
            return False
        absolute = text if text.startswith("/") else _absolute(text, self._root.casefold())
        return any(_wild(absolute, form) for form in self._absolute)


def _outside(pattern: str, root: str) -> str:
    """Return *pattern* as an absolute one if it begins with ``../``, which leads out of *root*."""
    if not root or not pattern.startswith("../"):
        return pattern
    while pattern.startswith("../"):
        root, pattern = os.path.dirname(root), pattern[3:]
    return _absolute(pattern, root)


def _absolute(text: str, root: str) -> str:
    return root if text == "." else f"{root.rstrip('/')}/{text}"


def _matches_form(text: str, absolute: str, form: str, *, tightens: bool) -> bool:
    subject = absolute if form.startswith("/") else text
    if _wild(subject, form):
        return True
    return tightens and _wild(subject.casefold(), form.casefold())


@lru_cache(maxsize=4096)
def _path_forms(pattern: str, *, tightens: bool) -> tuple[str, ...]:
    """Return the ways to read *pattern* with the wildcards ``*`` and ``?`` only."""
    given = pattern
    while pattern.startswith("./"):
        pattern = pattern[2:].lstrip("/")
    forms = [pattern] if pattern else ["*"]
    if pattern.endswith("/") and pattern.strip("/"):
        forms = [pattern.rstrip("/"), f"{pattern}*"]
    elif tightens and not pattern.endswith("*") and pattern != ".":
        forms.append(f"{pattern.rstrip('/')}/*")
    if tightens and pattern.endswith("/**"):
        forms.append(pattern[:-3])
    found = [each for form in forms for each in _without_folders(form)]
    if given != pattern and tightens:
        found.append(given)
    return tuple(dict.fromkeys(found))


def _without_folders(pattern: str) -> list[str]:
    """Return *pattern* with each ``**/`` as one or more folders, and as none."""
    first, *others = _FOLDERS.split(pattern)
    if len(others) > MAX_FOLDER_WILDCARDS:
        return [pattern, first + "".join(others)]
    found = [first]
    for part in others:
        found = [each + between + part for each in found for between in ("*/", "")]
    return found


def _resolved_forms(forms: Sequence[str], root: str, *, tightens: bool) -> list[str]:
    """Return the *forms* whose folder leads through a link, with the links resolved. For a rule
    that allows, only links outside *root* count: what is inside can be changed."""
    found: list[str] = []
    for form in forms:
        literal = _WILDCARD.split(form, maxsplit=1)[0]
        at = len(literal) if literal == form else literal.rfind("/") + 1
        head = form[:at].rstrip("/")
        if not (form.startswith("/") or root) or not head or "\0" in head:
            continue
        path = head if head.startswith("/") else f"{root}/{head}"
        inside = path.startswith(f"{root}/") or path == root
        if not tightens and (inside or not root):
            continue
        real = os.path.realpath(path)
        if real != path:
            found.append(real + form[len(head) :])
    return found
