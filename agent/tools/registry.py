"""The registry of all tools, and the list of the built-in ones.

A new built-in tool is a module ``x.py`` with its description ``x.txt``, a line in ``build_tools``
and its test; ``make docs`` does the rest.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial

from agent.lsp.service import LspService
from agent.permission.sandbox_policy.service import CommandSandbox
from agent.provider.client import ToolSchema
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.records.tool_facts import FORMER_TOOLS
from agent.skills import Skills
from agent.store.store import Store
from agent.tools.builtin_tools import AnyTool, BuiltinTool
from agent.tools.core.offered_subagents import AllowedSubagents, SubagentInfo, task_spec
from agent.tools.core.questions import QuestionService
from agent.tools.core.schema import parameters, read_description, with_choices
from agent.tools.core.tool import ExternalTool, ToolSpec
from agent.tools.core.truncate import Limits, Truncator
from agent.tools.shell.settings import BashSettings, bash_variables
from agent.tools.shell.shells import Shells
from agent.tools.web.client import Web
from agent.tools.web.engines import Engine


@frozen(kw_only=True)
class ToolServices:
    """The services and settings that the built-in tools work with."""

    store: Store
    shells: Shells
    """The shells in the background."""

    truncator: Truncator
    """Cuts long outputs; its spill folder, which keeps them whole, is free to read and search."""

    bash: BashSettings = field(default_factory=BashSettings)
    sandbox: CommandSandbox | None = None
    """The sandbox of commands, None for none."""

    web: Web = field(default_factory=Web)
    search: Engine | None = None
    """The search engine of ``websearch``, None leaves the tool out."""

    questions: QuestionService | None = None
    """Asks the user for ``question``, None leaves the tool out."""

    subagents: tuple[SubagentInfo, ...] = ()
    """The sub-agents that ``task`` can start; without any that is offered the tool is left out."""

    allowed_subagents: AllowedSubagents | None = None
    """The sub-agents that an agent can start, None for all."""

    skills: Skills | None = None
    """The skills of ``skill``, None leaves the tool out."""

    lsp: LspService | None = None
    """The language servers of ``lsp``; None, or one without servers, leaves the tool out."""


class Registry:
    """All tools by name: the built-in ones, then those of MCP servers and plugins, which come
    and go, each sorted by name.

    Raises ``ValueError`` if two built-in tools claim the same name or alias.
    """

    def __init__(
        self,
        tools: Iterable[AnyTool],
        *,
        limits: Limits | None = None,
        subagents: tuple[SubagentInfo, ...] = (),
    ) -> None:
        limits = limits or Limits()
        self._subagents = {agent.name: agent for agent in subagents if agent.offered}
        self._common = {
            "platform": sys.platform,
            "max_lines": f"{limits.lines:,}",
            "max_kib": str(limits.bytes // 1024),
        }
        self._builtin: dict[str, AnyTool] = {}
        self._added: dict[str, tuple[AnyTool, ...]] = {}
        self._instructions: dict[str, Mapping[str, str]] = {}
        self._claimed: dict[str, AnyTool] = {}
        self._implied: dict[str, JsonObject] = {}
        self._limited_tasks: dict[frozenset[str], ToolSchema] = {}
        self._ranks: dict[str, int] = {}
        """The places of tools in requests, in the order in which they were first offered."""
        ordered = sorted(tools, key=_name)
        for tool in ordered:
            self._builtin[tool.spec.name] = tool
            for spelling in (tool.spec.name, *tool.spec.aliases):
                self._claim(spelling, tool)
        for former in FORMER_TOOLS.values():
            for spelling in (former.name, *former.aliases):
                if former.tool in self._builtin:
                    self._claim(spelling, self._builtin[former.tool])
                    self._implied[_normalized(spelling)] = former.implied
        self._schemas = {tool.spec.name: self._schema(tool) for tool in ordered}
        self._tools = dict(self._builtin)
        self._known = dict(self._claimed)

    def _claim(self, spelling: str, tool: AnyTool) -> None:
        other = self._claimed.setdefault(_normalized(spelling), tool)
        if other is not tool:
            names = f"{tool.spec.name} and {other.spec.name}"
            raise ValueError(f"{names} both claim {spelling!r}")

    def replace_tools(
        self, owner: str, tools: Iterable[AnyTool], instructions: Mapping[str, str] | None = None
    ) -> None:
        """Replace the tools of *owner* by *tools*, from the next request on.

        *instructions* are those of MCP servers on their tools, by server name. Raises
        ``ValueError``, and changes nothing, if a tool has the name of a built-in tool, in
        whatever spelling, or of another owner's.
        """
        given = tuple(tools)
        others = [tool for name, held in self._added.items() if name != owner for tool in held]
        names = [tool.spec.name for tool in (*others, *given)]
        for tool in given:
            if self.is_builtin_name(tool.spec.name) or names.count(tool.spec.name) > 1:
                raise ValueError(f"A tool named {tool.spec.name} already exists.")
        self._added[owner] = given
        self._instructions[owner] = dict(instructions or {})
        self._tools, self._known = dict(self._builtin), dict(self._claimed)
        for tool in sorted((*others, *given), key=_name):
            self._tools[tool.spec.name] = tool
            self._known.setdefault(_normalized(tool.spec.name), tool)
        self._schemas = {
            name: self._schemas[name] if name in self._builtin else self._schema(tool)
            for name, tool in self._tools.items()
        }

    @property
    def server_instructions(self) -> Mapping[str, str]:
        """Return the instructions of MCP servers on their tools, by server name."""
        return {
            server: text for given in self._instructions.values() for server, text in given.items()
        }

    def is_builtin_name(self, name: str) -> bool:
        """Return whether *name*, in whatever spelling, means a built-in tool."""
        return _normalized(name) in self._claimed

    def _schema(self, tool: AnyTool) -> ToolSchema:
        if isinstance(tool, ExternalTool):
            return ToolSchema(tool.spec.name, tool.description, tool.parameters)
        return self._described(tool, tool.spec)

    def _described(self, tool: AnyTool, spec: ToolSpec) -> ToolSchema:
        """Return the schema of a built-in tool as *spec* describes it."""
        fixed = tool.schema if isinstance(tool, BuiltinTool) else parameters(tool.args)
        return ToolSchema(
            spec.name,
            read_description(tool, spec, self._common),
            with_choices(fixed, spec.choices),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the tools, in order."""
        return tuple(self._tools)

    @property
    def on_demand(self) -> tuple[str, ...]:
        """Return the names of the tools that a request can leave out, in order."""
        return tuple(tool.spec.name for tool in self if tool.spec.on_demand)

    def names_for(self, model: str) -> tuple[str, ...]:
        """Return the names of the tools that the model with the id *model* is offered, in order."""
        specs = [tool.spec for tool in self]
        own = [
            spec
            for spec in specs
            if not spec.models or re.search(spec.models, model, re.IGNORECASE)
        ]
        replaced = {name for spec in own for name in spec.replaces}
        return tuple(spec.name for spec in own if spec.name not in replaced)

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def find(self, name: str) -> AnyTool | None:
        """Return the tool that *name* means: its name in any case and spelling, or an alias."""
        tool = self._tools.get(name)
        return tool if tool is not None else self._known.get(_normalized(name))

    def implied_arguments(self, name: str) -> JsonObject:
        """Return the arguments that a call by *name*, that of a former tool, implies."""
        return {} if name in self._tools else self._implied.get(_normalized(name), {})

    def schemas(
        self, names: Collection[str] | None = None, subagents: frozenset[str] | None = None
    ) -> tuple[ToolSchema, ...]:
        """Return the schemas of *names* (None: all), in a fixed order. ``task`` offers *subagents*
        only (None: all)."""
        chosen = (s for name, s in self._schemas.items() if names is None or name in names)
        if subagents is None:
            return tuple(chosen)
        return tuple(self._limited(schema, subagents) for schema in chosen)

    def offer(
        self, names: Collection[str], subagents: frozenset[str] | None = None
    ) -> tuple[ToolSchema, ...]:
        """Return the schemas of *names* for a request, as ``schemas`` does; tools that come later,
        such as those of a slow server, follow those that were offered before, so that the prompt
        cache of providers stays valid."""
        chosen = self.schemas(names, subagents)
        for schema in chosen:
            self._ranks.setdefault(schema.name, len(self._ranks))
        return tuple(sorted(chosen, key=lambda schema: self._ranks[schema.name]))

    def _limited(self, schema: ToolSchema, subagents: frozenset[str]) -> ToolSchema:
        if schema.name != "task" or subagents.issuperset(self._subagents):
            return schema
        key = subagents.intersection(self._subagents)
        if key not in self._limited_tasks:
            tool = self._tools["task"]
            kept = tuple(agent for name, agent in self._subagents.items() if name in key)
            self._limited_tasks[key] = self._described(tool, task_spec(tool.spec, kept))
        return self._limited_tasks[key]


NOT_CONNECTED = "This server is not connected at the moment, so its tools are missing."
"""The text in the place of the instructions of a server that failed."""


def _name(tool: AnyTool) -> str:
    return tool.spec.name


def _normalized(name: str) -> str:
    """Return *name* without case, spaces and separators: models write todo_write and TodoWrite."""
    return re.sub(r"[^a-z0-9]", "", name.removeprefix("functions.").casefold())


def _subagent_tools(services: ToolServices) -> tuple[AnyTool, ...]:
    agents = services.subagents
    if not any(agent.offered for agent in agents):
        return ()
    adapt = partial(task_spec, agents=agents)
    task = BuiltinTool("task", agents, services.allowed_subagents, adapt=adapt)
    return (task, BuiltinTool("task_output"))


def _bash_tools(services: ToolServices) -> tuple[AnyTool, ...]:
    settings, truncator, sandbox = services.bash, services.truncator, services.sandbox
    variables = bash_variables(settings, truncator, sandbox)
    bash = BuiltinTool(
        *("bash", settings, truncator, services.shells, sandbox),
        adapt=partial(replace, variables=variables),
    )
    return (bash, BuiltinTool("bash_output", services.shells))


def _web_tools(services: ToolServices) -> tuple[AnyTool, ...]:
    web, search = services.web, services.search
    adapt = partial(replace, variables=web.limits.variables())
    fetch = BuiltinTool("webfetch", web, adapt=adapt)
    return (fetch, BuiltinTool("websearch", search, web)) if search is not None else (fetch,)


def build_tools(services: ToolServices) -> Registry:
    """Return the registry with all built-in tools."""
    lsp, questions, skills = services.lsp, services.questions, services.skills
    spill = str(services.truncator.spills.folder)
    own_skills = skills.user_skill_folders() if skills else ()
    tools: tuple[AnyTool, ...] = (
        BuiltinTool("apply_patch"),
        *_bash_tools(services),
        BuiltinTool("edit"),
        BuiltinTool("glob", spill=spill),
        BuiltinTool("grep", spill=spill),
        BuiltinTool("list", spill=spill),
        *((BuiltinTool("lsp", lsp),) if lsp is not None and lsp.specs else ()),
        BuiltinTool("read", spill=spill, skills=own_skills),
        *((BuiltinTool("question", questions),) if questions is not None else ()),
        *((BuiltinTool("skill", skills),) if skills is not None else ()),
        *_subagent_tools(services),
        *_web_tools(services),
        BuiltinTool("todoread", services.store),
        BuiltinTool("todowrite", services.store),
        BuiltinTool("tool_search", lambda: registry.schemas(registry.on_demand)),
        BuiltinTool("write"),
    )
    registry = Registry(tools, limits=services.truncator.limits, subagents=services.subagents)
    return registry
