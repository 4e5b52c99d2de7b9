"""The settings of MCP servers, in opencode's form (spec 10, X1)."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agent.config.keys import CHECKED


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOAuthConfig:
    """How one logs in at a remote server, where it can't find that out by itself."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    client_id: str | None = None
    """The client's id, where the server registers no new ones; or the https address of a page
    that describes the client, for servers that read it from there."""
    client_secret: str | None = field(default=None, repr=False)
    """The client's secret, if it has one; better written as ``{env:NAME}`` than in full."""
    scope: str | None = None
    """What to ask for, with blanks between. Not set: what the server says that it wants."""
    callback_port: int | None = None
    """Port of this machine that the browser comes back to. Not set: any free one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpConfig:
    """An MCP server: a program that is started here, or an address."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    type: Literal["local", "remote"] | None = None
    """Not set: ``remote`` with a *url*, else ``local``."""
    command: tuple[str, ...] = ()
    """The program and its arguments."""
    cwd: str | None = None
    """The folder that it is started in; relative to the opened folder, which is the default."""
    environment: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Environment variables beside the few harmless ones that it gets."""
    url: str | None = None
    """Address of a remote server."""
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further HTTP headers of every request."""
    oauth: Literal[False] | McpOAuthConfig | None = None
    """How one logs in; false for a server that never asks."""
    enabled: bool = True
    """Whether it is started."""
    timeout: int | None = None
    """Milliseconds that it may take to connect (30,000 if not set), and that a call may go
    without a sign of life (120,000 if not set)."""
