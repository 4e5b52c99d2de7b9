"""The object that a plugin is given, and Python functions as tools: a function's signature is the
schema of its arguments."""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from agent.hooks.records import EVENTS, TIMEOUT, Hook, HookAnswer, HookEvent, HookFunction
from agent.records.blocks import TextBlock, ToolLabel
from agent.records.json import Json, JsonObject
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.base import Plan, Result, Tool, ToolContext, ToolSpec
from agent.tools.core.schema import parameters

if TYPE_CHECKING:
    from agent.tools.core.tool_args import ToolArgs

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
            raise ValueError(
                f"{tool_name!r} is not a valid name for a tool; use letters, digits, - and _"
            )
        text = description or inspect.getdoc(function) or ""
        if not text.strip():
            raise ValueError(f"the tool {tool_name} has no description; give it a docstring")
        self.args = _args_of(function, tool_name)
        self.spec = ToolSpec(name=tool_name, verb=tool_name.replace("_", " ").capitalize())
        self.description = text.strip()
        self.parameters: JsonObject = parameters(self.args)

    def concurrency_safe(self, args: "ToolArgs") -> bool:
        _ = args
        return False

    async def prepare(self, args: "ToolArgs", ctx: ToolContext) -> "Plan[ToolArgs]":
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
        self, plan: "Plan[ToolArgs]", reply: PermissionReply | None, ctx: ToolContext
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


def _args_of(function: Function, name: str) -> "type[ToolArgs]":
    """Return the arguments model of *function*'s parameters."""
    from pydantic import Field, create_model  # kept off the start-up path

    from agent.tools.core.tool_args import ToolArgs  # as above

    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == CONTEXT:
            continue
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise ValueError(f"the tool {name} takes {parameter}, which a model cannot supply")
        if parameter.name not in hints:
            raise ValueError(f"the tool {name}: declare the type of {parameter.name}")
        hint = hints[parameter.name]
        described = next((d for d in _details(hint) if isinstance(d, str)), None)
        default = ... if parameter.default is parameter.empty else parameter.default
        kind = get_args(hint)[0] if described is not None else hint
        fields[parameter.name] = (kind, Field(default, description=described or parameter.name))
    return create_model(f"{name}_arguments", __base__=ToolArgs, **fields)


def _details(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


AnyTool = Tool[Any, Any]
FunctionT = TypeVar("FunctionT", bound=Function)
HookT = TypeVar("HookT", bound=HookFunction)


@dataclass(slots=True)
class Plugin:
    """Collects what one plugin adds.

    Every method raises ``ValueError`` for what cannot be used, which ends the plugin's loading.
    """

    name: str
    """The name of its file or entry point."""
    source: str
    """The path or package that it comes from."""
    tools: list[AnyTool] = field(default_factory=list[AnyTool])
    hooks: list[Hook] = field(default_factory=list[Hook])
    providers: dict[str, Mapping[str, Json]] = field(default_factory=dict[str, Mapping[str, Json]])
    themes: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    @overload
    def tool(self, function: FunctionT) -> FunctionT: ...
    @overload
    def tool(
        self, *, name: str = "", description: str = ""
    ) -> Callable[[FunctionT], FunctionT]: ...

    def tool(
        self, function: FunctionT | None = None, *, name: str = "", description: str = ""
    ) -> FunctionT | Callable[[FunctionT], FunctionT]:
        """Make a function a tool, as a decorator, with its own name and docstring or others.

        What it returns is for the model, as text or JSON. A call asks the user unless a rule of
        its name allows it.
        """

        def added(function: FunctionT) -> FunctionT:
            made = FunctionTool(function, plugin=self.name, name=name, description=description)
            self.tools.append(made)
            return function

        return added if function is None else added(function)

    def add_tool(self, tool: AnyTool) -> None:
        """Add a tool that implements the whole protocol (``agent.tools.core.base``)."""
        self.tools.append(tool)

    def hook(
        self, event: HookEvent, *, matcher: str = "", timeout: float = TIMEOUT
    ) -> Callable[[HookT], HookT]:
        """Register a function for an event, as a decorator.

        It gets a ``HookCall`` and can return an ``answer``. *timeout* is in seconds.
        """
        if event not in EVENTS:
            raise ValueError(f"there is no event {event}; the known ones are {', '.join(EVENTS)}")

        def added(function: HookT) -> HookT:
            self.hooks.append(
                Hook(
                    event=event,
                    source=f"plugin {self.name}",
                    function=function,
                    matcher=matcher,
                    timeout=timeout,
                )
            )
            return function

        return added

    answer = HookAnswer
    """The result of a hook: ``plugin.answer(decision="deny", reason="…")``."""

    def provider(self, provider_id: str, settings: Mapping[str, Json]) -> None:
        """Add a provider, with settings as under ``provider.<id>`` of a config file.

        The user's own files take precedence.
        """
        self.providers[provider_id] = settings

    def theme(self, name: str, colours: Mapping[str, str]) -> None:
        """Add a theme: *colours* by role as hex values, ``primary`` at least.

        Roles are ``primary``, ``background``, ``foreground``, ``accent``, ``warning``, ``error``,
        ``success`` and ``secondary``.
        """
        if "primary" not in colours:
            raise ValueError(f"the theme {name} has no primary color")
        self.themes[name] = colours
