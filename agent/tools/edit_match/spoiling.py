"""Escapes and entities by which models spoil ``old_string``, and how each is undone (E3).

``new_string`` is undone only where it shows the same spoiling and never the plain form: then
it was spoilt on the same way. Otherwise it is what the model wants to be written.
"""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unspoilt:
    """Both strings as they were meant, and what was undone."""

    old: str
    new: str
    note: str


@dataclass(frozen=True, slots=True)
class _Spoiling:
    note: str
    undo: Callable[[str], str]
    shows: Callable[[str], bool]
    plain: Callable[[str], bool]


def unspoilt(old: str, new: str) -> Iterator[Unspoilt]:
    """The readings of *old* and *new* (in LF) with one kind of spoiling undone, likely first."""
    for spoiling in _SPOILINGS:
        if not spoiling.shows(old):
            continue
        meant_old = spoiling.undo(old)
        if meant_old == old or not meant_old.strip():
            continue
        yield Unspoilt(meant_old, _meant_new(spoiling, old, new), spoiling.note)


def _meant_new(spoiling: _Spoiling, old: str, new: str) -> str:
    """*new* as it is meant: lines as in *old* are undone like those, the others if they show
    the spoiling and nowhere the plain form."""
    spoilt = set(old.split("\n"))
    lines = new.split("\n")
    fresh = "\n".join(line for line in lines if line not in spoilt)
    if spoiling.shows(fresh) and not spoiling.plain(fresh):
        return spoiling.undo(new)
    return "\n".join(spoiling.undo(line) if line in spoilt else line for line in lines)


def _unquoted(text: str) -> str:
    return text.replace('\\"', '"').replace("\\'", "'")


def _unbroken(text: str) -> str:
    return re.sub(r"\\[nt]", lambda match: "\n" if match[0] == "\\n" else "\t", text)


def _decoded(text: str) -> str:
    meanings = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: meanings.get(match[1], match[1]), text)


def _one_line(text: str) -> bool:
    return "\n" not in text.strip("\n") and "\\n" in text


def _has_break(text: str) -> bool:
    return "\n" in text.strip("\n")


_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#34);")

_SPOILINGS = (
    _Spoiling(
        "doubled backslashes were made single",
        lambda text: text.replace("\\\\", "\\"),
        lambda text: "\\\\" in text,
        lambda text: re.search(r"(?<!\\)\\(?:\\\\)*(?!\\)", text) is not None,
    ),
    *(
        _Spoiling(
            "escaped quotes were made plain",
            lambda text, q=quote: text.replace("\\" + q, q),
            lambda text, q=quote: "\\" + q in text,
            lambda text, q=quote: re.search(rf"(?<!\\){q}", text) is not None,
        )
        for quote in "\"'"
    ),
    _Spoiling(
        "escaped quotes were made plain",
        _unquoted,
        lambda text: '\\"' in text and "\\'" in text,
        lambda text: re.search(r"(?<!\\)[\"']", text) is not None,
    ),
    _Spoiling(
        "\\t was read as a tab",
        lambda text: re.sub(r"(?m)^(?:\\t|[ \t])+", lambda m: m[0].replace("\\t", "\t"), text),
        lambda text: re.search(r"(?m)^[ \t]*\\t", text) is not None,
        lambda text: re.search(r"(?m)^[ ]*\t", text) is not None,
    ),
    _Spoiling(
        "\\t was read as a tab",
        lambda text: text.replace("\\t", "\t"),
        lambda text: "\\t" in text,
        lambda text: "\t" in text,
    ),
    _Spoiling("\\n was read as a line break", _unbroken, _one_line, _has_break),
    _Spoiling(
        "escaped line breaks and quotes were made plain",
        lambda text: _unquoted(_unbroken(text)),
        _one_line,
        _has_break,
    ),
    _Spoiling("escapes were undone", _decoded, _one_line, _has_break),
    _Spoiling(
        "entities were made plain",
        lambda text: _ENTITY.sub(lambda match: html.unescape(match[0]), text),
        lambda text: _ENTITY.search(text) is not None,
        lambda text: re.search(r"[<>]|&(?!\w+;|#\d+;)", text) is not None,
    ),
)
