"""The built-in tools as requests need them, before their modules are loaded.

``builtin.json`` has the fixed parts of the tools: the properties that are not the default, and the
schemas of the arguments, which pydantic makes in 50 ms. ``docs/generate.py`` writes it, and a test
compares it with the tools.
"""

import importlib
import json
from collections.abc import Callable
from dataclasses import fields
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from agent.records.exact import ExactReader
from agent.records.json import JsonObject
from agent.records.requests import PermissionReply
from agent.tools.core.base import Plan, Result, Tool, ToolContext, ToolSpec
from agent.tools.core.schema import parameters

if TYPE_CHECKING:  # loads pydantic
    from agent.tools.core.tool_args import ToolArgs

AnyTool: TypeAlias = Tool[Any, Any]

CLASSES: dict[str, tuple[str, str]] = {
    "apply_patch": ("apply_patch", "ApplyPatchTool"),
    "bash": ("bash", "BashTool"),
    "bash_output": ("bash_output", "BashOutputTool"),
    "edit": ("edit", "EditTool"),
    "glob": ("glob", "GlobTool"),
    "grep": ("grep", "GrepTool"),
    "list": ("list", "ListTool"),
    "lsp": ("lsp", "LspTool"),
    "plan_exit": ("plan_exit", "PlanExitTool"),
    "question": ("question", "QuestionTool"),
    "read": ("read", "ReadTool"),
    "skill": ("skill", "SkillTool"),
    "task": ("task", "TaskTool"),
    "task_output": ("task_output", "TaskOutputTool"),
    "todoread": ("todo", "TodoReadTool"),
    "todowrite": ("todo", "TodoWriteTool"),
    "tool_search": ("tool_search", "ToolSearchTool"),
    "webfetch": ("webfetch", "WebfetchTool"),
    "websearch": ("websearch", "WebsearchTool"),
    "write": ("write", "WriteTool"),
}
"""The module and the class of each tool."""

FILE = Path(__file__).with_name("builtin.json")


class BuiltinTool:
    """The built-in tool *name*: its class is loaded by the first call, and made with *services*.

    *adapt* returns its spec with what settings and services add.
    """

    def __init__(
        self,
        name: str,
        *services: object,
        adapt: Callable[[ToolSpec], ToolSpec] = lambda spec: spec,
        **named: object,
    ) -> None:
        self._name = name
        spec, self.schema = _fixed_parts()[name]
        self.spec = adapt(spec)
        self._make = lambda: tool_class(name)(*services, **named)

    def preload(self) -> None:
        """Load the class, which takes 0.1 s the first time: call this in a thread."""
        tool_class(self._name)

    @cached_property
    def loaded(self) -> AnyTool:
        """Return the tool itself."""
        return self._make()

    @property
    def args(self) -> "type[ToolArgs]":
        return self.loaded.args

    def concurrency_safe(self, args: "ToolArgs") -> bool:
        return self.loaded.concurrency_safe(args)

    async def prepare(self, args: "ToolArgs", ctx: ToolContext) -> Plan[Any]:
        return await self.loaded.prepare(args, ctx)

    async def execute(
        self, plan: Plan[Any], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        return await self.loaded.execute(plan, reply, ctx)


@cache
def _fixed_parts() -> dict[str, tuple[ToolSpec, JsonObject]]:
    """Return the fixed part of the spec and the schema of the arguments of each tool, by name."""
    spec_of = ExactReader(lambda _, name: name, ignores_unknown=False).of(ToolSpec)
    written = json.loads(FILE.read_text("utf-8"))
    return {each["spec"]["name"]: (spec_of(each["spec"]), each["schema"]) for each in written}


def tool_class(name: str) -> Any:
    """Return the class of the tool *name*."""
    module, kind = CLASSES[name]
    return getattr(importlib.import_module(f"agent.tools.{module}"), kind)


def fixed_parts() -> str:
    """Return the text of ``builtin.json``, from the classes of the tools."""
    written = [
        {"spec": _properties(tool.spec), "schema": parameters(tool.args)}
        for tool in map(tool_class, CLASSES)
    ]
    return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def _properties(spec: ToolSpec) -> JsonObject:
    """Return the properties of *spec* that are set."""
    values = {each.name: getattr(spec, each.name) for each in fields(spec)}
    return {name: value for name, value in values.items() if value}
