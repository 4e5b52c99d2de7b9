"""A Python function as a tool: its signature is the schema of the arguments."""

import asyncio
import inspect
import json
import re
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from agent.records.blocks import TextBlock, ToolLabel
from agent.records.json import JsonObject
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.base import Plan, Result, ToolArgs, ToolContext, ToolSpec
from agent.tools.core.schema import parameters

CONTEXT = "context"
"""The name of a parameter that gets the call's ``ToolContext``; models do not see it."""

MAX_LABEL = 60
"""Characters of the arguments on a call's line."""

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")

Function = Callable[..., Any]


class FunctionTool:
    """Calls *function*, in a thread unless it is async.

    Raises ``ValueError`` with the reason for a function that cannot be a tool.
    """

    def __init__(
        self, function: Function, *, plugin: str, name: str = "", description: str = ""
    ) -> None:
        self._function = function
        self._plugin = plugin
        tool_name = name or getattr(function, "__name__", "")
        if not _NAME.fullmatch(tool_name):
            raise ValueError(f"{tool_name!r} is no name for a tool; use letters, digits, - and _")
        text = description or inspect.getdoc(function) or ""
        if not text.strip():
            raise ValueError(f"the tool {tool_name} has no description; give it a docstring")
        self.args = _args_of(function, tool_name)
        self.spec = ToolSpec(name=tool_name, verb=tool_name.replace("_", " ").capitalize())
        self.description = text.strip()
        self.parameters: JsonObject = parameters(self.args)

    def concurrency_safe(self, args: ToolArgs) -> bool:
        _ = args
        return False

    async def prepare(self, args: ToolArgs, ctx: ToolContext) -> Plan[ToolArgs]:
        _ = ctx
        given = args.model_dump(mode="json", exclude_unset=True)
        arguments = " ".join(f"{key}={value}" for key, value in given.items())
        name = self.spec.name
        need = PermissionNeed(
            name,
            json.dumps(given, ensure_ascii=False),
            always="*",
            shown=name,
            reason=f"a tool of the plugin {self._plugin}",
        )
        spelled = "\n".join(f"{key}: {value}" for key, value in given.items())
        return Plan(
            label=ToolLabel(self.spec.verb, " ".join(arguments.split())[:MAX_LABEL]),
            payload=args,
            needs=(need,),
            blocks=(TextBlock(spelled),) if spelled else (),
            heading=f"Use the tool {name} of the plugin {self._plugin}?",
        )

    async def execute(
        self, plan: Plan[ToolArgs], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        _ = reply
        given = {name: getattr(plan.payload, name) for name in type(plan.payload).model_fields}
        if CONTEXT in inspect.signature(self._function).parameters:
            given[CONTEXT] = ctx
        if inspect.iscoroutinefunction(self._function):
            value = await self._function(**given)
        else:
            value = await asyncio.to_thread(self._function, **given)
        if isinstance(value, Result):
            return value
        return Result(value if isinstance(value, str) else json.dumps(value, default=str))


def _args_of(function: Function, name: str) -> type[ToolArgs]:
    """Return the arguments model of *function*'s parameters."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == CONTEXT:
            continue
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise ValueError(f"the tool {name} takes {parameter}, which no model can give")
        if parameter.name not in hints:
            raise ValueError(f"the tool {name}: say the type of {parameter.name}")
        hint = hints[parameter.name]
        described = next((d for d in _details(hint) if isinstance(d, str)), None)
        default = ... if parameter.default is parameter.empty else parameter.default
        kind = get_args(hint)[0] if described is not None else hint
        fields[parameter.name] = (kind, Field(default, description=described or parameter.name))
    return create_model(f"{name}_arguments", __base__=ToolArgs, **fields)


def _details(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()
