"""The agent's side of the protocol: one method per request."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from acp import schema
from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.meta import PROTOCOL_VERSION

from agent.installation import VERSION
from agent.records.events import SessionIdle
from agent.records.messages import Session
from agent.runtime.pool import RuntimePool
from agent.session.api import PromptInput
from agent.session.prompt.templates import init_prompt
from app.acp import options
from app.acp.errors import INVALID_PARAMS, protocol_errors, stop_reason, turn_error
from app.acp.open_session import OpenSession
from app.acp.prompt_content import Content, prompt_of, slash_command_in
from app.acp.sessions import McpServers, OpenSessions, start_announced

PAGE_SIZE = 50
"""Sessions per page of a list; the client requests the next page."""

LOGIN = "login"


class AcpAgent:
    """Answers one client. Its sessions are the program's: the full screen resumes them too."""

    def __init__(self, folders: RuntimePool) -> None:
        self._folders = folders
        self._open_sessions: OpenSessions | None = None

    @property
    def _sessions(self) -> OpenSessions:
        """The open sessions; the connection exists before any request."""
        assert self._open_sessions is not None  # set by on_connect
        return self._open_sessions

    def on_connect(self, conn: Client) -> None:
        self._open_sessions = OpenSessions(self._folders, conn)

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **_: Any,
    ) -> schema.InitializeResponse:
        """Return the one supported protocol version, whichever was requested, and capabilities."""
        self._sessions.set_capabilities(client_capabilities)
        auth = client_capabilities.auth if client_capabilities is not None else None
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=schema.Implementation(
                name="opencode-py",
                title="opencode-py",
                version=VERSION,
            ),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(
                    image=True, audio=False, embedded_context=True
                ),
                mcp_capabilities=schema.McpCapabilities(http=True, sse=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    fork=schema.SessionForkCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[_login(terminal=bool(auth and auth.terminal))],
        )

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        """Accept the login: it happens in a terminal, and keys are read when they are needed."""
        if method_id != LOGIN:
            raise RequestError(INVALID_PARAMS, f"There is no login {method_id}.")
        return schema.AuthenticateResponse()

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: McpServers | None = None,
        **_: Any,
    ) -> schema.NewSessionResponse:
        with protocol_errors():
            opened = start_announced(await self._sessions.new(cwd, mcp_servers), new=True)
            return schema.NewSessionResponse(session_id=opened.session.id, **_choices(opened))

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: McpServers | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> schema.LoadSessionResponse:
        """Open a session and send all of its messages."""
        with protocol_errors():
            opened = start_announced(
                await self._sessions.load(cwd, session_id, mcp_servers, replay=True)
            )
            return schema.LoadSessionResponse(**_choices(opened))

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: McpServers | None = None,
        **_: Any,
    ) -> schema.ResumeSessionResponse:
        """Open a session whose messages the client knows."""
        with protocol_errors():
            opened = start_announced(
                await self._sessions.load(cwd, session_id, mcp_servers, replay=False)
            )
            return schema.ResumeSessionResponse(**_choices(opened))

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: McpServers | None = None,
        **_: Any,
    ) -> schema.ForkSessionResponse:
        with protocol_errors():
            opened = start_announced(await self._sessions.fork(cwd, session_id, mcp_servers))
            return schema.ForkSessionResponse(session_id=opened.session.id, **_choices(opened))

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        """Cancel what runs in a session and send no more updates. It stays stored."""
        opened = self._sessions.get(session_id)
        await opened.cancel()
        await opened.runtime.sessions.wait(session_id)
        await self._sessions.close_one(session_id)
        return schema.CloseSessionResponse()

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """List the sessions of a folder or of all folders, the most recently used first."""
        with protocol_errors():
            found = await self._sessions.list(cwd, PAGE_SIZE, cursor)
        return schema.ListSessionsResponse(
            sessions=[_info(session) for session in found if session.turns or session.title],
            next_cursor=found[-1].id if len(found) == PAGE_SIZE else None,
        )

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        opened = self._sessions.get(session_id)
        with protocol_errors():
            await options.set_option(opened.runtime, session_id, "mode", mode_id)
            await opened.send_options()
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        opened = self._sessions.get(session_id)
        with protocol_errors():
            session = await options.set_option(opened.runtime, session_id, config_id, value)
        return schema.SetSessionConfigOptionResponse(
            config_options=list(options.options(opened.runtime, session))
        )

    async def prompt(
        self, session_id: str, prompt: Sequence[Content], **_: Any
    ) -> schema.PromptResponse:
        """Send a prompt and respond when its turn has ended."""
        opened = self._sessions.get(session_id)
        with protocol_errors():
            end = await _send_prompt(opened, prompt)
        if end.outcome == "failed":
            raise turn_error(end)
        return schema.PromptResponse(stop_reason=stop_reason(end))

    async def cancel(self, session_id: str, **_: Any) -> None:
        opened = self._sessions.find(session_id)
        if opened is not None:
            await opened.cancel()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Ignore unknown extensions, as the protocol requires."""

    async def close(self) -> None:
        await self._sessions.close()


async def _send_prompt(opened: OpenSession, prompt: Sequence[Content]) -> SessionIdle:
    """Send a prompt, or run the built-in command that it names."""
    match slash_command_in(prompt):
        case ("compact", focus):
            return await opened.compact(focus)
        case ("goal", argument):
            return await opened.goal(argument)
        case ("loop", argument):
            return await opened.loop(argument)
        case ("merge", argument):
            return await opened.merge(argument)
        case command:
            return await opened.prompt(_prompt_input(opened, command, prompt))


async def _prompt_input(
    opened: OpenSession, command: tuple[str, str] | None, prompt: Sequence[Content]
) -> PromptInput:
    """Return the prompt. Text that only looks like a command, such as a path, is sent as it is."""
    runtime = opened.runtime
    name, argument = command or ("", "")
    if name == "init":
        runtime.trust.trust_own_file()
        return PromptInput(text=init_prompt(argument))
    if name and name in {each.name for each in await runtime.commands.all()}:
        base = PromptInput(text="")
        return await runtime.commands.prompt(name, argument, opened.session, base)
    agents = [each.name for each in runtime.agents.subagents()]
    return prompt_of(prompt, runtime.directory, agents)


def _choices(opened: OpenSession) -> dict[str, Any]:
    """Return what can be chosen in a session, in both forms that the protocol has."""
    runtime, session = opened.runtime, opened.session
    return {
        "modes": options.modes(runtime, session),
        "config_options": options.options(runtime, session),
    }


def _login(*, terminal: bool) -> schema.TerminalAuthMethod | schema.AuthMethodAgent:
    """Return the login method: a terminal command, which some clients run themselves."""
    name, details = "Add a provider's key", "Runs: opencode-py auth login"
    if terminal:
        return schema.TerminalAuthMethod(
            type="terminal", id=LOGIN, name=name, description=details, args=["auth", "login"]
        )
    return schema.AuthMethodAgent(id=LOGIN, name=name, description=f"{details}, in a terminal.")


def _info(session: Session) -> schema.SessionInfo:
    return schema.SessionInfo(
        session_id=session.id,
        cwd=session.directory,
        title=session.title or None,
        updated_at=datetime.fromtimestamp(session.updated, UTC).isoformat(),
    )
