"""The object that a plugin is given: all that it needs to know of this program."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from agent.hooks.records import EVENTS, TIMEOUT, Hook, HookAnswer, HookEvent, HookFunction
from agent.plugins.function_tool import Function, FunctionTool
from agent.records.json import Json
from agent.tools.core.base import Tool

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
            raise ValueError(f"there is no event {event}; known are {', '.join(EVENTS)}")

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
            raise ValueError(f"the theme {name} has no primary colour")
        self.themes[name] = colours
