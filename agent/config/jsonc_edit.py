"""Putting one value into a settings file as a person would: comments and layout stay.

Only the bytes of the new entry (and a comma before it) change. The result is read again and
must say what was meant, so a form that is not understood is an error, never a broken file.
"""

import json
import re
from copy import deepcopy
from dataclasses import dataclass, field
from typing import cast

from agent.config.jsonc import JsoncError, KeyPath, parse, tokens
from agent.records.json import Json, JsonObject

INDENT = "  "
"""One level of indentation, where the file does not show its own."""


@dataclass(slots=True)
class _Open:
    """A list or object: where its bracket stands, its first key, the end of its last value and
    the end of the comma behind that (None where there is none)."""

    path: KeyPath
    start: int
    is_list: bool
    index: int = 0
    key: str | None = None
    first: int | None = None
    last: int | None = None
    comma: int | None = None

    def here(self) -> KeyPath:
        return (*self.path, self.index if self.is_list else self.key or "")

    def ended(self, end: int) -> None:
        self.last, self.comma = end, None


@dataclass(slots=True)
class _Places:
    """*values* are start and end of each value by its path, *objects* the objects with the place
    of their closing bracket."""

    values: dict[KeyPath, tuple[int, int]] = field(default_factory=dict[KeyPath, tuple[int, int]])
    objects: dict[KeyPath, tuple[_Open, int]] = field(
        default_factory=dict[KeyPath, tuple[_Open, int]]
    )


def set_value(text: str, path: tuple[str, ...], value: Json) -> str:
    """*text* with *value* at the keys *path*; what lies on the way is made where it is missing.

    A plain value on the way becomes an object that keeps it under ``*``, as permission settings
    have it: ``"ask"`` → ``{"*": "ask", …}``. Raises ``JsoncError`` when the text can't be read or
    can't be changed so.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    expected = _meant(parse(body), path, value)
    changed = _put(body, path, value, expected)
    if not changed or _reading(changed) != expected:
        raise JsoncError(1, 1, "expected a form in which one value can be added")
    return mark + changed


def _reading(text: str) -> JsonObject | None:
    try:
        return parse(text)
    except JsoncError:
        return None


def _meant(document: JsonObject, path: tuple[str, ...], value: Json) -> JsonObject:
    """What *document* must say once *value* stands at *path*."""
    result = deepcopy(document)
    at = result
    for key in path[:-1]:
        there = at.get(key, {})
        below: JsonObject = there if isinstance(there, dict) else {"*": there}
        at[key] = below
        at = below
    at[path[-1]] = value
    return result


def _put(text: str, path: tuple[str, ...], value: Json, expected: JsonObject) -> str:
    places = _places(text)
    if not places.objects:
        # Nothing but comments: the object goes below them.
        return f"{text.rstrip()}\n{json.dumps(expected, indent=len(INDENT))}\n".lstrip()
    if path in places.values:
        start, end = places.values[path]
        return text[:start] + _written(value, text, _indent(text, start)) + text[end:]
    for depth in range(len(path) - 1, -1, -1):
        parent, rest = path[:depth], path[depth:]
        if parent in places.objects:
            held, close = places.objects[parent]
            return _added(text, held, close, rest[0], _below(expected, (*parent, rest[0])))
        if parent in places.values:
            start, end = places.values[parent]
            below = _below(expected, parent)
            return text[:start] + _written(below, text, _indent(text, start)) + text[end:]
    return ""


def _added(text: str, held: _Open, close: int, key: str, value: Json) -> str:
    """*text* with an entry behind the last one of the object *held*."""
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    own = _indent(text, held.start)
    spread = held.first is None or "\n" in text[held.start : held.first]
    inner = own + INDENT if held.first is None or not spread else _indent(text, held.first)
    entry = (
        f"{json.dumps(key, ensure_ascii=False)}: {_written(value, text, inner if spread else own)}"
    )
    at = len(text[:close].rstrip())
    before, gap = text[:at], text[at:close]
    if held.last is not None and held.comma is None:
        before = f"{text[: held.last]},{text[held.last : at]}"
    entry += "," if held.comma is not None else ""
    if not spread:
        return f"{before} {entry}{gap}{text[close:]}"
    gap = gap if "\n" in gap else f"{end_of_line}{own}"
    return f"{before}{end_of_line}{inner}{entry}{gap}{text[close:]}"


def _below(document: JsonObject, path: tuple[str, ...]) -> Json:
    value: Json = document
    for key in path:
        value = value[key] if isinstance(value, dict) else None
    return value


def _written(value: Json, text: str, indent: str) -> str:
    """*value* as JSON whose further lines begin with *indent*."""
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, indent=len(INDENT), ensure_ascii=False).split("\n")
    return f"{end_of_line}{indent}".join(lines)


def _indent(text: str, at: int) -> str:
    """The blanks at the start of the line that holds the place *at*."""
    start = text.rfind("\n", 0, at) + 1
    blanks = re.compile(r"[ \t]*").match(text, start)
    return blanks.group() if blanks else ""


def _places(text: str) -> _Places:
    """Where the values and objects of a readable document stand; of a repeated key the last."""
    found = _Places()
    stack: list[_Open] = []
    for kind, start, piece in tokens(text):
        frame = stack[-1] if stack else None
        end = start + len(piece)
        if kind == "mark" and piece in "{[":
            path = frame.here() if frame else ()
            is_list = piece == "["
            stack.append(_Open(path, start, is_list, key="" if is_list else None))
        elif kind == "mark" and piece in "}]":
            held = stack.pop()
            found.values[held.path] = (held.start, end)
            if held.is_list:
                found.objects.pop(held.path, None)
            else:
                found.objects[held.path] = (held, start)
            if stack:
                stack[-1].ended(end)
        elif frame is None or piece == ":":
            continue
        elif piece == "," and kind == "mark":
            frame.comma = end
            frame.index += 1
            frame.key = "" if frame.is_list else None
        elif kind == "string" and frame.key is None:
            frame.key = cast("str", json.loads(piece))
            frame.first = start if frame.first is None else frame.first
        else:
            found.values[frame.here()] = (start, end)
            found.objects.pop(frame.here(), None)
            frame.ended(end)
    return found
