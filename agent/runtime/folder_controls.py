"""The controls of a folder: its pages and settings beside the messages of its sessions.

The controls of a folder that this process has open are ``LocalControls``. A front end whose
sessions are on a server of this program has controls that do the same there.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

from agent.lsp.connection import LspStatus, ServerSpec
from agent.lsp.formatters import Formatter
from agent.mcp.records import ServerStatus
from agent.permission.rules import Rule
from agent.permission.sandbox_policy.service import SandboxStatus
from agent.records.background import ShellInfo
from agent.records.frozen import frozen
from agent.records.memory import MemoryLine, MemoryOrigin
from agent.records.messages import Session
from agent.records.requests import PermissionMode, PermissionReply, PermissionRequest
from agent.records.sandbox import ProgramSandbox
from agent.records.spending import RateLimit, SpendingCap
from agent.session.fallback import FallbackState
from agent.session.prompt.instructions import InstructionScope
from agent.session.review.context_usage import ContextUsage
from agent.store.stats import UsageRow

McpChange = Literal["connect", "disconnect", "reconnect", "accept"]

NewSession = Callable[[], Awaitable[Session]]
"""Returns the open session, a new one if none is open."""


@frozen
class SpendingState:
    """The spending caps with their use, and the limits of each provider with the time of its
    report."""

    caps: tuple[SpendingCap, ...]
    limits: Mapping[str, tuple[float, tuple[RateLimit, ...]]]


@frozen
class InstructionFile:
    source: str
    scope: InstructionScope
    characters: int


@frozen
class Skill:
    name: str
    description: str


@frozen
class GuidanceState:
    """The instruction files and skills in force. *left_out*: the folder is not trusted, so its own
    are ignored."""

    files: tuple[InstructionFile, ...]
    skills: tuple[Skill, ...]
    notes: tuple[str, ...]
    left_out: bool


@frozen
class MemoryFile:
    path: str
    lines: tuple[MemoryLine, ...]


@frozen
class ModeState:
    """The permission mode in force."""

    mode: PermissionMode


@frozen
class RulesState:
    """The permission rules in force, the strongest last."""

    rules: tuple[Rule, ...]
    trusted: bool
    deny_wins: bool


@frozen
class CodeState:
    """Language servers, running and known ones, and formatters."""

    statuses: tuple[LspStatus, ...]
    specs: tuple[ServerSpec, ...]
    formatters: tuple[Formatter, ...]


@frozen(kw_only=True)
class FolderStatus:
    """The state of a folder at a glance."""

    trusted: bool
    sandbox: SandboxStatus
    hooks: tuple[ProgramSandbox, ...]
    """The sandbox of each hook."""
    servers: tuple[ServerStatus, ...]
    languages: tuple[LspStatus, ...]
    shells: tuple[ShellInfo, ...]
    settings: tuple[str, ...]
    """The files of the settings."""
    log: str


@frozen
class Detached:
    """The number of calls that were sent to the background."""

    subagents: int
    commands: int


class ShellOutput(Protocol):
    """The source of a command's output; ``listen`` returns a function that ends the listening."""

    def find(self, shell_id: str) -> ShellInfo | None: ...
    def tail(self, shell_id: str) -> str: ...
    def listen(self, shell_id: str, listener: Callable[[], None]) -> Callable[[], None]: ...


class FolderControls(Protocol):
    """The state of a folder, and changes of it. Each raises what the service raises."""

    @property
    def shell_output(self) -> ShellOutput: ...

    async def status(self) -> FolderStatus: ...

    async def usage(self, days: int) -> tuple[UsageRow, ...]:
        """Return the usage of the last *days* in all folders."""
        ...

    async def context(self, session_id: str | None, model: str, agent: str) -> ContextUsage: ...
    async def spending(self, session_id: str | None) -> SpendingState: ...

    async def set_cap(self, argument: str, new: NewSession) -> str:
        """Set the cap that the *argument* of ``/budget`` names; return a sentence on it."""
        ...

    async def fallback(self) -> FallbackState: ...

    async def change_fallback(self, argument: str) -> str:
        """Change when fallback models continue; return a sentence."""
        ...

    async def guidance(self) -> GuidanceState: ...
    async def memory(self) -> MemoryFile: ...
    async def propose_memory(self, session_id: str) -> tuple[str, ...]: ...

    async def draft_memory(self, lines: tuple[str, ...]) -> PermissionRequest:
        """Return the request for the change that adds *lines* to the instructions."""
        ...

    async def write_memory(
        self,
        request: PermissionRequest,
        reply: PermissionReply,
        origins: Mapping[str, MemoryOrigin],
    ) -> str:
        """Write what *reply* accepts of the change that *request* shows, which adds the lines of
        *origins*; return the name of the file."""
        ...

    async def rules(self, session_id: str | None, agent: str) -> RulesState: ...
    async def revoke_rule(self, session_id: str, permission: str, pattern: str) -> None: ...
    async def pin(self, session_id: str, message_id: str, *, pinned: bool) -> None: ...
    async def import_session(self, path: Path) -> Session: ...

    async def goal(
        self, session: Session | None, argument: str, new: NewSession, model: str
    ) -> str: ...
    async def loop(self, session: Session | None, argument: str, new: NewSession) -> str: ...
    def aside(self, session_id: str, question: str) -> AsyncGenerator[str, None]: ...
    async def servers(self) -> tuple[ServerStatus, ...]: ...
    async def change_server(self, name: str, change: McpChange) -> None: ...
    async def code(self) -> CodeState: ...
    async def restart_code(self) -> None: ...
    async def shells(self) -> tuple[ShellInfo, ...]: ...
    async def kill_shell(self, shell_id: str) -> None: ...

    async def detach(self, session_id: str) -> Detached:
        """Send the sub-agents that a turn waits for to the background, or else its commands."""
        ...
