"""Markdown files with YAML frontmatter: commands, agents and skills.

What YAML rejects is repaired where the intention is obvious: a value that contains a colon is text,
tabs are spaces.
"""

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from agent.config.discovery import read_text
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

MAX_FRONTMATTER = 64 * 1024
"""Characters of a frontmatter; a longer one is an error."""

_MARK = re.compile(r"---[ \t]*(?:\n|$)")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_PAIR = re.compile(r"^([ \t]*)([A-Za-z_][\w-]*):[ \t]+(\S.*?)[ \t]*$")


class FrontmatterError(Exception):
    """The frontmatter cannot be read; ``str()`` is what was expected, with the line."""


@frozen
class Document:
    """A markdown file."""

    fields: Mapping[str, Json]
    """The frontmatter as JSON values, empty without one."""
    body: str
    """The text after the frontmatter."""

    def text(self, name: str) -> str:
        """Return the field *name* as text, "" where it is missing or no single value."""
        value = self.fields.get(name)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value).strip() if isinstance(value, str | int | float) else ""


def read_document(path: Path) -> Document:
    """Return the document in a regular UTF-8 file of at most 1 MB.

    Raises ``FrontmatterError``, ``OSError``, or ``ValueError`` with what was expected.
    """
    return parse_document(read_text(path))


def parse_document(text: str) -> Document:
    """Return the document in *text*. Raises ``FrontmatterError``."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    start = _MARK.match(text)
    end = _END.search(text, start.end()) if start else None
    if start is None or end is None:
        return Document({}, text.strip())
    head = text[start.end() : end.start()]
    if len(head) > MAX_FRONTMATTER:
        raise FrontmatterError("its frontmatter is too long")
    return Document(_fields(head), text[end.end() :].strip())


def _fields(head: str) -> JsonObject:
    import yaml  # 15 ms that a start without definitions does not need

    try:
        value = _load(head)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        try:
            value = _load(_repaired(head))
        except (yaml.YAMLError, ValueError, RecursionError):
            raise FrontmatterError(_reason(error)) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FrontmatterError("its frontmatter is not a list of keys and values")
    return {str(name): _json(each) for name, each in cast("dict[object, object]", value).items()}


def _load(head: str) -> object:
    import yaml  # as above

    # A few lines of aliases can expand to gigabytes.
    tokens = cast("Iterable[object]", yaml.scan(head))  # pyright: ignore[reportUnknownMemberType] - has no types
    if any(isinstance(token, yaml.AliasToken) for token in tokens):
        raise ValueError("aliases are not supported")
    return yaml.safe_load(head)


def _repaired(head: str) -> str:
    """Return *head* with tabs as spaces, and values that YAML rejects as quoted text."""
    lines: list[str] = []
    for raw in head.split("\n"):
        line = raw.replace("\t", "  ")
        pair = _PAIR.match(line)
        if pair is not None and not _is_readable(line.strip()):
            indent, name, value = pair.groups()
            line = f"{indent}{name}: {json.dumps(value)}"
        lines.append(line)
    return "\n".join(lines)


def _is_readable(line: str) -> bool:
    import yaml  # as above

    try:
        _load(line)
    except (yaml.YAMLError, ValueError):
        return False
    return True


def _reason(error: BaseException) -> str:
    mark = getattr(error, "problem_mark", None)
    line = f" on line {mark.line + 2}" if mark is not None else ""
    problem = getattr(error, "problem", None) or str(error)
    return f"its frontmatter cannot be read{line}: {problem}"


def _json(value: object) -> Json:
    match value:
        case bool() | int() | float() | str() | None:
            return value
        case dt.date():
            return value.isoformat()
        case list():
            return [_json(each) for each in cast("list[object]", value)]
        case dict():
            pairs = cast("dict[object, object]", value)
            return {str(name): _json(each) for name, each in pairs.items()}
        case _:
            return str(value)
