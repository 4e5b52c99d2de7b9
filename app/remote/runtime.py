"""A runtime whose sessions are those of a server.

The services that a front end uses are those of a local runtime in an empty folder; the settings
that describe models and agents are the server's, and what changes a session goes there.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.bus import Bus
from agent.config.paths import Paths
from agent.plugins.loading import Plugins
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.runtime.runtime import Runtime, compose
from agent.runtime.service_factories import OpenedFolder, read_settings
from agent.session.repository import SessionRepository
from agent.session.service import SessionService
from agent.session.turn.turn_services import TurnServices
from agent.store.store import Store
from agent.transfer.opencode_records import (
    count_of,
    dict_of,
    dicts_of,
    model_name,
    number_of,
    text_of,
    texts_of,
)
from app.remote.changes import RemoteChanges
from app.remote.connection import Connection
from app.remote.controls import RemoteControls, ShellFollower
from app.remote.mirror import Mirror
from app.remote.requests import RemotePermissions, RemoteQuestions, RemoteRequests, Sender
from app.remote.sessions import RemoteCommands, RemoteQueues, RemoteRepository, RemoteSessions
from app.startup.launch import LaunchOptions

if TYPE_CHECKING:
    from agent.permission.trust.trust import AskTrust

BUILT_IN = frozenset({"build", "plan", "general", "explore"})
"""Agents that exist here, and perhaps not at the server."""

SERVER = "opencode-py"
"""The name by which our own servers are told from opencode's."""

OLDER = (
    "The server runs an older opencode-py: its permission mode, background commands, /context, "
    "/mcp and others are not available until it is updated."
)

NO_SERVER = "http://127.0.0.1:9"
"""The address of providers here: models are called by the server."""


@frozen
class RemoteOpener:
    """Opens the runtime of a server. *scratch* is an empty folder for the copy of its sessions."""

    connection: Connection
    scratch: Path
    delay: float = 0.5
    """Seconds before the first attempt to connect again."""

    async def __call__(
        self, launch: LaunchOptions, env: Mapping[str, str], ask_trust: "AskTrust | None" = None
    ) -> Runtime:
        """Return the runtime. Raises what a request raises."""
        get, scratch = self.connection.get, self.scratch
        where = dict_of(await get("/path"))
        directory, project = text_of(where.get("directory")), text_of(where.get("worktree"))
        empty = {
            "HOME": str(scratch),
            "PATH": env.get("PATH", ""),
            "OPENCODE_PY_DATA": str(scratch / "data"),
            "OPENCODE_PY_CONFIG_DIR": str(scratch / "config"),
        }
        settings = await self._settings(launch)
        loaded, trust = await read_settings(scratch, scratch, empty, settings)
        own, _ = await read_settings(scratch, scratch, env)
        shown = own.config
        config = replace(
            loaded.config,
            ui=shown.ui,
            theme=shown.theme,
            keybinds=shown.keybinds,
            status_line=shown.status_line,
        )
        bus = Bus()
        paths = Paths.find(empty)
        paths.data.mkdir(parents=True, exist_ok=True)
        store = await Store.open(paths.data / "sessions.db", bus)
        opened = OpenedFolder(
            directory=Path(directory),
            project=Path(project),
            paths=paths,
            loaded=replace(loaded, config=config, notices=()),
            trust=trust,
            bus=bus,
            store=store,
            env=empty,
            stop_hooks=(),
            plugins=Plugins(),
        )
        return await self._composed(opened, Paths.find(env))

    async def _composed(self, opened: OpenedFolder, own: Paths) -> Runtime:
        connection, store, bus = self.connection, opened.store, opened.bus
        sender, project = Sender(bus), str(opened.project)
        health = dict_of(await connection.get("/global/health"))
        own_server = health.get("server") == SERVER
        controls: RemoteControls | None = None
        if own_server:
            follower = ShellFollower(connection, sender, delay=self.delay)
            controls = RemoteControls(connection, project, follower)
            controls = controls if await controls.are_offered() else None
        permissions = RemotePermissions(
            bus, store, connection, sender, controls.change_mode if controls is not None else None
        )
        questions = RemoteQuestions(bus, connection, sender)
        requests = RemoteRequests(store, permissions, questions)
        mirror = Mirror(connection, store, bus, requests, project, controls, delay=self.delay)

        def sessions(services: TurnServices, _: SessionRepository) -> SessionService:
            services = replace(services, permissions=permissions, questions=questions)
            repository = RemoteRepository(
                store, services.agents, str(opened.directory), project, connection, mirror
            )
            return RemoteSessions(
                services,
                repository,
                connection,
                mirror,
                sender,
                own.data / "pasted",
                queues_later=own_server,
                takes_focus=controls is not None,
            )

        runtime = compose(opened, sessions)
        await runtime.titles.close()  # the server names its sessions
        try:
            await mirror.start()
            commands = RemoteCommands(await connection.get("/command"))
        except BaseException:
            await runtime.close()
            raise
        return replace(
            runtime,
            paths=own,
            permissions=permissions,
            questions=questions,
            commands=commands,
            queues=RemoteQueues(store, bus, connection),
            files=RemoteFiles(connection),
            git_status=RemoteGit(connection),
            changes=RemoteChanges(connection),
            follow_editors=mirror.follow_editors,
            server=connection.address,
            server_controls=controls,
            notices=(OLDER,) if own_server and controls is None else (),
        )

    async def _settings(self, launch: LaunchOptions) -> dict[str, Json]:
        """Return the models and agents of the server as settings."""
        get = self.connection.get
        config, listed = dict_of(await get("/config")), dict_of(await get("/config/providers"))
        providers = {
            text_of(each.get("id")): _provider_settings(each)
            for each in dicts_of(listed.get("providers"))
            if each.get("id") != "demo"
        }
        first = next(iter(dict_of(listed.get("default")).items()), ("", ""))
        default = text_of(config.get("model")) or "/".join(map(str, first)).strip("/")
        agents = dicts_of(await get("/agent"))
        primary = [text_of(each.get("name")) for each in agents if each.get("mode") != "subagent"]
        chosen = text_of(config.get("default_agent"))
        settings: dict[str, JsonObject] = {name: {"disable": True} for name in BUILT_IN}
        settings |= {text_of(each.get("name")): _agent_settings(each) for each in agents}
        return {
            "model": launch.model or default or None,
            "default_agent": launch.agent or chosen or next(iter(primary), "build"),
            "provider": {**providers},
            "enabled_providers": [*providers],
            "agent": {**settings},
        }


def _provider_settings(provider: JsonObject) -> JsonObject:
    models = dict_of(provider.get("models"))
    return {
        "name": text_of(provider.get("name")),
        "api": "openai-chat",
        "options": {"baseURL": NO_SERVER, "apiKey": "at the server"},
        "models": {name: _model_settings(dict_of(model)) for name, model in models.items()},
        "whitelist": [*models],
    }


def _model_settings(model: JsonObject) -> JsonObject:
    limit, cost = dict_of(model.get("limit")), dict_of(model.get("cost"))
    able, cache = dict_of(model.get("capabilities")), dict_of(cost.get("cache"))
    settings: JsonObject = {
        "name": text_of(model.get("name")),
        "limit": {
            name: size for name in ("context", "output") if (size := count_of(limit.get(name)))
        },
        "reasoning": bool(able.get("reasoning")),
        "efforts": [*dict_of(model.get("variants"))],
    }
    if cost:
        settings["cost"] = {
            "input": number_of(cost.get("input")) or 0,
            "output": number_of(cost.get("output")) or 0,
            "cache_read": number_of(cache.get("read")) or 0,
            "cache_write": number_of(cache.get("write")) or 0,
        }
    return settings


def _agent_settings(agent: JsonObject) -> JsonObject:
    mode = text_of(agent.get("mode"))
    settings: JsonObject = {
        "description": text_of(agent.get("description")),
        "mode": mode if mode in {"primary", "subagent", "all"} else "primary",
        "hidden": bool(agent.get("hidden")),
    }
    if model := dict_of(agent.get("model")):
        settings["model"] = model_name(model)
    return settings


@frozen
class RemoteFiles:
    """The search for files of the server's folder by parts of their names."""

    connection: Connection

    async def matches(self, typed: str, limit: int = 50) -> AsyncGenerator[tuple[str, ...]]:
        found = await self.connection.get("/find/file", query=typed, limit=str(limit))
        yield tuple(texts_of(found))


@frozen
class RemoteGit:
    """The git status of the server's folder, as ``git status --porcelain=v2 --branch`` gives it."""

    connection: Connection

    async def __call__(self) -> str | None:
        branch = text_of(dict_of(await self.connection.get("/vcs")).get("branch"))
        if not branch:
            return None
        changed = dicts_of(await self.connection.get("/file/status"))
        names = (text_of(each.get("path")).replace("\n", " ") for each in changed)
        return "\n".join((f"# branch.head {branch}", *(f"? {name}" for name in names)))
