"""The built-in tools as requests need them, before their modules are loaded.

``builtin_tools.json`` has the fixed parts of the tools: the class, the properties that are not the
default, and the schemas of the arguments, which pydantic makes in 50 ms. ``docs/generate.py``
writes it, and a test compares it with the tools.
"""

import importlib
import json
from collections.abc import Callable
from dataclasses import fields
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from agent.records.json import JsonObject
from agent.records.json_reader import ExactReader
from agent.records.requests import PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.schema import parameters
from agent.tools.core.tool import Plan, Result, Tool, ToolContext, ToolSpec

if TYPE_CHECKING:  # loads pydantic
    from agent.tools.core.tool_args import ToolArgs

AnyTool: TypeAlias = Tool[Any, Any]

FILE = Path(__file__).with_name("builtin_tools.json")


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
    return {name: (spec_of(each["spec"]), each["schema"]) for name, each in _written().items()}


@cache
def _written() -> dict[str, Any]:
    return {each["spec"]["name"]: each for each in json.loads(FILE.read_text("utf-8"))}


def tool_class(name: str) -> Any:
    """Return the class of the tool *name*."""
    module, _, kind = _written()[name]["class"].partition(":")
    return getattr(importlib.import_module(module), kind)


def tool_classes() -> dict[str, Any]:
    """Return the classes of all tools by name: those with a spec in the modules of this folder."""
    found: dict[str, Any] = {}
    for path in FILE.parent.glob("*.py"):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for kind in vars(module).values():
            spec = getattr(kind, "spec", None)
            if isinstance(spec, ToolSpec) and kind.__module__ == module.__name__:
                found[spec.name] = kind
    return dict(sorted(found.items()))


def fixed_parts() -> str:
    """Return the text of ``builtin_tools.json``, from the classes of the tools."""
    written = [
        {
            "class": f"{tool.__module__}:{tool.__name__}",
            "spec": _properties(tool.spec),
            "schema": parameters(tool.args),
        }
        for tool in tool_classes().values()
    ]
    return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def facts_of_tools() -> str:
    """Return the text of ``agent/records/tool_facts.json``, from the classes of the tools."""
    written = {name: _properties(tool.facts) for name, tool in tool_classes().items()}
    return json.dumps(written, indent=1) + "\n"


def _properties(record: ToolSpec | ToolFacts) -> JsonObject:
    """Return the properties of *record* that are not the default."""
    return {
        each.name: getattr(record, each.name)
        for each in fields(record)
        if getattr(record, each.name) != each.default and getattr(record, each.name) != {}
    }
