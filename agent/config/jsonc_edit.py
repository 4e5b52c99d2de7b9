"""Edits one value in a settings file; comments and layout are kept.

Only the bytes of the new entry (and a comma before it) change. The result is parsed again and has
to mean what was intended, so a form that is not understood is an error, never a broken file.
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
class _Container:
    """A list or object during parsing."""

    path: KeyPath
    start: int
    """The position of its opening bracket."""
    is_list: bool
    index: int = 0
    key: str | None = None
    first: int | None = None
    """The position of its first key."""
    last: int | None = None
    """The end of its last value."""
    comma: int | None = None
    """The end of the comma after the last value, None if there is none."""

    def here(self) -> KeyPath:
        return (*self.path, self.index if self.is_list else self.key or "")

    def ended(self, end: int) -> None:
        self.last, self.comma = end, None


@dataclass(slots=True)
class _Positions:
    """The positions of a document's values."""

    values: dict[KeyPath, tuple[int, int]] = field(default_factory=dict[KeyPath, tuple[int, int]])
    """Start and end of each value by its path."""
    objects: dict[KeyPath, tuple[_Container, int]] = field(
        default_factory=dict[KeyPath, tuple[_Container, int]]
    )
    """The objects with the positions of their closing brackets."""


def set_value(text: str, path: tuple[str, ...], value: Json) -> str:
    """Return *text* with *value* at the keys *path*; missing objects on the way are created.

    A plain value on the way becomes an object that keeps it under ``*``, as permission settings
    have it: ``"ask"`` → ``{"*": "ask", …}``. Raises ``JsoncError`` when the text cannot be parsed
    or changed in this way.
    """
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(bom)
    expected = _expected_document(parse(body), path, value)
    changed = _insert(body, path, value, expected)
    if not changed or _try_parse(changed) != expected:
        raise JsoncError(1, 1, "expected a file that can be changed automatically")
    return bom + changed


def _try_parse(text: str) -> JsonObject | None:
    try:
        return parse(text)
    except JsoncError:
        return None


def _expected_document(document: JsonObject, path: tuple[str, ...], value: Json) -> JsonObject:
    """Return the expected *document* with *value* at *path*."""
    result = deepcopy(document)
    at = result
    for key in path[:-1]:
        there = at.get(key, {})
        below: JsonObject = there if isinstance(there, dict) else {"*": there}
        at[key] = below
        at = below
    at[path[-1]] = value
    return result


def _insert(text: str, path: tuple[str, ...], value: Json, expected: JsonObject) -> str:
    positions = _locate(text)
    if not positions.objects:
        # There are only comments: the object goes below them.
        return f"{text.rstrip()}\n{json.dumps(expected, indent=len(INDENT))}\n".lstrip()
    if path in positions.values:
        start, end = positions.values[path]
        return text[:start] + _to_json(value, text, _indent_at(text, start)) + text[end:]
    for depth in range(len(path) - 1, -1, -1):
        parent, rest = path[:depth], path[depth:]
        if parent in positions.objects:
            container, close = positions.objects[parent]
            return _append_entry(
                text, container, close, rest[0], _value_at(expected, (*parent, rest[0]))
            )
        if parent in positions.values:
            start, end = positions.values[parent]
            below = _value_at(expected, parent)
            return text[:start] + _to_json(below, text, _indent_at(text, start)) + text[end:]
    return ""


def _append_entry(text: str, container: _Container, close: int, key: str, value: Json) -> str:
    """Return *text* with a new entry after the last one of the object *container*."""
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    own = _indent_at(text, container.start)
    spread = container.first is None or "\n" in text[container.start : container.first]
    inner = (
        own + INDENT if container.first is None or not spread else _indent_at(text, container.first)
    )
    entry = (
        f"{json.dumps(key, ensure_ascii=False)}: {_to_json(value, text, inner if spread else own)}"
    )
    at = len(text[:close].rstrip())
    before, gap = text[:at], text[at:close]
    if container.last is not None and container.comma is None:
        before = f"{text[: container.last]},{text[container.last : at]}"
    entry += "," if container.comma is not None else ""
    if not spread:
        return f"{before} {entry}{gap}{text[close:]}"
    gap = gap if "\n" in gap else f"{end_of_line}{own}"
    return f"{before}{end_of_line}{inner}{entry}{gap}{text[close:]}"


def _value_at(document: JsonObject, path: tuple[str, ...]) -> Json:
    value: Json = document
    for key in path:
        value = value[key] if isinstance(value, dict) else None
    return value


def _to_json(value: Json, text: str, indent: str) -> str:
    """Return *value* as JSON whose further lines begin with *indent*."""
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, indent=len(INDENT), ensure_ascii=False).split("\n")
    return f"{end_of_line}{indent}".join(lines)


def _indent_at(text: str, at: int) -> str:
    """Return the indentation of the line at the position *at*."""
    start = text.rfind("\n", 0, at) + 1
    blanks = re.compile(r"[ \t]*").match(text, start)
    return blanks.group() if blanks else ""


def _locate(text: str) -> _Positions:
    """Locate the values and objects of a readable document; of a repeated key the last."""
    found = _Positions()
    stack: list[_Container] = []
    for kind, start, piece in tokens(text):
        frame = stack[-1] if stack else None
        end = start + len(piece)
        if kind == "mark" and piece in "{[":
            path = frame.here() if frame else ()
            is_list = piece == "["
            stack.append(_Container(path, start, is_list, key="" if is_list else None))
        elif kind == "mark" and piece in "}]":
            container = stack.pop()
            found.values[container.path] = (container.start, end)
            if container.is_list:
                found.objects.pop(container.path, None)
            else:
                found.objects[container.path] = (container, start)
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
