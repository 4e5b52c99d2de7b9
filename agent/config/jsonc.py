"""JSON with comments and trailing commas, parsed in linear time with exact line numbers.

Comments and trailing commas are replaced by spaces, and the text is parsed by the standard library,
so that the line and column of an error are those of the file. The ``jsonc`` package removes
comments together with their line ends, which shifts every following line, and does not report the
positions of keys, which notices need.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Never, cast

from agent.records.json import Json, JsonObject

KeyPath = tuple[str | int, ...]
"""Keys and list indices from the top of a document to a value."""

# Every alternative matches to the end if it is not closed, so no position is tried twice.
_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\.)*"?)'
    r"|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<mark>[{}\[\],:])"
    r"|(?P<word>[^\s\"{}\[\],:/]+|/)",
    re.DOTALL,
)

DEPTH_LIMIT = 50
"""Nested brackets. Settings need about ten; more would exhaust the stack."""

_EXPECTED = {
    "Expecting property name enclosed in double quotes": "expected a key in double quotes, or }",
    "Expecting ':' delimiter": "expected : after the key",
    "Expecting ',' delimiter": "expected a comma or the closing bracket",
    "Expecting value": "expected a value",
    "Extra data": "expected nothing more after the closing }",
    "Unterminated string starting at": 'expected a closing "',
    "Invalid control character at": 'expected a closing " on the same line',
    "Illegal trailing comma before end of object": "expected a key in double quotes, or }",
    "Illegal trailing comma before end of array": "expected a value",
}


class JsoncError(Exception):
    """The text cannot be parsed."""

    def __init__(self, line: int, column: int, expected: str) -> None:
        """*line* and *column* count from 1; *expected* ends a sentence."""
        super().__init__(f"line {line}, column {column}: {expected}")
        self.line = line
        self.column = column
        self.expected = expected


Pairs = list[tuple[str, Json]]


def parse(text: str, build: Callable[[Pairs], JsonObject] | None = None) -> JsonObject:
    """Parse an object. A text of nothing but whitespace and comments is an empty one.

    *build* makes an object of its pairs; without it a repeated key has its last value, in the last
    position. Raises ``JsoncError``.
    """
    plain = _to_plain_json(text.removeprefix("\ufeff"))
    if not plain.strip():
        return {}
    try:
        value = cast(
            "Json",
            json.loads(
                plain, parse_constant=_refuse_constant, object_pairs_hook=build or _last_place
            ),
        )
    except json.JSONDecodeError as error:
        expected = _EXPECTED.get(error.msg, error.msg[:1].lower() + error.msg[1:])
        raise JsoncError(error.lineno, error.colno, expected) from error
    except _Constant as error:
        line = _line_of(plain, str(error))
        raise JsoncError(line, 1, f"expected a number, not {error}") from error
    if not isinstance(value, dict):
        raise JsoncError(1, 1, "expected an object in braces at the top")
    return value


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line (from 1) of each key of a readable document, by its path."""
    return dict(keys(text))


def keys(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Yield the path and the line of each key of a readable document, in its order."""
    stack: list[_Frame] = []
    line, last = 1, 0
    text = text.removeprefix("\ufeff")
    for kind, start, piece in tokens(text):
        line += text.count("\n", last, start)
        last = start
        frame = stack[-1] if stack else None
        if kind == "mark" and piece in "{[":
            stack.append(_Frame(frame.here() if frame else (), is_list=piece == "["))
        elif kind == "mark" and piece in "}]":
            stack.pop()
        elif frame is not None and piece == ",":
            frame.advance()
        elif frame is not None and kind == "string" and frame.key is None:
            frame.key = cast("str", json.loads(piece))
            yield frame.here(), line


@dataclass(slots=True)
class _Frame:
    """An open object or list during the search for keys."""

    path: KeyPath
    is_list: bool
    index: int = 0
    key: str | None = field(default=None)

    def __post_init__(self) -> None:
        if self.is_list:
            self.key = ""

    def here(self) -> KeyPath:
        return (*self.path, self.index if self.is_list else self.key or "")

    def advance(self) -> None:
        self.index += 1
        if not self.is_list:
            self.key = None


class _Constant(ValueError):
    """NaN or an infinity, which Python reads and JSON does not have."""


def _refuse_constant(name: str) -> Never:
    raise _Constant(name)


def _last_place(pairs: list[tuple[str, Json]]) -> JsonObject:
    """Build an object in which a repeated key is at its last position: rules depend on order."""
    result: JsonObject = {}
    for key, value in pairs:
        result.pop(key, None)
        result[key] = value
    return result


def tokens(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield the tokens of *text* except comments: kind (string, mark, word), position, text."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind != "comment":
            yield kind, match.start(), match.group()


def _to_plain_json(text: str) -> str:
    """Replace comments and trailing commas in *text* by spaces; line ends stay."""
    pieces: list[str] = []
    end = 0
    comma: int | None = None
    before = ""
    depth = 0
    for match in _TOKEN.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        piece = match.group()
        if match.lastgroup == "comment":
            pieces.append("".join("\n" if char == "\n" else " " for char in piece))
            continue
        if piece in {"}", "]"} and comma is not None:
            pieces[comma] = " "
        comma = len(pieces) if piece == "," and before not in {"", ",", "{", "["} else None
        depth += (piece in {"{", "["}) - (piece in {"}", "]"})
        if depth > DEPTH_LIMIT:
            line = text.count("\n", 0, match.start()) + 1
            raise JsoncError(line, 1, f"expected at most {DEPTH_LIMIT} brackets in one another")
        before = piece
        pieces.append(piece)
    pieces.append(text[end:])
    return "".join(pieces)


def _line_of(text: str, word: str) -> int:
    return text.count("\n", 0, text.find(word)) + 1
