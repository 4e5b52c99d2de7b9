"""The sessions that a client has open."""

from collections.abc import Sequence
from pathlib import Path

from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.schema import AcpMcpServer, ClientCapabilities, HttpMcpServer, McpServerStdio, SseMcpServer

from agent.records.errors import ConfigError
from agent.records.json import Json, JsonObject
from agent.records.messages import Session, messages_before
from agent.runtime.pool import RuntimePool
from agent.runtime.runtime import Runtime
from agent.runtime.worktrees import is_worktree_of
from agent.session.subagents.subagents import lineage_of
from app.acp.client_services import editor_of, terminals_of
from app.acp.errors import NOT_FOUND
from app.acp.open_session import OpenSession
from app.acp.updates import plan_update

McpServers = Sequence[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]


def _overrides(servers: McpServers | None) -> JsonObject:
    """Return the settings of a client's MCP servers."""
    given: JsonObject = {}
    for server in servers or ():
        given |= _server_setting(server)
    return {"mcp": given} if given else {}


def _server_setting(
    server: HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio,
) -> JsonObject:
    """Return a server as the settings define it, {} for a kind that was not offered."""
    match server:
        case McpServerStdio():
            environment: JsonObject = {each.name: each.value for each in server.env}
            command: list[Json] = [server.command, *server.args]
            return {server.name: {"type": "local", "command": command, "environment": environment}}
        case HttpMcpServer() | SseMcpServer():
            headers: JsonObject = {each.name: each.value for each in server.headers}
            return {server.name: {"type": "remote", "url": server.url, "headers": headers}}
        case _:
            return {}


UNTRUSTED = (
    "This folder is not trusted, so its settings, commands and instructions are ignored. "
    "Start opencode-py in it once to answer the trust question."
)


class OpenSessions:
    """Open sessions by their id. Their updates go to *client*."""

    def __init__(self, folders: RuntimePool, client: Client) -> None:
        self._folders = folders
        self._client = client
        self._open: dict[str, OpenSession] = {}
        self._forms = False

    def set_capabilities(self, capabilities: ClientCapabilities | None) -> None:
        self._folders.editor = editor_of(self._client, capabilities)
        self._folders.terminals = terminals_of(self._client, capabilities)
        elicitation = capabilities.elicitation if capabilities is not None else None
        self._forms = elicitation is not None and elicitation.form is not None
        self._folders.answering = "text" if self._forms else "choice"

    def get(self, session_id: str) -> OpenSession:
        """Return an open session. Raises ``RequestError``."""
        if session_id not in self._open:
            raise RequestError(
                NOT_FOUND, f"The session {session_id} is not open: load or resume it first."
            )
        return self._open[session_id]

    def find(self, session_id: str) -> OpenSession | None:
        return self._open.get(session_id)

    async def new(self, cwd: str, servers: McpServers | None) -> OpenSession:
        """Create a session in *cwd*. Raises what ``RuntimePool.open`` raises, as do the next."""
        runtime = await self._folders.open(cwd, _overrides(servers))
        default = runtime.config.config.default_agent
        session = await runtime.sessions.repository.create(agent=default)
        return await self._add(runtime, session)

    async def fork(self, cwd: str, session_id: str, servers: McpServers | None) -> OpenSession:
        """Open a copy of a session. Raises ``SessionNotFound`` too."""
        runtime = await self._folders.open(cwd, _overrides(servers))
        session = await runtime.sessions.repository.fork(session_id)
        opened = await self._add(runtime, session)
        await opened.replay(await runtime.store.messages(session.id), send=False)
        return opened

    async def load(
        self, cwd: str, session_id: str, servers: McpServers | None, *, replay: bool
    ) -> OpenSession:
        """Open a stored session of *cwd*, or of a worktree that was created from it, and send its
        messages with *replay*.

        Raises ``SessionNotFound``, and ``ConfigError`` for a session of another folder.
        """
        runtime = await self._folders.open(cwd, _overrides(servers))
        session = await runtime.sessions.repository.open(session_id)
        if is_worktree_of(runtime.paths, runtime.project, session.project):
            runtime = await self._folders.open(session.directory, _overrides(servers))
        if Path(session.directory) != runtime.directory:
            raise ConfigError(f"The session {session_id} belongs to {session.directory}.")
        await self.close_one(session_id)
        store = runtime.store
        opened = await self._add(runtime, session)
        messages = await store.messages(session_id)
        await opened.replay(messages_before(messages, session.undone_at), send=replay)
        todos = await store.todos(session_id)
        if todos and replay:
            await opened.send((plan_update(todos),))
        return opened

    async def close_one(self, session_id: str) -> None:
        before = self._open.pop(session_id, None)
        if before is not None:
            await before.close()

    async def close(self) -> None:
        """Close everything: turns are canceled and stored."""
        await self._folders.close()
        for session_id in tuple(self._open):
            await self.close_one(session_id)

    async def list(self, cwd: str | None, limit: int, before: str | None) -> list[Session]:
        """Return sessions of a folder or of all, the last used first, *before* that id if given.

        Raises ``SessionNotFound`` if there is no such session.
        """
        runtime = await self._folders.open_any(cwd)
        if before is not None:
            await runtime.store.session(before)
        if cwd is None:
            return await runtime.store.sessions(limit=limit, before=before)
        elsewhere = await runtime.sessions.repository.elsewhere()
        return await runtime.store.sessions(
            directory=str(runtime.directory), elsewhere=elsewhere, limit=limit, before=before
        )

    async def _add(self, runtime: Runtime, session: Session) -> OpenSession:
        lineage = await lineage_of(runtime.store, session)
        opened = OpenSession(runtime, self._client, session, lineage.root_id, self._forms)
        self._open[session.id] = opened
        return opened


def start_announced(opened: OpenSession, *, new: bool = False) -> OpenSession:
    """Start the updates of a session and send its commands, after the response that opens it.

    Call it last: a client may not know the session before. For a *new* one, a missing trust in the
    folder is reported too.
    """
    opened.start()
    trust = opened.runtime.trust.status
    opened.announce((UNTRUSTED,) if new and trust == "open" else ())
    return opened
