"""The composition root: every service of one opened folder, built once (spec 0).

Front ends open a runtime and talk to ``sessions``, ``permissions`` and ``bus``; nothing
else builds a service.
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.agents import Agents
from agent.bus import Bus
from agent.config.loading import LoadedConfig, load_config
from agent.config.model import Config, ModelConfig, ProviderConfig
from agent.config.paths import Paths, ensure
from agent.errors import ConfigError
from agent.git import project_root
from agent.jsontypes import Json
from agent.permission.service import PermissionService
from agent.provider.catalog import Catalog, ModelSettings, ProviderSettings
from agent.provider.client import Price
from agent.provider.clients import Clients
from agent.provider.providers import KNOWN
from agent.provider.retry import RetryPolicy
from agent.session.directory import Directory
from agent.session.guards import TurnLimits
from agent.session.queue import Queues
from agent.session.service import SessionService
from agent.session.system import SystemPrompts
from agent.session.turn import StopHook, TurnDeps
from agent.store.store import Store
from agent.tools.pipeline import Pipeline
from agent.tools.registry import Registry, ToolDeps, build_tools, build_truncator
from agent.tools.task import SubagentInfo

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """*directory* is the opened folder, *project* its root; both absolute and resolved.

    *notices* are sentences for the user about what was found while opening.
    """

    directory: Path
    project: Path
    paths: Paths
    config: LoadedConfig
    bus: Bus
    store: Store
    permissions: PermissionService
    sessions: SessionService
    agents: Agents
    catalog: Catalog
    clients: Clients
    registry: Registry
    notices: tuple[str, ...]

    async def close(self) -> None:
        """End running turns, close connections, write what is left."""
        await self.sessions.close()
        await self.clients.aclose()
        await self.store.close()


async def open_runtime(
    directory: Path,
    *,
    env: Mapping[str, str],
    overrides: Mapping[str, Json] | None = None,
    auto: bool = False,
    stop_hooks: tuple[StopHook, ...] = (),
) -> Runtime:
    """Open *directory*. *overrides* are settings of the command line, in the form of a file.

    *stop_hooks* may each keep a turn going that would end.

    Raises ``ConfigError`` when the folder is none, ``StoreError`` when the session database
    cannot be used, ``ModelNotFound`` or ``AgentNotFound`` for what the command line named.
    """
    directory = _opened(directory)
    project = await project_root(directory)
    paths = Paths.find(env)
    loaded = load_config(directory, project, env, overrides, paths=paths)
    bus = Bus()
    store = await Store.open(ensure(paths.data) / "sessions.db", bus)
    try:
        await store.recover()
        return _compose(
            _Opened(
                directory=directory,
                project=project,
                paths=paths,
                loaded=loaded,
                bus=bus,
                store=store,
                env=env,
                auto=auto,
                stop_hooks=stop_hooks,
            )
        )
    except BaseException:
        await store.close()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """What is there before any service is."""

    directory: Path
    project: Path
    paths: Paths
    loaded: LoadedConfig
    bus: Bus
    store: Store
    env: Mapping[str, str]
    auto: bool
    stop_hooks: tuple[StopHook, ...]


def _compose(opened: _Opened) -> Runtime:
    config = opened.loaded.config
    bus, store = opened.bus, opened.store
    providers = {name: provider_settings(name, given) for name, given in config.provider.items()}
    catalog = Catalog(providers, config.model, opened.env)
    catalog.model(catalog.default_model())  # a wrong name is told now, not at the first prompt
    agents = Agents(opened.loaded)
    agents.get(config.default_agent)
    permissions = PermissionService(
        bus,
        store,
        agents.rules,
        auto=opened.auto,
        deny_wins=config.permission_mode == "deny-wins",
    )
    tools = _tool_deps(config, opened.paths, store, agents)
    registry = build_tools(tools)
    folder = Directory(store, str(opened.directory), str(opened.project))
    deps = TurnDeps(
        bus=bus,
        store=store,
        clients=Clients(catalog),
        catalog=catalog,
        pipeline=Pipeline(registry, permissions, build_truncator(tools)),
        permissions=permissions,
        agents=agents,
        registry=registry,
        queues=Queues(store, bus),
        system=SystemPrompts(agents),
        update=folder.update,
        stop_hooks=opened.stop_hooks,
        limits=_limits(config),
        retry=RetryPolicy(attempts=config.retry.attempts, first=config.retry.delay / 1000),
    )
    return Runtime(
        directory=opened.directory,
        project=opened.project,
        paths=opened.paths,
        config=opened.loaded,
        bus=bus,
        store=store,
        permissions=permissions,
        sessions=SessionService(deps, bus, folder),
        agents=agents,
        catalog=catalog,
        clients=deps.clients,
        registry=registry,
        notices=(*opened.loaded.notices, *store.notices),
    )


def _limits(config: Config) -> TurnLimits:
    return TurnLimits(
        steps=config.limits.steps,
        tokens=config.limits.tokens,
        cost=config.limits.cost,
        repeats=config.limits.repeats,
        target=config.limits.target_tokens,
        auto_compact=config.compaction.auto,
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


def _tool_deps(config: Config, paths: Paths, store: Store, agents: Agents) -> ToolDeps:
    secret = {name for spec in KNOWN.values() for name in spec.keys}
    secret |= {name for provider in config.provider.values() for name in provider.env}
    return ToolDeps(
        store=store,
        data_dir=paths.data,
        secret_names=frozenset(secret),
        subagents=tuple(SubagentInfo(a.name, a.description) for a in agents.callable()),
        strict_env=config.bash.env == "strict",
        kept_env=config.bash.keep,
        default_timeout=config.bash.timeout / 1000,
        max_timeout=config.bash.max_timeout / 1000,
        max_lines=config.tool_output.max_lines,
        max_bytes=config.tool_output.max_bytes,
    )


def provider_settings(name: str, given: ProviderConfig) -> ProviderSettings:
    """A provider of the config as the catalogue takes it: times in seconds."""
    options = given.options
    return ProviderSettings(
        id=name,
        name=given.name,
        api=given.api,
        base_url=options.base_url,
        api_key=options.api_key,
        env=given.env,
        headers=options.headers,
        timeout=_seconds(options.timeout),
        idle_timeout=_seconds(options.chunk_timeout),
        proxy=options.proxy,
        ca=options.ca,
        models={id_: _model_settings(model) for id_, model in given.models.items()},
    )


def _seconds(milliseconds: int | Literal[False] | None) -> float | None:
    if milliseconds is None:
        return None
    return float("inf") if milliseconds is False else milliseconds / 1000


def _model_settings(given: ModelConfig) -> ModelSettings:
    cost = given.cost
    price = None
    if cost is not None and cost.input is not None and cost.output is not None:
        price = Price(cost.input, cost.output, cost.cache_read, cost.cache_write)
    return ModelSettings(
        name=given.name,
        wire_id=given.id or "",
        context_limit=given.limit.context,
        output_limit=given.limit.output,
        tools=given.tool_call,
        vision=given.vision,
        documents=given.documents,
        reasoning=given.reasoning,
        temperature=given.temperature,
        price=price,
    )
