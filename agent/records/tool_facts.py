"""Facts about the built-in tools, which layers below the tools need before any tool is loaded:
settings, permission rules, hooks and agents.

Each tool has them as ``facts`` in its own module. ``docs/generate.py`` writes them into
``tool_facts.json``, which is read here, and a test compares it with the tools.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.requests import Action

ToolKind = Literal["read", "search", "fetch", "edit", "execute", "think", "other"]
"""The kinds of tools of the Agent Client Protocol; a client picks an icon by it."""

PLAN_AGENT = "plan"

FILE = Path(__file__).with_name("tool_facts.json")

Answering = Literal["none", "choice", "text"]
"""The answers that a front end can get from the user: none, a choice of options, or any text."""


@frozen(kw_only=True)
class ToolFacts:
    """Facts about one built-in tool, for the layers that load before the tools."""

    permission: str = ""
    """The permission that covers its calls, "" for that of its name: an agent that is denied it is
    not offered the tool."""

    action: Action | None = None
    """The default rule for the permission of the tool's own name, None where there is no such
    permission."""

    kind: ToolKind = "other"
    claude_name: str = ""
    """Claude Code's name for the tool with the same arguments, "" if it has none."""

    in_claude_settings: bool = False
    """Claude Code's permission rules and lists of tools can name it."""

    for_subagents: bool = True
    """False: denied to sub-agents by default. They start no others, keep no list and ask the
    user nothing."""

    covered_by: str = ""
    """A tool that does its work, "" for none. It is then offered only where that one is not, or
    where a rule names it. Calls of it are run anyway: models know the name, and older sessions
    contain some."""

    only_agent: str = ""
    """The only agent that is offered it, "" for all."""

    needs_answer: Answering = "none"
    """The answers of the user that it needs: it is offered only where they can be given."""


@frozen(kw_only=True)
class FormerTool:
    """A tool that is now a part of another one.

    Calls by its name, or by one of its *aliases*, are calls of *tool*. Calls of *tool* that do its
    work are known to hooks by this name too.
    """

    name: str
    tool: str
    claude_name: str
    marked_by: str
    """The argument of *tool* with which a call does its work."""

    aliases: tuple[str, ...] = ()
    implied: JsonObject = field(default_factory=dict[str, Json])
    """The arguments of *tool* that a call by this name implies."""

    in_claude_settings: bool = False


TOOL_FACTS: Mapping[str, ToolFacts] = MappingProxyType(
    {
        name: ToolFacts(**{"permission": name, **facts})
        for name, facts in json.loads(FILE.read_text("utf-8")).items()
    }
)
"""The facts about each built-in tool by its name, by default also that of its permission."""

FORMER_TOOLS: Mapping[str, FormerTool] = MappingProxyType(
    {
        row.name: row
        for row in (
            FormerTool(
                name="multiedit",
                tool="edit",
                claude_name="MultiEdit",
                marked_by="edits",
                aliases=("edit_many",),
                in_claude_settings=True,
            ),
            FormerTool(
                name="bash_kill",
                tool="bash_output",
                claude_name="KillShell",
                marked_by="kill",
                aliases=("kill_shell", "kill_bash"),
                implied={"kill": True},
            ),
        )
    }
)

CLAUDE_PERMISSIONS: Mapping[str, str] = MappingProxyType(
    {
        row.claude_name.lower(): TOOL_FACTS[tool].permission
        for tool, row in (
            *TOOL_FACTS.items(),
            *((former.tool, former) for former in FORMER_TOOLS.values()),
        )
        if row.in_claude_settings
    }
)
"""Claude Code's name for a tool, in lower case → the permission that covers it here."""


def permission_of(tool: str) -> str:
    """The permission that covers *tool*: for one that is not built in, its own name."""
    facts = _facts(tool)
    return tool if facts is None else facts.permission


def kind_of(tool: str) -> ToolKind:
    """The kind of *tool*, "other" for one that is not built in."""
    facts = _facts(tool)
    return "other" if facts is None else facts.kind


def claude_name_of(tool: str) -> str:
    """Claude Code's name for *tool*, "" if it has none."""
    facts = FORMER_TOOLS.get(tool) or TOOL_FACTS.get(tool)
    return "" if facts is None else facts.claude_name


def former_name(tool: str, arguments: JsonObject) -> str:
    """The name of the former tool whose work a call of *tool* does, "" for none."""
    rows = (row for row in FORMER_TOOLS.values() if row.tool == tool)
    return next((row.name for row in rows if arguments.get(row.marked_by)), "")


def current_call(tool: str, arguments: JsonObject) -> tuple[str, JsonObject]:
    """The name and the arguments of a call of *tool* today, if *tool* is a former one."""
    former = FORMER_TOOLS.get(tool)
    return (tool, arguments) if former is None else (former.tool, {**arguments, **former.implied})


def _facts(tool: str) -> ToolFacts | None:
    return TOOL_FACTS.get(current_call(tool, {})[0])


def can_answer(tool: str, answering: Answering) -> bool:
    """Return whether users whose front end allows *answering* can give the answers that *tool*
    needs."""
    levels = get_args(Answering)
    facts = TOOL_FACTS.get(tool)
    return facts is None or levels.index(facts.needs_answer) <= levels.index(answering)
