"""Markdown with YAML frontmatter: commands, agents and skills (spec 10, K7).

What YAML refuses is mended where the intention is plain: a value that holds a colon is text,
tabs are blanks.
"""

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agent.config.definition_files import DEFINITION_FOLDERS, DefinitionFile, DefinitionKind
from agent.config.discovery import read_text
from agent.records.json import Json, JsonObject
from agent.records.tool_facts import CLAUDE_PERMISSIONS

MAX_FRONTMATTER = 64 * 1024
"""Characters of a frontmatter. A longer one is none."""

_MARK = re.compile(r"---[ \t]*(?:\n|$)")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_PAIR = re.compile(r"^([ \t]*)([A-Za-z_][\w-]*):[ \t]+(\S.*?)[ \t]*$")


class FrontmatterError(Exception):
    """The frontmatter cannot be read; ``str()`` is what was expected, with the line."""


@dataclass(frozen=True, slots=True)
class Document:
    """*fields* of the frontmatter as JSON values, {} without one; *body* is what follows."""

    fields: Mapping[str, Json]
    body: str

    def text(self, name: str) -> str:
        """The field *name* as text, "" where it is missing or no single value."""
        value = self.fields.get(name)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value).strip() if isinstance(value, str | int | float) else ""


def read_document(path: Path) -> Document:
    """The document in a regular UTF-8 file of at most 1 MB.

    Raises ``FrontmatterError``, ``OSError``, or ``ValueError`` with what was expected.
    """
    return parse_document(read_text(path))


def parse_document(text: str) -> Document:
    """The document in *text*. Raises ``FrontmatterError``."""
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
            value = _load(_mended(head))
        except (yaml.YAMLError, ValueError, RecursionError):
            raise FrontmatterError(_reason(error)) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FrontmatterError("its frontmatter is no list of names and values")
    return {str(name): _json(each) for name, each in cast("dict[object, object]", value).items()}


def _load(head: str) -> object:
    import yaml  # as above

    # A few lines of aliases make gigabytes.
    tokens = cast("Iterable[object]", yaml.scan(head))  # pyright: ignore[reportUnknownMemberType] - has no types
    if any(isinstance(token, yaml.AliasToken) for token in tokens):
        raise ValueError("aliases are not read")
    return yaml.safe_load(head)


def _mended(head: str) -> str:
    """*head* with tabs as blanks, and values that YAML refuses as the text that they are."""
    lines: list[str] = []
    for raw in head.split("\n"):
        line = raw.replace("\t", "  ")
        pair = _PAIR.match(line)
        if pair is not None and not _reads(line.strip()):
            indent, name, value = pair.groups()
            line = f"{indent}{name}: {json.dumps(value)}"
        lines.append(line)
    return "\n".join(lines)


def _reads(line: str) -> bool:
    import yaml  # as above

    try:
        _load(line)
    except (yaml.YAMLError, ValueError):
        return False
    return True


def _reason(error: BaseException) -> str:
    mark = getattr(error, "problem_mark", None)
    line = f" in line {mark.line + 2}" if mark is not None else ""
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


TOOL_PERMISSIONS = tuple(sorted(set(CLAUDE_PERMISSIONS.values())))
"""What another program's list of tools may leave out."""

_PERMISSIONS = {**CLAUDE_PERMISSIONS, "notebookedit": "edit", "todoread": "todowrite"}
"""Another program's name for a tool, in lower case → the permission that covers it here."""


def read_agent(file: DefinitionFile) -> JsonObject:
    """The settings of the agent, as under ``agent.<name>`` of a config file.

    Raises ``FrontmatterError``, ``OSError`` or ``ValueError`` for what cannot be read.
    """
    document = read_document(file.path)
    values: dict[str, Json] = dict(document.fields)
    values.pop("name", None)
    values.setdefault("mode", _mode(file))
    if document.body:
        values["prompt"] = document.body
    return _their_agent(values) if file.foreign else values


def read_command(file: DefinitionFile) -> JsonObject:
    """The settings of the command, as under ``command.<name>`` of a config file.

    Raises as ``read_agent`` does.
    """
    document = read_document(file.path)
    values: dict[str, Json] = {**document.fields, "template": document.body}
    values.pop("name", None)
    if isinstance(hint := values.get("argument-hint"), list):
        values["argument-hint"] = " ".join(f"[{word}]" for word in hint)
    return _their_command(values, document) if file.foreign else values


DEFINITION_READERS: Mapping[DefinitionKind, Callable[[DefinitionFile], JsonObject]] = {
    "agent": read_agent,
    "command": read_command,
}
"""How each kind that becomes a table of the settings is read."""


def _mode(file: DefinitionFile) -> str:
    folders, _ = DEFINITION_FOLDERS["agent"]
    if file.folder in folders[2:]:
        return "primary"
    return "subagent" if file.foreign else "all"


def _their_agent(values: JsonObject) -> JsonObject:
    """*values* as another program writes them. Its list of tools only ever takes away: which
    of them ask is the user's to say."""
    _drop_alias(values)
    listed = values.pop("tools", None)
    for key in [key for key in values if key not in {"description", "prompt", "mode", "model"}]:
        del values[key]
    if listed is not None:
        names = listed.split(",") if isinstance(listed, str) else listed
        words = [str(name).strip().lower() for name in names] if isinstance(names, list) else []
        kept = {_PERMISSIONS.get(word, word) for word in words}
        left_out = [name for name in TOOL_PERMISSIONS if name not in kept]
        if words and "*" not in kept:
            values["permission"] = dict[str, Json](dict.fromkeys(left_out, "deny"))
    return values


def _their_command(values: JsonObject, document: Document) -> JsonObject:
    """*values* as another program writes them. What it would allow without asking is the user's
    to say, so that counts for nothing here."""
    _drop_alias(values)
    known = {"description", "template", "model", "argument-hint"}
    kept: JsonObject = {key: value for key, value in values.items() if key in known}
    if document.text("context") == "fork":
        kept["subtask"] = True
    return kept


def _drop_alias(values: JsonObject) -> None:
    """Drop a model that is an alias of another program's, such as "inherit" or "opus"."""
    model = values.get("model")
    if not (isinstance(model, str) and "/" in model):
        values.pop("model", None)
