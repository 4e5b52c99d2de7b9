"""The protocol of a tool: its arguments, a plan without effects, then the effect.

A tool is one module ``x.py`` with its description ``x.txt``. The pipeline calls ``prepare``,
which has no effect: it says what the call would do, which permissions it needs and what the
dialog shows. After the user's reply it calls ``execute`` with that very plan, so what was shown
is what runs.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from agent.files import FileTracker
from agent.permission.judge_limits import Judge
from agent.permission.read_rules import ReadRules
from agent.permission.service import PermissionContext
from agent.process import Terminals
from agent.provider.client import AssistantTurn, UserTurn
from agent.records.blocks import Block, ToolLabel
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.records.messages import FilePart
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.sandbox import READ_ONLY, SandboxGrant
from agent.tools.core.subagents import Subagents

if TYPE_CHECKING:  # loads pydantic
    from agent.tools.core.tool_args import ToolArgs

ArgsT = TypeVar("ArgsT", bound="ToolArgs")
PayloadT = TypeVar("PayloadT")


@frozen
class Plan(Generic[PayloadT]):
    """The effect that a call would have."""

    label: ToolLabel
    payload: PayloadT
    """Frozen: ``execute`` acts on it and on nothing else."""

    needs: tuple[PermissionNeed, ...] = ()
    blocks: tuple[Block, ...] = ()
    heading: str = "Allow this?"
    """The question of the permission dialog ("Run this command?")."""

    writes: tuple[str, ...] | None = None
    """All files that the call can change (real paths), None where they are unknown."""

    sandboxed: bool = False
    """The call runs a command in the sandbox that its permission gives."""


@frozen
class Result:
    """The result of a call."""

    output: str
    """The text for the model; the pipeline truncates it."""

    label: ToolLabel | None = None
    blocks: tuple[Block, ...] | None = None
    """Blocks to show instead of the plan's; None shows the plan's."""

    facts: tuple[str, ...] = ()
    """Short facts at the right end of the transcript row ("142 lines")."""

    exit_code: int | None = None
    files: tuple[FilePart, ...] = ()
    """Attachments for models that can see them."""

    failed: bool = False
    """True if the call failed; the other calls of the step are then canceled."""

    spill: str | None = None
    touched: tuple[str, ...] = ()
    """Files that were read or changed (real paths): the instructions of their folders are
    attached once all calls of the step are done."""


@frozen(kw_only=True)
class CompletionRequest:
    """A prompt from outside the session, such as an MCP server's, for a model to respond to."""

    system: str
    turns: tuple[UserTurn | AssistantTurn, ...]
    max_output: int
    """The most tokens of the response."""

    temperature: float | None = None


class Completer(Protocol):
    """A model that responds to prompts from outside; the session pays for it."""

    @property
    def model(self) -> str:
        """The model, as ``provider/model``."""
        ...

    @property
    def vision(self) -> bool:
        """Return whether the model sees images."""
        ...

    def with_model_hints(self, hints: Sequence[str]) -> "Completer":
        """Return the completer of the first of *hints* (parts of model names) that names one
        model, or this one."""
        ...

    async def complete(self, request: CompletionRequest) -> str:
        """Return the response. Raises ``OpencodePyError`` if there is none."""
        ...


BeforeChange: TypeAlias = Callable[[tuple[str, ...] | None, bool], Awaitable[None]]


class Ask(Protocol):
    """Asks for permissions whose need shows only while executing (a redirect to another host)."""

    async def __call__(
        self, needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
    ) -> PermissionReply:
        """Return the reply. Without *blocks* the dialog shows those of the call.
        Raises ``PermissionRejected``."""
        ...


class FileChecks(Protocol):
    """Formatters and language servers, for files that a tool has read or changed."""

    @property
    def has_formatters(self) -> bool:
        """Return whether any formatter is on."""
        ...

    def warm_up(self, paths: Sequence[str]) -> None:
        """Open files that were read in the language servers, before they are changed."""
        ...

    async def format(self, path: str) -> str:
        """Format a file in place. Return what went wrong as a sentence, or ""."""
        ...

    async def error_report(self, session_id: str, paths: Sequence[str]) -> str:
        """Return the errors in files that a session has changed, for the model, "" without any."""
        ...

    async def late_report(self, session_id: str) -> str:
        """Return the errors of earlier changes that have come since, "" without any."""
        ...


@frozen(kw_only=True)
class ToolContext:
    """The session and the services that a call runs with."""

    session_id: str
    root_id: str
    """The root of the session tree: permission requests and questions are routed by it."""

    message_id: str
    call_id: str
    agent: str
    directory: str
    """The working directory of the session, absolute and resolved."""

    project: str
    """The root of the project."""

    files: FileTracker
    progress: Callable[[str], None]
    """Shows the end of the output while the call runs; the caller throttles it."""

    ask: Ask
    vision: bool = False
    """The model sees images."""

    documents: bool = False
    """The model sees PDF files."""

    on_request: Callable[[str | None], None] = field(default=lambda _: None)
    """Called with the id of the request that the call waits for, and with None afterwards."""

    callers: tuple[str, ...] = ()
    """The agents for which a sub-agent works, nearest first."""

    subagents: Subagents | None = None
    completer: Completer | None = None
    judge: Judge | None = None
    """Judges calls in the permission mode of its name."""
    before_change: BeforeChange | None = None
    """Awaited before anything that can change files, with ``Plan.writes`` and whether only these
    can change."""

    by_user: bool = False
    """The user wrote the call, so it needs no permission."""

    approved: bool = False
    """The user wrote the command, which may run code of the agent's: it needs no request, but deny
    rules and the sandbox apply."""

    sandbox: SandboxGrant = READ_ONLY
    """The sandbox of a call whose plan is ``sandboxed``, by how it was allowed."""

    read_rules: Callable[[], Awaitable[ReadRules]] | None = None
    """Returns the rules for reading that apply to the call, None without any."""

    file_checks: FileChecks | None = None
    on_saved: Callable[[str], Awaitable[None]] | None = None
    """Called with the real path of a file whose unsaved changes were saved for the user."""

    terminals: Terminals | None = None
    """The terminals of the user's editor, None where commands run in shells of the program."""

    on_terminal: Callable[[str], None] = field(default=lambda _: None)
    """Called with the id of the editor's terminal that the call runs in."""

    def asking(self, tool: str) -> PermissionContext:
        """Return the context of permission requests for a call of *tool*."""
        return PermissionContext(
            session_id=self.session_id,
            root_id=self.root_id,
            message_id=self.message_id,
            call_id=self.call_id,
            agent=self.agent,
            callers=self.callers,
            tool=tool,
            folder=self.directory,
        )


@frozen
class ToolSpec:
    """The fixed properties of a tool.

    What settings, permissions and hooks need to know of a built-in tool is in its class too, as
    ``facts``.
    """

    name: str
    verb: str
    """The first word of the call's label."""

    aliases: tuple[str, ...] = ()
    """Other names that models use for it."""

    kept_end: Literal["head", "tail"] = "head"
    """The end of a long output that is kept."""

    polling: bool = False
    """Repeated calls are normal: they are no sign of a doom loop."""

    paginates: bool = False
    """The tool truncates its own output; line numbers and a closing note can exceed the limit."""

    changes_indirectly: bool = False
    """Its calls run in parallel to others although they can change files."""

    concurrent: bool = False
    """Its calls can run in parallel to others."""

    on_demand: bool = False
    """It is left out of requests while there are many such tools; ``finds_tools`` finds it."""

    finds_tools: bool = False
    """It finds the tools that are left out of requests."""

    models: str = ""
    """A regular expression, in any case, for the ids of the models that get it; "" for all."""

    replaces: tuple[str, ...] = ()
    """The tools that it replaces for those models."""

    server: str = ""
    """The MCP server that brings it, "" for none."""

    variables: dict[str, str] = field(default_factory=dict[str, str])
    """The values of the ``{{name}}`` slots in the description."""

    choices: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The values of arguments that are an enum in the schema; the tool can accept others."""


class Tool(Protocol[ArgsT, PayloadT]):
    """A tool; the registry finds it by ``spec.name``."""

    spec: ToolSpec

    @property
    def args(self) -> type[ArgsT]:
        """Return the class of the arguments."""
        ...

    def concurrency_safe(self, args: ArgsT) -> bool:
        """Return whether a call with these arguments can run in parallel to others."""
        ...

    async def prepare(self, args: ArgsT, ctx: ToolContext) -> Plan[PayloadT]:
        """Return what the call would do, without doing it. Raises ``ToolError`` for what cannot
        work."""
        ...

    async def execute(
        self, plan: Plan[PayloadT], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        """Do what *plan* says. *reply* is None if no permission was needed."""
        ...


class BaseTool:
    """A tool whose arguments do not decide whether a call can run in parallel to others."""

    spec: ToolSpec

    def concurrency_safe(self, args: "ToolArgs") -> bool:
        return self.spec.concurrent


@runtime_checkable
class ExternalTool(Protocol):
    """A tool of an MCP server or plugin: it brings its description and the schema of its
    arguments, where a built-in tool has a text file and an arguments model."""

    description: str
    parameters: JsonObject
