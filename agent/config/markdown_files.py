"""Markdown files with YAML frontmatter: commands, agents and skills.

What YAML rejects is repaired where the intention is obvious: a value that contains a colon is text,
tabs are spaces.
"""

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import cast

from agent.config.definition_files import DEFINITION_FOLDERS, DefinitionFile, DefinitionKind
from agent.config.discovery import read_text
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.tool_facts import CLAUDE_PERMISSIONS, TOOL_FACTS

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
"""Permissions that another program's list of tools can exclude."""

SMALL_MODEL = "small"
"""An agent's model: the small one of the provider."""

NOT_TOOLS = ("external_directory", "doom_loop", "network", "unsandboxed", "hook")
"""Permissions that no list of tools excludes: they are about how tools are used."""

_PERMISSIONS = {
    **{row.claude_name.lower(): row.permission for row in TOOL_FACTS.values() if row.claude_name},
    **CLAUDE_PERMISSIONS,
    "notebookedit": "edit",
    "todoread": "todowrite",
    "agent": "task",
}
"""Another program's names of tools, in lower case, with the permissions that cover them."""


def read_agent(file: DefinitionFile) -> JsonObject:
    """Return the settings of the agent, as under ``agent.<name>`` of a config file.

    Raises ``FrontmatterError``, ``OSError`` or ``ValueError`` for an unreadable file.
    """
    document = read_document(file.path)
    values: dict[str, Json] = dict(document.fields)
    values.pop("name", None)
    values.setdefault("mode", _mode(file))
    if document.body:
        values["prompt"] = document.body
    return _from_foreign_agent(values) if file.foreign else values


def read_command(file: DefinitionFile) -> JsonObject:
    """Return the settings of the command, as under ``command.<name>`` of a config file.

    Raises as ``read_agent`` does.
    """
    document = read_document(file.path)
    values: dict[str, Json] = {**document.fields, "template": document.body}
    values.pop("name", None)
    if isinstance(hint := values.get("argument-hint"), list):
        values["argument-hint"] = " ".join(f"[{word}]" for word in hint)
    return _from_foreign_command(values, document) if file.foreign else values


DEFINITION_READERS: Mapping[DefinitionKind, Callable[[DefinitionFile], JsonObject]] = {
    "agent": read_agent,
    "command": read_command,
}
"""The readers of the kinds that become a table of the settings."""


def _mode(file: DefinitionFile) -> str:
    folders, _ = DEFINITION_FOLDERS["agent"]
    if file.folder in folders[2:]:
        return "primary"
    return "subagent" if file.foreign else "all"


def _from_foreign_agent(values: JsonObject) -> JsonObject:
    """Convert an agent of another program.

    Its list of tools only takes tools away, those of servers and plugins too: the user decides
    which of them ask.
    """
    _translate_alias(values)
    kept = _tool_permissions(values.pop("tools", None))
    taken = _tool_permissions(values.pop("disallowedTools", None))
    for key in [key for key in values if key not in {"description", "prompt", "mode", "model"}]:
        del values[key]
    denied: list[str] = []
    if kept and "*" not in kept:
        finder = ["tool_search"] if any("_" in name for name in kept) else []
        others = ",".join((*kept, *finder, *NOT_TOOLS))
        denied = [*(name for name in TOOL_PERMISSIONS if name not in kept), f"!{others}"]
    denied += [name for name in taken if name not in denied]
    if denied:
        values["permission"] = dict[str, Json](dict.fromkeys(denied, "deny"))
    return values


def _tool_permissions(listed: Json) -> list[str]:
    """Return the permissions of the tools in a list of another program; ``mcp__a__b`` is the tool b
    of the server a."""
    names = re.split(r",(?![^()]*\))", listed) if isinstance(listed, str) else listed
    found: list[str] = []
    for name in names if isinstance(names, list) else []:
        word = str(name).partition("(")[0].strip()
        server, _, tool = word.removeprefix("mcp__").partition("__")
        is_mcp = word.startswith("mcp__")
        found.append(
            f"{server}_{tool or '*'}" if is_mcp else _PERMISSIONS.get(word.lower(), word.lower())
        )
    return [name for name in dict.fromkeys(found) if name]


def _from_foreign_command(values: JsonObject, document: Document) -> JsonObject:
    """Convert a command of another program.

    Tools that it would allow without asking are ignored: that is the user's decision.
    """
    if "/" not in str(values.get("model")):
        values.pop("model", None)
    known = {"description", "template", "model", "argument-hint"}
    kept: JsonObject = {key: value for key, value in values.items() if key in known}
    if document.text("context") == "fork":
        kept["subtask"] = True
    return kept


def _translate_alias(values: JsonObject) -> None:
    """Replace a model that is an alias of another program's: the small one ("haiku"), or the
    session's own ("inherit", "sonnet", "opus")."""
    model = str(values.pop("model", ""))
    if "/" in model or "haiku" in model.lower():
        values["model"] = model if "/" in model else SMALL_MODEL
