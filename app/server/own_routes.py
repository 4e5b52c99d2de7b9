"""The endpoints for clients that are this program, which opencode's API lacks.

Their answers are the program's own records, whole.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import StreamingResponse

from agent.mcp.records import Server, ServerStatus
from agent.records.background import ShellInfo
from agent.records.errors import OpencodePyError
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.messages import Session
from agent.records.requests import PermissionRequest
from agent.runtime.folder_controls import (
    CodeState,
    Detached,
    FolderControls,
    FolderStatus,
    GuidanceState,
    MemoryFile,
    ModeState,
    RulesState,
    SpendingState,
)
from agent.runtime.local_controls import LocalControls
from agent.session.fallback import FallbackState
from agent.session.review.context_usage import ContextUsage
from agent.store.stats import UsageRow
from agent.transfer import opencode_shapes as shapes
from agent.transfer.importer import import_value
from agent.transfer.record_json import record_json
from app.server.answers import SessionAnswer
from app.server.bodies import (
    ArgumentBody,
    LinesBody,
    MemoryBody,
    ModeBody,
    NoBody,
    PinBody,
    RuleBody,
    ServerBody,
    read_body,
    read_json,
)
from app.server.endpoint import Endpoint, while_connected
from app.server.errors import RequestError
from app.server.event_routes import ALIVE, FRAME, HEADERS, HEARTBEAT
from app.server.folders import Folder, Folders

PREFIX = "/opencode-py"

DAYS = 30
"""Days of usage if a request names none."""

MAX_DAYS = 10_000

TEXT: JsonObject = {"type": "string"}


@frozen
class Call:
    """A request for a folder."""

    request: Request
    folder: Folder

    @property
    def controls(self) -> FolderControls:
        return LocalControls(self.folder.runtime)

    def query(self, name: str) -> str:
        return self.request.query_params.get(name, "")

    def named(self, what: str) -> str:
        """Return what the path names."""
        return self.request.path_params[what]

    async def session_id(self) -> str | None:
        """Return the session that the query names. Raises ``SessionNotFound``."""
        named = self.query("session")
        return (await self.folder.session(named)).id if named else None

    async def session(self) -> Session:
        """Return the session that the path names. Raises ``SessionNotFound``."""
        return await self.folder.session(self.named("session"))


Handler = Callable[[Call], Awaitable[Any]]


@frozen
class OwnRoutes:
    """The controls of the folders that clients name."""

    folders: Folders

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (*self._folder_endpoints(), *self._work_endpoints(), *self._session_endpoints())

    def _folder_endpoints(self) -> tuple[Endpoint, ...]:
        get, post = self._get, self._post
        usage, limits = tuple[UsageRow, ...], SpendingState
        return (
            get("/status", "The folder at a glance", FolderStatus, _status),
            get("/usage", "Usage by day, model and project", usage, _usage, "days"),
            get("/context", "Context usage", ContextUsage, _context, *CONTEXT),
            get("/spending", "Spending caps and rate limits", limits, _spending, "session"),
            post("/spending", "Set a spending cap", str, _set_cap, ArgumentBody, "session"),
            get("/fallback", "Fallback models", FallbackState, _fallback),
            post("/fallback", "Change when they continue", str, _change_fallback, ArgumentBody),
            get("/guidance", "Instruction files and skills", GuidanceState, _guidance),
            get("/memory", "The memory file", MemoryFile, _memory),
            post("/memory", "Add lines to it", str, _write_memory, MemoryBody),
            post("/memory/draft", "Describe that", PermissionRequest, _draft_memory, LinesBody),
            get("/mode", "The permission mode", ModeState, _mode),
            post("/mode", "Change the permission mode", ModeState, _change_mode, ModeBody),
            get("/rules", "The permission rules", RulesState, _rules, "session", "agent"),
        )

    def _work_endpoints(self) -> tuple[Endpoint, ...]:
        get, post = self._get, self._post
        output = f"{PREFIX}/shells/{{shell}}/output"
        return (
            get("/servers", "The MCP servers", tuple[ServerStatus, ...], _servers),
            post("/servers/{server}", "Change one", bool, _change_server, ServerBody),
            get("/code", "Language servers and formatters", CodeState, _code),
            post("/code/restart", "Restart language servers", bool, _restart_code),
            get("/shells", "The background commands", tuple[ShellInfo, ...], _shells),
            post("/shells/{shell}/kill", "End one", bool, _kill_shell),
            Endpoint("GET", output, "Follow its output", self._shell_output, media=STREAM),
            Endpoint("POST", f"{PREFIX}/import", "Import a session", self._import, SessionAnswer),
        )

    def _session_endpoints(self) -> tuple[Endpoint, ...]:
        post, one = self._post, "/session/{session}"
        aside, ask = f"{PREFIX}{one}/aside", "Ask a side question"
        proposed = tuple[str, ...]
        return (
            Endpoint("POST", aside, ask, self._aside, body=ArgumentBody, media=STREAM),
            post(f"{one}/memory", "Propose lines for the memory", proposed, _propose_memory),
            post(f"{one}/goal", "Set or show its goal", str, _goal, ArgumentBody),
            post(f"{one}/loop", "Set or show its loop", str, _loop, ArgumentBody),
            post(f"{one}/pin", "Pin a message", bool, _pin, PinBody),
            post(f"{one}/revoke", "Revoke a permission", bool, _revoke, RuleBody),
            post(f"{one}/detach", "Send its calls to the background", Detached, _detach),
        )

    def _get(self, path: str, summary: str, kind: Any, handler: Handler, *query: str) -> Endpoint:
        return self._endpoint("GET", path, summary, kind, handler, NoBody, query)

    def _post(
        self,
        path: str,
        summary: str,
        kind: Any,
        handler: Handler,
        body: type[BaseModel] = NoBody,
        *query: str,
    ) -> Endpoint:
        return self._endpoint("POST", path, summary, kind, handler, body, query)

    def _endpoint(
        self,
        method: str,
        path: str,
        summary: str,
        kind: Any,
        handler: Handler,
        body: type[BaseModel],
        query: tuple[str, ...],
    ) -> Endpoint:
        async def answer(request: Request) -> Json:
            return record_json(kind, await handler(await self._call(request)))

        parameters: Mapping[str, Json] = dict.fromkeys(query, TEXT)
        return Endpoint(method, PREFIX + path, summary, answer, kind, body, parameters)

    async def _call(self, request: Request) -> Call:
        return Call(request, await self.folders.of(request))

    async def _import(self, request: Request) -> Json:
        folder = await self.folders.of(request)
        runtime = folder.runtime
        data = await read_json(request)
        where = {"directory": str(runtime.directory), "project": str(runtime.project)}
        session = await import_value(runtime.store, data, "The file", **where)
        return shapes.session_shape(session, self.folders.version)

    async def _aside(self, request: Request) -> StreamingResponse:
        """Answer a side question in pieces; an error before the first one has its own status."""
        call = await self._call(request)
        asked = await read_body(request, ArgumentBody)
        pieces = call.controls.aside((await call.session()).id, asked.argument)
        first = await while_connected(request, anext(pieces, ""))

        async def lines() -> AsyncGenerator[bytes]:
            async with aclosing(pieces):
                yield _line({"text": first})
                try:
                    async for piece in pieces:
                        yield _line({"text": piece})
                except OpencodePyError as error:
                    yield _line({"error": error.message})

        return StreamingResponse(lines(), media_type=STREAM, headers=HEADERS)

    async def _shell_output(self, request: Request) -> StreamingResponse:
        """The end of a command's output, again with each change, until the command ends."""
        call = await self._call(request)
        shells, shell_id = call.folder.runtime.shells, call.named("shell")
        if shells.find(shell_id) is None:
            raise RequestError(404, f"There is no background command {shell_id}.")
        changed = asyncio.Event()

        async def lines() -> AsyncGenerator[bytes]:
            stop = shells.listen(shell_id, changed.set)
            try:
                while (shell := shells.find(shell_id)) is not None:
                    changed.clear()
                    info = record_json(ShellInfo, shell)
                    yield _line({"shell": info, "output": shells.tail(shell_id)})
                    if shell.state != "running":
                        return
                    while not await _happens(changed):
                        yield ALIVE
                    await asyncio.sleep(FRAME)
            finally:
                stop()

        return StreamingResponse(lines(), media_type=STREAM, headers=HEADERS)


STREAM = "text/event-stream"

CONTEXT = ("session", "model", "agent")


def _line(event: JsonObject) -> bytes:
    return b"data: %b\n\n" % json.dumps(event, ensure_ascii=False).encode(errors="replace")


async def _happens(event: asyncio.Event) -> bool:
    """Wait for *event*, not longer than a stream may be silent; return whether it came."""
    try:
        async with asyncio.timeout(HEARTBEAT):
            return await event.wait()
    except TimeoutError:
        return False


async def _usage(call: Call) -> tuple[UsageRow, ...]:
    days = call.query("days") or str(DAYS)
    if not days.isdecimal() or len(days) > 5 or not 0 < int(days) <= MAX_DAYS:
        raise RequestError(400, f"days is a number from 1 to {MAX_DAYS}.")
    return await call.controls.usage(int(days))


async def _context(call: Call) -> ContextUsage:
    runtime = call.folder.runtime
    model = call.query("model") or runtime.catalog.default_model()
    agent = call.query("agent") or runtime.config.config.default_agent
    return await call.controls.context(await call.session_id(), model, agent)


async def _spending(call: Call) -> SpendingState:
    return await call.controls.spending(await call.session_id())


async def _set_cap(call: Call) -> str:
    body = await read_body(call.request, ArgumentBody)

    async def named() -> Session:
        if not call.query("session"):
            raise RequestError(400, "Name the session: ?session=…")
        return await call.folder.session(call.query("session"))

    return await call.controls.set_cap(body.argument, named)


async def _fallback(call: Call) -> FallbackState:
    return await call.controls.fallback()


async def _change_fallback(call: Call) -> str:
    body = await read_body(call.request, ArgumentBody)
    return await call.controls.change_fallback(body.argument)


async def _guidance(call: Call) -> GuidanceState:
    return await call.controls.guidance()


async def _memory(call: Call) -> MemoryFile:
    return await call.controls.memory()


async def _propose_memory(call: Call) -> tuple[str, ...]:
    proposing = call.controls.propose_memory((await call.session()).id)
    return await while_connected(call.request, proposing)


async def _draft_memory(call: Call) -> PermissionRequest:
    body = await read_body(call.request, LinesBody)
    return await call.controls.draft_memory(tuple(body.lines))


async def _write_memory(call: Call) -> str:
    body = await read_body(call.request, MemoryBody)
    return await call.controls.write_memory(body.request, body.reply, body.origins)


async def _mode(call: Call) -> ModeState:
    return ModeState(call.folder.runtime.permissions.mode)


async def _change_mode(call: Call) -> ModeState:
    body = await read_body(call.request, ModeBody)
    call.folder.runtime.permissions.mode = body.mode
    return ModeState(body.mode)


async def _rules(call: Call) -> RulesState:
    agent = call.query("agent") or call.folder.runtime.config.config.default_agent
    return await call.controls.rules(await call.session_id(), agent)


async def _revoke(call: Call) -> bool:
    body = await read_body(call.request, RuleBody)
    await call.controls.revoke_rule((await call.session()).id, body.permission, body.pattern)
    return True


async def _status(call: Call) -> FolderStatus:
    found = await call.controls.status()
    return replace(found, servers=_without_secrets(found.servers))


async def _servers(call: Call) -> tuple[ServerStatus, ...]:
    return _without_secrets(await call.controls.servers())


def _without_secrets(servers: tuple[ServerStatus, ...]) -> tuple[ServerStatus, ...]:
    """Return *servers* without what can be secret in their settings: keys are in arguments and in
    the query of an address, too."""
    return tuple(replace(each, server=_without_secret(each.server)) for each in servers)


def _without_secret(server: Server) -> Server:
    address = urlsplit(server.url)
    host = address.netloc.rpartition("@")[2]
    return replace(
        server,
        command=(*server.command[:1], *(("…",) if server.command[1:] else ())),
        environment={},
        url=address._replace(netloc=host, query="", fragment="").geturl(),
        headers={},
        oauth=None,
    )


async def _change_server(call: Call) -> bool:
    body = await read_body(call.request, ServerBody)
    name = call.named("server")
    if call.folder.runtime.mcp.status(name) is None:
        raise RequestError(404, f"There is no MCP server {name}.")
    await call.controls.change_server(name, body.change)
    return True


async def _code(call: Call) -> CodeState:
    """Language servers and formatters, without their environments."""
    found = await call.controls.code()
    return replace(
        found,
        specs=tuple(replace(each, env={}, initialization={}) for each in found.specs),
        formatters=tuple(replace(each, environment={}) for each in found.formatters),
    )


async def _restart_code(call: Call) -> bool:
    await call.controls.restart_code()
    return True


async def _shells(call: Call) -> tuple[ShellInfo, ...]:
    return await call.controls.shells()


async def _kill_shell(call: Call) -> bool:
    await call.controls.kill_shell(call.named("shell"))
    return True


async def _goal(call: Call) -> str:
    body, session = await read_body(call.request, ArgumentBody), await call.session()
    model = body.model or session.model or call.folder.runtime.catalog.default_model()
    return await call.controls.goal(session, body.argument, call.session, model)


async def _loop(call: Call) -> str:
    body = await read_body(call.request, ArgumentBody)
    return await call.controls.loop(await call.session(), body.argument, call.session)


async def _pin(call: Call) -> bool:
    body, session = await read_body(call.request, PinBody), await call.session()
    found = await call.folder.runtime.store.message(body.message_id)
    if found is None or found.message.session_id != session.id:
        raise RequestError(404, f"There is no message {body.message_id} in this session.")
    await call.controls.pin(session.id, body.message_id, pinned=body.pinned)
    return True


async def _detach(call: Call) -> Detached:
    return await call.controls.detach((await call.session()).id)
