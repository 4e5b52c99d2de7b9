"""What a tool is (spec 3, T1): arguments, a plan without effect, then the effect.

A tool is one module ``x.py`` beside its description ``x.txt``. The pipeline calls
``prepare`` (no effect: it says what would happen, what must be asked, what the dialog
shows), asks, and only then ``execute``. So what was shown is what runs (spec 4, M10).
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict

from agent.files import FileTracker
from agent.process import Terminals
from agent.provider.client import AssistantTurn, UserTurn
from agent.records.blocks import Block, ToolLabel
from agent.records.json import JsonObject
from agent.records.messages import FilePart
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.subagents import Subagents


class ToolArgs(BaseModel):
    """Base of every tool's arguments. Unknown keys are errors that teach (T4)."""

    model_config = ConfigDict(extra="forbid")


ArgsT = TypeVar("ArgsT", bound=ToolArgs)
PayloadT = TypeVar("PayloadT")


@dataclass(frozen=True, slots=True)
class Plan(Generic[PayloadT]):
    """What a call would do. *payload* is frozen: ``execute`` acts on it and nothing else.

    *heading* is the dialog's question ("Run this command?"). *writes* are all files that the call
    may change (real paths), None where nobody can say.
    """

    label: ToolLabel
    payload: PayloadT
    needs: tuple[PermissionNeed, ...] = ()
    blocks: tuple[Block, ...] = ()
    heading: str = "Allow this?"
    writes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a call gave. *output* is for the model and is cut by the pipeline (T5).

    *blocks* replace the plan's in the transcript, None keeps them; *facts* are short words
    shown at the row's right ("142 lines"). *files* are attachments for models that see them.
    *failed* marks a result that cancels its siblings (a bash command that failed, L8).
    *touched* are the files that were read or changed (real paths): instructions of their folders
    are attached once the step's calls are over (L8, spec 6, I4).
    """

    output: str
    label: ToolLabel | None = None
    blocks: tuple[Block, ...] | None = None
    facts: tuple[str, ...] = ()
    exit_code: int | None = None
    files: tuple[FilePart, ...] = ()
    failed: bool = False
    spill: str | None = None
    touched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """A prompt of somebody else's that a model is to answer. *max_output* is in tokens."""

    system: str
    turns: tuple[UserTurn | AssistantTurn, ...]
    max_output: int
    temperature: float | None = None


class Completer(Protocol):
    """Has a prompt answered by *model* (``provider/model``), on the session's account. *vision*
    tells whether it sees images."""

    @property
    def model(self) -> str: ...
    @property
    def vision(self) -> bool: ...

    def with_model_hints(self, hints: Sequence[str]) -> "Completer":
        """The one for the first of *hints* (pieces of models' names) that is plain; else itself."""
        ...

    async def complete(self, request: CompletionRequest) -> str:
        """The answer. Raises ``OpencodePyError`` where there is none."""
        ...


BeforeChange: TypeAlias = Callable[[tuple[str, ...] | None], Awaitable[None]]


class Ask(Protocol):
    """Asks for needs that are found only while executing (a redirect to another host)."""

    async def __call__(
        self, needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
    ) -> PermissionReply:
        """The reply. *blocks* show what it is about, none of them what the call is about.
        Raises ``PermissionRejected``."""
        ...


class FileChecks(Protocol):
    """What is done with files once a tool has read or changed them (spec 10, X6 and X7)."""

    @property
    def has_formatters(self) -> bool:
        """Whether any formatter is switched on."""
        ...

    def warm_up(self, paths: Sequence[str]) -> None:
        """Files were read."""
        ...

    async def format(self, path: str) -> str:
        """Format a file in place; what went wrong as a sentence, "" if nothing did."""
        ...

    async def error_report(self, paths: Sequence[str]) -> str:
        """What is wrong in files that were changed, for the model; "" if nothing is known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Where and for whom a call runs. *directory* is the session's working folder (absolute,
    resolved), *project* its root.

    *root_id* is the root of the session tree, by which questions are routed; *callers* are the
    agents for which a sub-agent works, nearest first. *vision* and *documents* tell whether the
    model sees images and PDF files.
    *waiting* is told the id of a question that the call waits for, None when it is over.
    *progress* shows the live tail of output (bounded by the caller's throttle).
    *ask* is for needs found only while executing. *children* runs sub-agents, and *completer* has a
    prompt answered, None where there are none; *before_change* is awaited before anything that may
    change files, with which ones (``Plan.writes``). *by_user*: the user wrote the call and nobody
    is asked about it. *file_checks* looks after files that were read or changed, None where nothing
    does. *saved* is told the real path of a file whose unsaved changes were saved for the user.
    *terminals* are those of the user's editor, None where commands run in shells of the program's;
    *placed* is told the id of the one that a call runs in.
    """

    session_id: str
    root_id: str
    message_id: str
    call_id: str
    agent: str
    directory: str
    project: str
    files: FileTracker
    progress: Callable[[str], None]
    ask: Ask
    vision: bool = False
    documents: bool = False
    on_request: Callable[[str | None], None] = field(default=lambda _: None)
    callers: tuple[str, ...] = ()
    subagents: Subagents | None = None
    completer: Completer | None = None
    before_change: BeforeChange | None = None
    by_user: bool = False
    file_checks: FileChecks | None = None
    on_saved: Callable[[str], Awaitable[None]] | None = None
    terminals: Terminals | None = None
    on_terminal: Callable[[str], None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The fixed facts of a tool.

    *indirect* tools run beside others though files may change by them.
    *keep* says which end of a long output is kept; *variables* fill the ``{{name}}`` slots of
    the description; *polling* tools are left out of doom-loop detection (L4); *aliases* are
    names that models use for it. A tool that *pages* cuts its output itself: line numbers and
    a closing note may then pass the limits a little.

    *models* says which models get it, by their id (None: all); for those it stands in place of
    the tools *instead_of*. *on_demand* tools are left out of requests while they are many; then
    the tool that *finds* them is offered. *server* is the MCP server that brings it, "" for none.
    """

    name: str
    verb: str
    aliases: tuple[str, ...] = ()
    kept_end: Literal["head", "tail"] = "head"
    polling: bool = False
    paginates: bool = False
    changes_indirectly: bool = False
    on_demand: bool = False
    finds_tools: bool = False
    models: re.Pattern[str] | None = None
    replaces: tuple[str, ...] = ()
    server: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])


class Tool(Protocol[ArgsT, PayloadT]):
    """The protocol of a tool; the registry finds it by ``spec.name``."""

    spec: ToolSpec
    args: type[ArgsT]

    def concurrency_safe(self, args: ArgsT) -> bool:
        """Whether a call with these parsed arguments may run beside others (L8)."""
        ...

    async def prepare(self, args: ArgsT, ctx: ToolContext) -> Plan[PayloadT]:
        """Say what would happen. No effect. Raises ``ToolError`` for what can't work."""
        ...

    async def execute(
        self, plan: Plan[PayloadT], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        """Do it. *reply* is None when nothing had to be asked."""
        ...


@runtime_checkable
class ExternalTool(Protocol):
    """A tool of somebody else's: it brings its description and the schema of its arguments,
    where one of our own has an ``x.txt`` and an arguments model."""

    description: str
    parameters: JsonObject
