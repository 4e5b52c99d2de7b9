"""The composition root: every service of one opened folder, built once.

Front ends open a runtime and talk to ``sessions``, ``permissions`` and ``bus``; nothing
else builds a service.
"""

import asyncio
import contextlib
import functools
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent.agents import Agents
from agent.bus import Bus
from agent.config.loading import LoadedConfig, by_file
from agent.config.paths import Paths, ensure_folder
from agent.config.settings_schema import Config
from agent.files import Editor, FileTracker
from agent.git import project_root
from agent.hooks.service import Hooks
from agent.lsp.file_checks import CodeServices
from agent.mcp.service import McpService, mcp_service
from agent.permission.sandbox_policy.service import CommandSandbox
from agent.permission.service import PermissionService
from agent.permission.trust.trust import AskTrust, Trust
from agent.plugins.loading import Plugins, load_plugins
from agent.process import Terminals, kill_all
from agent.provider.catalog.catalog import Catalog
from agent.provider.client_pool import ClientPool
from agent.provider.transport.retry import RetryPolicy
from agent.records.errors import ConfigError
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.requests import PermissionMode
from agent.records.tool_facts import Answering
from agent.runtime.service_factories import (
    OpenedFolder,
    add_plugin_tools,
    bash_settings,
    code_service,
    command_sandbox,
    compaction_settings,
    fallback_service,
    hook_service,
    judges,
    models_and_agents,
    permission_service,
    plan_tools,
    read_settings,
    search_engine,
    spending_service,
    subagent_infos,
    subagent_worktrees,
    truncator_for,
    turn_limits,
    web_client,
)
from agent.runtime.worktrees import git_status, is_worktree_of, related_folders
from agent.session.context.cache_watch import CacheWatch
from agent.session.prompt.guidance import Guidance
from agent.session.prompt.request_hooks import RequestHooks
from agent.session.prompt.slash_commands import SlashCommands
from agent.session.prompt.system_prompt import SystemPrompt
from agent.session.queue import Queues
from agent.session.repository import SessionRepository
from agent.session.review.change_source import ChangeSource, LocalChanges
from agent.session.review.context_usage import ContextMeter
from agent.session.service import SessionService
from agent.session.session_hooks import SessionHooks
from agent.session.snapshots.by_project import ProjectSnapshots
from agent.session.subagents.completions import Completions
from agent.session.titles import Titles
from agent.session.turn.turn_services import StopHook, TurnServices
from agent.session.turn_runner import CLOSE_TIMEOUT
from agent.store.store import Store
from agent.tools.core.questions import QuestionService
from agent.tools.core.truncate import Truncator
from agent.tools.pipeline import Pipeline
from agent.tools.registry import Registry, ToolServices, build_tools
from agent.tools.shell.shells import Shells
from agent.tracing import Tracing

if TYPE_CHECKING:  # rarely needed
    from agent.runtime.folder_controls import FolderControls

log = logging.getLogger(__name__)


class FileNames(Protocol):
    """Search for files by parts of their names."""

    def matches(self, typed: str, limit: int = 50) -> AsyncIterator[tuple[str, ...]]: ...


class _FolderFiles:
    """The files of a folder, whose index is made for the first search."""

    def __init__(self, directory: str, project: str) -> None:
        self._directory = directory
        self._project = project

    @functools.cached_property
    def _index(self) -> FileNames:
        from agent.tools.search.file_index import FileIndex  # only where files are mentioned

        return FileIndex(self._directory, self._project)

    def matches(self, typed: str, limit: int = 50) -> AsyncIterator[tuple[str, ...]]:
        return self._index.matches(typed, limit)


MakeSessions = Callable[[TurnServices, SessionRepository], SessionService]


@frozen(kw_only=True)
class Runtime:
    """The services of an opened folder."""

    directory: Path
    """The opened folder, absolute and resolved."""
    project: Path
    """The root of the project, absolute and resolved."""
    paths: Paths
    config: LoadedConfig
    bus: Bus
    store: Store
    permissions: PermissionService
    sessions: SessionService
    agents: Agents
    catalog: Catalog
    clients: ClientPool
    registry: Registry
    trust: Trust
    """The trust in the project when it was opened."""
    guidance: Guidance
    titles: Titles
    context_usage: ContextMeter
    shells: Shells
    sandbox: CommandSandbox
    questions: QuestionService
    queues: Queues
    mcp: McpService
    commands: SlashCommands
    hooks: Hooks
    session_hooks: SessionHooks
    code: CodeServices
    plugins: Plugins
    files: FileNames
    """The files of the folder and its project."""
    git_status: Callable[[], Awaitable[str | None]]
    """Returns ``git status --porcelain=v2 --branch`` of the folder, without what a worktree was
    prepared with; None outside a repository."""
    changes: ChangeSource
    """The changes of the project to review."""
    follow_editors: Callable[[Callable[[str, JsonObject], None]], None] | None = None
    """Gives a screen what editors ask of it at the server that its sessions are on."""
    recovered: tuple[str, ...] = ()
    """The sessions, by id, whose turn a program left open that ended unexpectedly."""
    server: str = ""
    """The address of the server that the sessions are on, "" if they are here."""
    server_controls: "FolderControls | None" = None
    """The controls at that server; None at one of opencode's and at older ones, which have none."""
    notices: tuple[str, ...]
    """Sentences for the user about findings while opening."""

    async def close(self) -> None:
        """End running turns and their processes, close connections, store pending writes."""
        # Services that take longer to end than this are killed.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                started = (self.sessions, self.shells, self.mcp, self.code.servers)
                await asyncio.gather(*(service.close() for service in started))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self.session_hooks.close()
        await self.titles.close()
        self.code.file_checks.close()
        kill_all()
        await self.clients.aclose()
        await self.store.close()


async def open_runtime(
    directory: Path,
    *,
    env: Mapping[str, str],
    overrides: Mapping[str, Json] | None = None,
    mode: PermissionMode | None = None,
    stop_hooks: tuple[StopHook, ...] = (),
    ask_trust: AskTrust | None = None,
    editor: Editor | None = None,
    wait_for_background: bool = True,
    terminals: Terminals | None = None,
    answering: Answering = "text",
    trust_once: bool = False,
) -> Runtime:
    """Open *directory*. *overrides* are settings of the command line, in the form of a file.

    *mode* is the permission mode, by default the settings'. Each of *stop_hooks* can continue a
    turn that would end. *ask_trust* decides whether to trust what the project's files would run,
    before any of it is used; without it only what the user trusted before is trusted. *editor* is
    the user's editor: files are read from and written to it. Its *terminals* run the commands.
    *answering* are the answers that the user can give; the model is told if there are none. With
    *trust_once* the project is trusted until the runtime is closed, and nothing is stored of that.

    Raises ``ConfigError`` when *directory* is not a folder, ``StoreError`` when the session
    database cannot be used, ``ModelNotFound`` or ``AgentNotFound`` for what the command line named.
    """
    directory, paths = _opened(directory), Paths.find(env)
    project = await project_root(directory)
    loaded, trust = await read_settings(
        directory, project, env, overrides, paths=paths, ask=ask_trust, trust_once=trust_once
    )
    plugins = await load_plugins(directory, project, paths, env, trusted=trust.trusted)
    loaded = plugins.add_providers(loaded) if plugins.working else loaded
    store = await Store.open(ensure_folder(paths.data) / "sessions.db", bus := Bus())
    try:
        recovered = tuple(await store.recover())
        runtime = compose(
            OpenedFolder(
                directory=directory,
                project=project,
                paths=paths,
                loaded=loaded,
                trust=trust,
                bus=bus,
                store=store,
                env=env,
                mode=mode,
                stop_hooks=stop_hooks,
                plugins=plugins,
                editor=editor,
                wait_for_background=wait_for_background,
                terminals=terminals,
                answering=answering,
            )
        )
        return replace(runtime, recovered=recovered)
    except BaseException:
        await store.close()
        raise


def _tool_services(
    opened: OpenedFolder,
    config: Config,
    agents: Agents,
    guidance: Guidance,
    code: CodeServices,
    shells: Shells,
    questions: QuestionService,
    truncator: Truncator,
    sandbox: CommandSandbox,
) -> ToolServices:
    """Return the services that tools share."""
    return ToolServices(
        store=opened.store,
        shells=shells,
        truncator=truncator,
        bash=bash_settings(opened.loaded),
        sandbox=sandbox,
        web=web_client(config),
        search=search_engine(opened, config),
        questions=questions,
        subagents=subagent_infos(agents),
        allowed_subagents=agents.allowed_subagents,
        skills=guidance.skills,
        lsp=code.servers,
    )


def _system_prompt(
    opened: OpenedFolder,
    agents: Agents,
    guidance: Guidance,
    registry: Registry,
    truncator: Truncator,
    config: Config,
) -> SystemPrompt:
    return SystemPrompt(
        agents=agents,
        guidance=guidance,
        bus=opened.bus,
        store=opened.store,
        registry=registry,
        spills=truncator.spills,
        prompts=config.prompts,
        attended=opened.answering != "none",
    )


def _session_services(
    opened: OpenedFolder,
    catalog: Catalog,
    agents: Agents,
    config: Config,
    guidance: Guidance,
    folder: SessionRepository,
    hooks: Hooks,
    code: CodeServices,
    sandbox: CommandSandbox,
) -> TurnServices:
    """Return the services that turns share."""
    bus, store = opened.bus, opened.store
    permissions = permission_service(opened, agents, config)
    shells, tracing = Shells(bus), Tracing(opened.env)
    questions = QuestionService(bus)
    truncator = truncator_for(opened, config)
    registry = build_tools(
        _tool_services(
            opened, config, agents, guidance, code, shells, questions, truncator, sandbox
        )
    )
    clients = ClientPool(catalog, request_filter=RequestHooks(hooks, bus, str(opened.directory)))
    completions = Completions(catalog, clients, folder.update, config.small_model)
    return TurnServices(
        bus=bus,
        store=store,
        clients=clients,
        catalog=catalog,
        pipeline=Pipeline(registry, permissions, truncator, tracing, hooks),
        tracing=tracing,
        permissions=permissions,
        agents=agents,
        registry=registry,
        shells=shells,
        snapshots=ProjectSnapshots(opened.paths.data / "snapshots", store, enabled=config.snapshot),
        questions=questions,
        queues=Queues(store, bus),
        system_prompt=_system_prompt(opened, agents, guidance, registry, truncator, config),
        completions=completions,
        judges=judges(opened, completions),
        update=folder.update,
        stop_hooks=opened.stop_hooks,
        file_checks=code.file_checks,
        files=FileTracker(opened.editor),
        worktrees=subagent_worktrees(opened, code),
        terminals=opened.terminals,
        limits=turn_limits(config),
        spills=truncator.spills,
        cache_watch=CacheWatch(bus),
        spending=spending_service(opened, questions, config),
        fallbacks=fallback_service(opened, catalog, questions, config.fallback),
        compaction=compaction_settings(config.compaction),
        retry=RetryPolicy(attempts=config.retry.attempts, initial=config.retry.delay / 1000),
        wait_for_background=opened.wait_for_background,
        answering=opened.answering,
    )


def _repository(opened: OpenedFolder, agents: Agents) -> SessionRepository:
    return SessionRepository(
        *(opened.store, agents, str(opened.directory), str(opened.project)),
        worktrees=partial(related_folders, opened.paths, opened.directory, opened.project),
    )


def compose(opened: OpenedFolder, make_sessions: MakeSessions = SessionService) -> Runtime:
    """Build the services of *opened*. *make_sessions* makes the one that front ends call."""
    catalog, agents, loaded = models_and_agents(opened)
    config, bus, store = loaded.config, opened.bus, opened.store
    guidance = Guidance.for_folder(
        *(opened.directory, opened.trust, opened.paths, opened.env, config),
        is_worktree=partial(is_worktree_of, opened.paths, opened.project),
    )
    folder = _repository(opened, agents)
    sandbox = command_sandbox(config, opened.paths, opened.env, bus)
    hooks, unused = hook_service(opened, loaded, sandbox)
    code = code_service(opened, loaded, sandbox)
    services = _session_services(
        opened, catalog, agents, config, guidance, folder, hooks, code, sandbox
    )
    session_hooks = SessionHooks(
        *(hooks, bus, store, str(opened.directory), opened.transcripts),
        mode=lambda: services.permissions.mode,
    )
    session_hooks.start()
    services = replace(services, hooks=session_hooks)
    unused = (*opened.plugins.notices, *unused, *add_plugin_tools(opened, services.registry))
    sessions = make_sessions(services, folder)
    default, stays = config.default_agent, opened.answering != "none"
    leaving = plan_tools(sessions, services.questions, services.permissions, agents, default)
    services.registry.replace_tools("plan mode", leaving)
    titles = Titles(bus, store, folder, catalog, services.clients, config.small_model, stays=stays)
    titles.start()
    return Runtime(
        directory=opened.directory,
        project=opened.project,
        paths=opened.paths,
        config=loaded,
        bus=bus,
        store=store,
        permissions=services.permissions,
        sessions=sessions,
        agents=agents,
        catalog=catalog,
        clients=services.clients,
        registry=services.registry,
        trust=opened.trust,
        guidance=guidance,
        titles=titles,
        context_usage=ContextMeter(services, folder),
        notices=by_file((*loaded.notices, *unused, *store.notices), loaded.files),
        hooks=hooks,
        session_hooks=session_hooks,
        plugins=opened.plugins,
        questions=services.questions,
        queues=services.queues,
        shells=services.shells,
        sandbox=sandbox,
        mcp=_mcp_servers(opened, loaded, services, sandbox),
        commands=SlashCommands(loaded, agents, guidance, services.pipeline, opened.editor),
        code=code,
        files=_FolderFiles(str(opened.directory), str(opened.project)),
        git_status=partial(git_status, opened.paths, opened.directory),
        changes=LocalChanges(opened.project),
    )


def _mcp_servers(
    opened: OpenedFolder, loaded: LoadedConfig, services: TurnServices, sandbox: CommandSandbox
) -> McpService:
    return mcp_service(
        loaded,
        opened.directory,
        opened.paths,
        opened.env,
        opened.bus,
        services.registry,
        services.questions.ask,
        sandbox=sandbox,
        project=opened.project,
    )


def _opened(directory: Path) -> Path:
    try:
        found = directory.resolve(strict=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"The folder {directory} cannot be opened: {reason}.") from error
    if not found.is_dir():
        raise ConfigError(f"{directory} is not a folder.")
    if not os.access(found, os.R_OK | os.X_OK):
        raise ConfigError(f"The folder {directory} cannot be read.")
    return found
