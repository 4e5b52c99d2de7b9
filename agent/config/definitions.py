"""Agents and commands that markdown files define, as the settings have them.

Those of Claude Code are converted: an agent's list of tools takes all others away, and what its
frontmatter asks for without effect here is named.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field

from agent.config.definition_files import DEFINITION_FOLDERS, DefinitionFile, DefinitionKind
from agent.config.markdown_files import Document, read_document
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.tool_facts import CLAUDE_PERMISSIONS, TOOL_FACTS

SMALL_MODEL = "small"
"""A model of an agent or command: the small one of the provider."""

TOOL_PERMISSIONS = tuple(sorted(set(CLAUDE_PERMISSIONS.values())))
"""Permissions that another program's list of tools can exclude."""

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

_COLORS = {
    "red": "error",
    "green": "success",
    "yellow": "warning",
    "orange": "warning",
    "blue": "info",
    "cyan": "accent",
    "purple": "secondary",
    "pink": "primary",
}
"""Claude Code's colors of agents, and the roles of the theme."""

WORKTREE = "worktree"
"""Claude Code's ``isolation`` of an agent that works in a worktree."""

_SAME_KEYS = frozenset({"description", "prompt", "mode", "effort", "worktree"})
"""Keys of other programs' agents that are the same here."""

_NO_EFFECT = {
    "hooks": "agents have no hooks of their own; those in .claude/settings.json run",
    "mcpServers": "servers are read from .mcp.json",
    "memory": "agents have no memory of their own; notes go into AGENTS.md",
    "isolation": "only worktree is supported",
    "initialPrompt": "an agent starts with the prompt that it is given",
    "background": "the agent that starts it decides whether it runs in the background",
    "permissionMode": "your permission rules decide what runs without asking",
}
"""Keys of Claude Code's agents without effect here, with the reason."""


@frozen(kw_only=True)
class Definition:
    """An agent or a command in a markdown file."""

    name: str
    values: JsonObject
    """Its settings, as under ``agent.<name>`` or ``command.<name>`` of a config file."""
    ignored: tuple[tuple[str, str], ...] = field(default=())
    """The keys without effect, with the reasons."""


def read_agent(file: DefinitionFile) -> Definition:
    """Return the agent in *file*.

    Raises ``FrontmatterError``, ``OSError`` or ``ValueError`` for an unreadable file.
    """
    document = read_document(file.path)
    values: dict[str, Json] = dict(document.fields)
    given = values.pop("name", None)
    name = _name(given, file) if file.names_inside else file.name
    values.setdefault("mode", _mode(file))
    if values.get("isolation") == WORKTREE:
        del values["isolation"]
        values["worktree"] = True
    if document.body:
        values["prompt"] = document.body
    if not file.foreign:
        return Definition(name=name, values=values)
    return Definition(
        name=name,
        values=_from_claude_agent(values),
        ignored=tuple((key, _NO_EFFECT[key]) for key in _NO_EFFECT if _matters(key, values)),
    )


def read_command(file: DefinitionFile) -> Definition:
    """Return the command in *file*. Raises as ``read_agent`` does."""
    document = read_document(file.path)
    values: dict[str, Json] = {**document.fields, "template": document.body}
    given = values.pop("name", None)
    name = _name(given, file) if file.names_inside and not file.foreign else file.name
    if isinstance(hint := values.get("argument-hint"), list):
        values["argument-hint"] = " ".join(f"[{word}]" for word in hint)
    if file.foreign:
        values = _from_claude_command(values, document)
    return Definition(name=name, values=values)


DEFINITION_READERS: Mapping[DefinitionKind, Callable[[DefinitionFile], Definition]] = {
    "agent": read_agent,
    "command": read_command,
}
"""The readers of the kinds that become a table of the settings."""


def _name(given: Json, file: DefinitionFile) -> str:
    """Return the name *given* in the file if it is one word, else that of the file."""
    return given if isinstance(given, str) and re.fullmatch(r"[\w.:/-]+", given) else file.name


def _mode(file: DefinitionFile) -> str:
    folders, _ = DEFINITION_FOLDERS["agent"]
    if file.folder in folders[2:]:
        return "primary"
    return "subagent" if file.foreign else "all"


def _matters(key: str, values: JsonObject) -> bool:
    """Return whether Claude Code would do something for *key* that is not done here."""
    if key == "permissionMode":
        return values.get(key, "default") not in {"default", "plan"}
    return bool(values.get(key))


def _from_claude_agent(given: JsonObject) -> JsonObject:
    """Convert an agent of another program.

    Its list of tools only takes tools away, those of servers and plugins too: the user decides
    which of them ask.
    """
    values = {k: v for k, v in given.items() if k in _SAME_KEYS}
    model = _model(given.get("model"))
    skills = _words(given.get("skills"))
    kept, taken = _permissions(given.get("tools")), _permissions(given.get("disallowedTools"))
    if model:
        values["model"] = model
    if color := _COLORS.get(str(given.get("color")).lower()):
        values["color"] = color
    if isinstance(given.get("maxTurns"), int):
        values["steps"] = given["maxTurns"]
    if skills:
        kept += ["skill"] if kept else []
        values["prompt"] = f"Load these skills first: {', '.join(skills)}.\n\n" + str(
            values.get("prompt", "")
        )
    denied: list[str] = []
    if kept and "*" not in kept:
        finder = ["tool_search"] if any("_" in name for name in kept) else []
        others = ",".join((*kept, *finder, *NOT_TOOLS))
        denied = [*(name for name in TOOL_PERMISSIONS if name not in kept), f"!{others}"]
    taken += ["edit"] if given.get("permissionMode") == "plan" else []
    denied += [name for name in taken if name not in denied]
    if denied:
        values["permission"] = dict[str, Json](dict.fromkeys(denied, "deny"))
    return values


def _words(listed: Json) -> list[str]:
    """Return the entries of a list, which can be written as a text with commas or blanks."""
    names = re.split(r"[,\s](?![^()]*\))", listed) if isinstance(listed, str) else listed
    words = (str(name).strip() for name in (names if isinstance(names, list) else ()))
    return [word for word in words if word]


def _permissions(listed: Json) -> list[str]:
    """Return the permissions of the tools in a list of another program; ``mcp__a__b`` is the tool b
    of the server a."""
    found: list[str] = []
    for each in _words(listed):
        word = each.partition("(")[0].strip()
        server, _, tool = word.removeprefix("mcp__").partition("__")
        is_mcp = word.startswith("mcp__")
        found.append(
            f"{server}_{tool or '*'}" if is_mcp else _PERMISSIONS.get(word.lower(), word.lower())
        )
    return [name for name in dict.fromkeys(found) if name]


def _from_claude_command(values: JsonObject, document: Document) -> JsonObject:
    """Convert a command of another program.

    Tools that it would allow without asking are ignored: that is the user's decision.
    """
    known = {"description", "template", "argument-hint"}
    kept: JsonObject = {key: value for key, value in values.items() if key in known}
    if model := _model(values.get("model")):
        kept["model"] = model
    if document.text("context") == "fork":
        kept["subtask"] = True
    return kept


def _model(given: Json) -> str:
    """Return the model *given*: the small one for an alias of it ("haiku"), "" for the session's
    own ("inherit", "sonnet", "opus")."""
    model = str(given or "")
    if "/" in model:
        return model
    return SMALL_MODEL if "haiku" in model.lower() else ""
