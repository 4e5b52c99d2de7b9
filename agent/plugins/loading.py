"""Finds and loads plugins. One that fails is reported, and the others work."""

import asyncio
import contextlib
import importlib.util
import inspect
import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.machinery import SourceFileLoader
from pathlib import Path
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

from agent.config import env_variables, validation
from agent.config.definition_files import (
    DefinitionFile,
    DefinitionKind,
    find_definitions,
    project_folders,
    user_folders,
)
from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.hooks.records import EVENTS, TIMEOUT, Hook, HookAnswer, HookEvent, HookFunction
from agent.records.blocks import TextBlock, ToolLabel
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.schema import parameters
from agent.tools.core.tool import BaseTool, Plan, Result, Tool, ToolContext, ToolSpec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from _typeshed import ReadableBuffer

    from agent.tools.core.tool_args import ToolArgs


# The object that a plugin is given, and Python functions as tools: a function's signature is the
# schema of its arguments.

CONTEXT = "context"
"""The name of a parameter that gets the call's ``ToolContext``; models do not see it."""

MAX_LABEL = 60
"""Characters of the arguments on a call's line."""

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")

Function = Callable[..., Any]


class FunctionTool(BaseTool):
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

    async def prepare(self, args: "ToolArgs", ctx: ToolContext) -> "Plan[ToolArgs]":
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
        """Add a tool that implements the whole protocol (``agent.tools.core.tool``)."""
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


GROUP = "opencode_py.plugins"
"""The entry points of installed packages."""

KINDS: tuple[DefinitionKind, ...] = ("plugin", "tool")

LOAD_TIMEOUT = 10.0
"""Seconds for all plugins together to load."""

log = logging.getLogger(__name__)


@frozen
class LoadedPlugin:
    """One plugin and what it adds."""

    plugin: Plugin
    project: bool = False
    """True if it came with the opened folder."""
    failure: str = ""
    """The reason why it failed, as a sentence; empty if it did not."""
    traceback: str = ""
    """The traceback of the failure."""


@frozen
class Plugins:
    """All plugins of an opened folder, in the order of loading."""

    all: tuple[LoadedPlugin, ...] = ()

    @property
    def working(self) -> tuple[LoadedPlugin, ...]:
        return tuple(each for each in self.all if not each.failure)

    @property
    def notices(self) -> tuple[str, ...]:
        """A sentence on each plugin that failed."""
        return tuple(each.failure for each in self.all if each.failure)

    @property
    def themes(self) -> dict[str, Mapping[str, str]]:
        return {n: colors for each in self.working for n, colors in each.plugin.themes.items()}

    def add_providers(self, loaded: LoadedConfig) -> LoadedConfig:
        """Return *loaded* with the plugins' providers that no file configures."""
        config, notices = loaded.config, list(loaded.notices)
        from_project: set[str] = set()
        for each in self.working:
            for name, given in each.plugin.providers.items():
                values: JsonObject = {"provider": {name: dict(given)}}
                notices += [
                    f"{each.plugin.source}: {validation.dotted_key(f.path)}: {f.message}."
                    for f in validation.remove_invalid(values)
                ]
                made = validation.build_config(values).provider.get(name)
                if made is not None and name not in config.provider:
                    config = replace(config, provider={**config.provider, name: made})
                    from_project |= {name} if each.project else set()
        return replace(
            loaded,
            config=config,
            notices=tuple(notices),
            project_providers=loaded.project_providers | from_project,
        )


async def load_plugins(
    directory: Path,
    project: Path,
    paths: Paths,
    env: Mapping[str, str],
    *,
    trusted: bool,
    timeout: float = LOAD_TIMEOUT,
) -> Plugins:
    """Load the plugins for the opened *directory*: installed packages and the user's files.

    With trust the project's are loaded too. Their code runs in threads; a plugin that has not
    loaded within the timeout is not used.
    """
    if env_variables.is_on(env, "PURE"):
        return Plugins()
    own_folders = user_folders(paths, env)
    files = [file for kind in KINDS for file in find_definitions(kind, own_folders, env)]
    if trusted:
        folders = project_folders(directory, project, env)
        files += [file for kind in KINDS for file in find_definitions(kind, folders, env, project)]
    found = [*_installed(), *(_from_file(file) for file in files)]
    return Plugins(tuple(await _all_within(timeout, [*found])))


Register = Callable[[Plugin], object]
_Candidate = tuple[Plugin, bool, Callable[[], Register]]


async def _all_within(limit: float, found: list[_Candidate]) -> list[LoadedPlugin]:
    """Load all, each in a thread of its own: one that hangs delays neither the others nor the
    exit."""
    if not found:
        return []
    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[LoadedPlugin]] = [loop.create_future() for _ in found]
    threads = [
        threading.Thread(
            target=_in_thread, args=(loop, future, each), name=f"plugin {each[0].name}", daemon=True
        )
        for future, each in zip(futures, found, strict=True)
    ]
    for thread in threads:
        thread.start()
    await asyncio.wait(futures, timeout=limit)
    loaded: list[LoadedPlugin] = []
    for future, thread, (plugin, project, _) in zip(futures, threads, found, strict=True):
        if future.done():
            loaded.append(future.result())
            continue
        future.cancel()
        stack = _stack_of(thread)
        _stop_thread(thread)
        loaded.append(_failed(plugin, project, LATE.format(limit=limit), stack))
    return loaded


LATE = "it has not loaded within {limit:g} seconds"


def _in_thread(
    loop: asyncio.AbstractEventLoop, future: "asyncio.Future[LoadedPlugin]", found: _Candidate
) -> None:
    loaded = _load(*found)

    def report() -> None:
        if not future.done():
            future.set_result(loaded)

    with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits any more
        loop.call_soon_threadsafe(report)


def _stack_of(thread: threading.Thread) -> str:
    """Return the stack of *thread*."""
    # There is no public way to the stack of another thread.
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - see above
    frame = frames.get(thread.ident or 0)
    return "".join(traceback.format_stack(frame)) if frame is not None else ""


def _stop_thread(thread: threading.Thread) -> None:
    """Raise ``SystemExit`` in *thread* at its next step, since a loop would keep a core busy.

    A thread that sleeps stays, and is harmless.
    """
    if thread.ident is not None:
        import ctypes  # needed for a plugin that hangs

        ended = ctypes.py_object(SystemExit)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ended)


def _installed() -> Iterator[_Candidate]:
    if not any(map(_names_group, sys.path)):
        return
    from importlib.metadata import entry_points  # reads every package: 10 ms

    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        package = point.dist.name if point.dist is not None else "an installed package"
        yield Plugin(point.name, package), False, _loader(point)


def _names_group(folder: str) -> bool:
    """Return whether a package in *folder* of the import path has an entry point for plugins."""
    path = Path(folder)
    if not path.is_dir():
        return path.is_file()  # an archive is read as a whole
    for each in path.iterdir():
        if each.name.endswith((".dist-info", ".egg-info", ".egg")):
            with contextlib.suppress(OSError):
                if GROUP in (each / "entry_points.txt").read_text("utf-8", "replace"):
                    return True
    return False


def _loader(point: "EntryPoint") -> Callable[[], Register]:
    return point.load


def _from_file(file: DefinitionFile) -> _Candidate:
    return Plugin(file.name, file.source), file.project is not None, lambda: _register_of(file.path)


class _NoBytecodeLoader(SourceFileLoader):
    """Writes no bytecode next to the file: the folder is the user's."""

    def set_data(self, path: str, data: "ReadableBuffer", *, _mode: int = 0o666) -> None:
        """Write nothing."""


def _register_of(path: Path) -> Register:
    """Return the ``register`` function of the module in *path*. Raises whatever the module does."""
    name = f"opencode_py_plugin_{path.stem}_{abs(hash(path))}"
    spec = importlib.util.spec_from_file_location(
        name, path, loader=_NoBytecodeLoader(name, str(path))
    )
    if spec is None or spec.loader is None:
        raise ValueError("it is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pydantic look up their module
    spec.loader.exec_module(module)
    register = getattr(module, "register", None)
    if callable(register):
        return register
    raise ValueError("it has no function register(plugin)")


def _load(plugin: Plugin, project: bool, find: Callable[[], Register]) -> LoadedPlugin:
    """Load one plugin. Any error of its code ends here."""
    try:
        find()(plugin)
    except (Exception, SystemExit) as error:
        log.warning("the plugin %s failed", plugin.source, exc_info=True)
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        return _failed(plugin, project, why, "".join(traceback.format_exception(error)))
    return LoadedPlugin(plugin, project)


def _failed(plugin: Plugin, project: bool, why: str, where: str) -> LoadedPlugin:
    sentence = (
        f"The plugin {plugin.name} ({plugin.source}) is ignored: {why}. "
        "opencode-py debug plugins shows where."
    )
    return LoadedPlugin(Plugin(plugin.name, plugin.source), project, sentence, where)
