"""What is known of a server and of what it offers. Plain records, without the SDK."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from agent.config.model import McpConfig, McpOAuthConfig
from agent.records.json import JsonObject

CONNECT_TIMEOUT = 30.0
"""Seconds that a server may take to be ready for use."""

IDLE_TIMEOUT = 120.0
"""Seconds that a call may go without a sign of life."""

ServerState = Literal["disabled", "connecting", "connected", "needs auth", "failed"]
Transport = Literal["stdio", "http", "sse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server as the settings say. *folder* is where its program starts, absolute; *problem* is
    why it can never work, empty if it can. Times are seconds."""

    name: str
    command: tuple[str, ...] = ()
    folder: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    oauth: Literal[False] | McpOAuthConfig | None = None
    enabled: bool = True
    connecting: float = CONNECT_TIMEOUT
    silence: float = IDLE_TIMEOUT
    problem: str = ""

    @classmethod
    def of(cls, name: str, given: McpConfig, directory: Path) -> "Server":
        """The server *name* of the settings, for the opened *directory*."""
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
            connecting=seconds or CONNECT_TIMEOUT,
            silence=seconds or IDLE_TIMEOUT,
            problem=problem,
        )

    @property
    def remote(self) -> bool:
        return bool(self.url)

    @property
    def logs_in(self) -> bool:
        """Whether logins are for it: not where the settings sign the requests themselves."""
        signed = any(name.lower() == "authorization" for name in self.headers)
        return self.remote and self.oauth is not False and not signed

    @property
    def identity(self) -> str:
        """What it is that runs or answers: another program or address is another server."""
        said = json.dumps([self.name, self.command, self.url])
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    @property
    def shown(self) -> str:
        """The command or the address, as it stands in the settings."""
        return self.url or " ".join(self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool as its server describes it. *schema* is that of its arguments. What the server
    says of the tool's effects (*read_only*) never allows anything."""

    name: str
    title: str = ""
    description: str = ""
    schema: JsonObject = field(default_factory=dict[str, object])  # pyright: ignore[reportAssignmentType] - an empty object
    read_only: bool = False

    @property
    def mark(self) -> str:
        """A hash of all that the model and the user go by."""
        said = json.dumps([self.name, self.title, self.description, self.schema], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something that a server can be asked to read."""

    uri: str
    name: str
    description: str = ""
    mime: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt that a server has ready."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text, of the resource *uri* if it is one's."""

    text: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Blob:
    """A piece that is no text. *data* is base64, as it came."""

    mime: str
    data: str = field(repr=False)
    uri: str = ""

    def decoded(self) -> bytes:
        """The bytes. Raises ``ValueError``."""
        return base64.b64decode(self.data, validate=True)


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A resource that is named but not given."""

    uri: str
    name: str = ""
    description: str = ""


Content: TypeAlias = Text | Blob | ResourceLink


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """What a server gave. *failed*: it says itself that it could not do it."""

    pieces: tuple[Content, ...]
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """All that a server offers at the moment. *words* are what it says of the use of its tools;
    *problems* are sentences on what was left out."""

    tools: tuple[ToolDefinition, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    words: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """How a server stands. *reason* is a sentence where that is not well; *tools* are the names
    by which the model knows its tools, *changed* those whose definition is another than the one
    that was approved. *words* are what models are told of it as a whole, *new_words* what it says
    instead since that was approved, None for the same. *log* is the end of what its program
    printed on the error stream."""

    server: Server
    state: ServerState
    reason: str = ""
    wire: Transport | None = None
    about: str = ""
    tools: tuple[tuple[str, ToolDefinition], ...] = ()
    changed: tuple[str, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    words: str = ""
    new_words: str | None = None
    problems: tuple[str, ...] = ()
    log: str = ""


class ConnectionLost(Exception):
    """The connection broke. *expired*: the server had forgotten the session and did nothing."""

    def __init__(self, *, expired: bool = False) -> None:
        super().__init__("the connection broke")
        self.expired = expired
