"""Records of servers and of what they offer, without the SDK."""

import base64
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from agent.config.settings_schema import McpConfig, McpOAuthConfig
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.sandbox import ProgramSandbox
from agent.tools.core.tool import ToolContext

CONNECT_TIMEOUT = 30.0
"""Seconds for a server to become ready for use."""

IDLE_TIMEOUT = 120.0
"""Seconds that a call can go without a progress message."""

ServerState = Literal["disabled", "connecting", "connected", "needs auth", "failed"]

STATE_LABELS: Mapping[ServerState, str] = {
    "connected": "connected",
    "connecting": "connecting…",
    "needs auth": "needs a login",
    "failed": "failed",
    "disabled": "off",
}
"""The states in words."""
Transport = Literal["stdio", "http", "sse"]


@frozen(kw_only=True)
class Server:
    """A server as configured."""

    name: str
    command: tuple[str, ...] = ()
    folder: Path = Path()
    """The folder where its program starts, absolute."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    oauth: Literal[False] | McpOAuthConfig | None = None
    enabled: bool = True
    sandbox: ProgramSandbox = "off"
    """The sandbox that its program runs in."""
    patience: float | None = None
    """Seconds that the first prompt waits for the server; None for the usual time."""
    connect_timeout: float = CONNECT_TIMEOUT
    """Seconds for the server to become ready for use."""
    idle_timeout: float = IDLE_TIMEOUT
    """Seconds that a call can go without a progress message."""
    problem: str = ""
    """The reason why the server can never work, as a sentence; empty if it can."""

    @classmethod
    def from_config(cls, name: str, given: McpConfig, directory: Path) -> "Server":
        """Return the server *name* of the settings, for the opened *directory*."""
        remote = given.type == "remote" or (given.type is None and bool(given.url))
        problem = ""
        if remote and not (given.url or "").startswith(("http://", "https://")):
            problem = f"mcp.{name}.url is missing, or no http address."
        elif not remote and not given.command:
            problem = f"mcp.{name}.command is missing: the program and its arguments, as a list."
        seconds = given.timeout / 1000 if given.timeout else None
        return cls(
            name=name,
            command=() if remote else given.command,
            folder=directory / Path(given.cwd or ".").expanduser(),
            environment=given.environment,
            url=(given.url or "") if remote else "",
            headers=given.headers,
            oauth=given.oauth,
            enabled=given.enabled,
            sandbox="off" if remote else given.sandbox,
            patience=seconds,
            connect_timeout=seconds or CONNECT_TIMEOUT,
            idle_timeout=seconds or IDLE_TIMEOUT,
            problem=problem,
        )

    @property
    def remote(self) -> bool:
        return bool(self.url)

    @property
    def uses_login(self) -> bool:
        """True if logins apply: not where the settings sign the requests themselves."""
        signed = any(name.lower() == "authorization" for name in self.headers)
        return self.remote and self.oauth is not False and not signed

    @property
    def identity(self) -> str:
        """A hash of the program or address: another one is another server."""
        text = json.dumps([self.name, self.command, self.url])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def endpoint(self) -> str:
        """The command or the URL, as in the settings."""
        return self.url or " ".join(self.command)


@frozen(kw_only=True)
class ToolDefinition:
    """A tool as its server describes it."""

    name: str
    title: str = ""
    description: str = ""
    schema: JsonObject = field(default_factory=dict[str, Json])
    """The JSON schema of the arguments."""
    read_only: bool = False
    """A hint of the server's on the tool's effects; it never allows anything."""

    @property
    def digest(self) -> str:
        """A hash of everything that the model and the user see of the tool."""
        text = json.dumps([self.name, self.title, self.description, self.schema], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@frozen(kw_only=True)
class Resource:
    """A resource that a server can be asked to read."""

    uri: str
    name: str
    description: str = ""
    mime: str = ""


@frozen(kw_only=True)
class PromptArgument:
    name: str
    description: str = ""
    required: bool = False


@frozen(kw_only=True)
class Prompt:
    """A prompt template of a server."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@frozen
class Text:
    """A piece of text."""

    text: str
    uri: str = ""
    """The resource that it is the content of, if any."""


@frozen
class Blob:
    """Binary content."""

    mime: str
    data: str = field(repr=False)
    """Base64, as received."""
    uri: str = ""

    def decoded(self) -> bytes:
        """Return the bytes. Raises ``ValueError``."""
        return base64.b64decode(self.data, validate=True)


@frozen
class ResourceLink:
    """A link to a resource, without its content."""

    uri: str
    name: str = ""
    description: str = ""


Content: TypeAlias = Text | Blob | ResourceLink


@frozen
class ServerResponse:
    """The result of a call, a resource or a prompt."""

    content: tuple[Content, ...]
    is_error: bool = False
    """True if the server itself says that the call failed."""


@frozen(kw_only=True)
class Listing:
    """Everything that a server offers at the moment."""

    tools: tuple[ToolDefinition, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    instructions: str = ""
    """The server's instructions for the use of its tools."""
    problems: tuple[str, ...] = ()
    """Sentences on the unused parts."""


@frozen(kw_only=True)
class ServerStatus:
    """The status of a server."""

    server: Server
    state: ServerState
    reason: str = ""
    """A sentence on the problem, if there is one."""
    transport: Transport | None = None
    server_info: str = ""
    """The server's own name and version."""
    tools: tuple[tuple[str, ToolDefinition], ...] = ()
    """The tools, each with the name that models know it by."""
    changed_tools: tuple[str, ...] = ()
    """Names of tools whose definition differs from the approved one."""
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    instructions: str = ""
    """The approved instructions, which models are given."""
    new_instructions: str | None = None
    """The server's instructions where they differ from the approved ones."""
    problems: tuple[str, ...] = ()
    log: str = ""
    """The end of the program's output on its error stream."""


def missing_server(status: ServerStatus) -> str:
    """Return a sentence on a server that cannot be used now, "" for any other."""
    name = status.server.name
    match status.state:
        case "failed":
            return (
                f"The MCP server {name} failed, so its tools are missing. {status.reason}".strip()
            )
        case "needs auth":
            return f"The MCP server {name} needs a login: opencode-py mcp auth {name}."
        case "connecting":
            why = f" {status.reason}" if status.reason else ""
            return f"The MCP server {name} is not ready yet, so its tools are missing.{why}"
        case _:
            return ""


class ConnectionLost(Exception):
    """The connection was lost."""

    def __init__(self, *, expired: bool = False) -> None:
        """*expired*: the server had forgotten the session and did nothing."""
        super().__init__("the connection broke")
        self.expired = expired


READ_RESOURCE = "read_mcp_resource"
"""The tool that reads resources of servers."""

ReadResource: TypeAlias = Callable[[str, str], Awaitable[ServerResponse]]
"""Reads a resource of a server, by their names."""


class ToolCaller(Protocol):
    """Sends a tool call to a server."""

    async def call(self, tool: str, arguments: JsonObject, ctx: ToolContext) -> ServerResponse:
        """Call *tool*. Raises ``ToolError`` for a server that is not connected, breaks off or does
        not respond."""
        ...
