"""Sessions, messages and parts: the frozen records that the store keeps and events carry.

A *session* holds messages; a user message starts or steers a *turn*; each *step* of a turn
(one model response and its tools) is one assistant message; a message holds *parts*.
Times are seconds since the epoch (float). Costs are US dollars, None where unknown.
Records are replaced, never changed: use ``dataclasses.replace``.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent.records.background import BackgroundTask
from agent.records.blocks import Block, ToolLabel
from agent.records.context_parts import CompactionPart, ContextPart, ReportPart
from agent.records.decisions import Decision
from agent.records.json import JsonObject
from agent.records.usage import Usage

Finish = Literal["stop", "tool-calls", "length", "paused", "content-filter", "error", "other"]
"""How an answer ended; a *paused* one is not at its end: asked again, the model goes on with it."""
Delivery = Literal["steer", "follow_up"]
Outcome = Literal["completed", "cancelled", "rejected", "limit_reached", "failed"]


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A failure as it is stored and shown: *kind* is a ProviderErrorKind or a class of ours."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SideUsage:
    """What *model* took for titles, questions in passing and answers that were not kept. *cost*
    is in US dollars, None where unknown."""

    model: str
    usage: Usage
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """*directory* is the folder that was opened, *project* its root (git root or the same).

    From message *undone_at* on all is taken back, until the next prompt; *undone_tree* is the
    snapshot of the files before that. *usage* and *cost* are the session's own, summaries and
    titles included; *subagent_usage* and *subagent_cost* those of its sub-agents, at any depth.
    *side_usage* is, by model, the part of its own that calls took of which it keeps no message.
    *background_task* is what a sub-agent's session does in the background.
    """

    id: str
    directory: str
    project: str
    title: str
    created: float
    updated: float
    parent_id: str | None = None
    forked_from: str | None = None
    agent: str = "build"
    model: str | None = None
    effort: str | None = None
    archived: bool = False
    pinned: bool = False
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    turns: int = 0
    undone_at: str | None = None
    undone_tree: str | None = None
    subagent_usage: Usage = field(default_factory=Usage)
    subagent_cost: float | None = None
    side_usage: tuple[SideUsage, ...] = ()
    background_task: BackgroundTask | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What the user sent. *turn_id* is None while the message waits in the queue.

    *steered* is set for good when the message was taken up from the second step of a turn
    on: its text is then sent wrapped in a reminder, always in the same form.
    *synthetic* messages were written by the harness (continue, nudge) and are hidden. *pinned*
    ones survive every summary word for word.
    """

    id: str
    session_id: str
    created: float
    agent: str
    model: str
    effort: str | None = None
    turn_id: str | None = None
    delivery: Delivery = "steer"
    steered: bool = False
    synthetic: bool = False
    pinned: bool = False
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """One step: a model response and the tools it called. *step* counts from 1 in its turn."""

    id: str
    session_id: str
    created: float
    parent_id: str
    turn_id: str
    step: int
    agent: str
    model: str
    completed: float | None = None
    finish: Finish | None = None
    usage: Usage | None = None
    cost: float | None = None
    error: ErrorInfo | None = None
    interrupted: bool = False
    pinned: bool = False
    role: Literal["assistant"] = "assistant"


Message: TypeAlias = UserMessage | AssistantMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """Text of the user or the model; open while *ended* is None and it belongs to an assistant.
    *synthetic* text was added by the harness; *ignored* text is shown but never sent. *opaque*
    goes back unchanged with the text (its phase, its thought signature). *mark* names what a
    text of the harness is for, where that matters later.
    """

    id: str
    session_id: str
    message_id: str
    text: str = ""
    started: float = 0.0
    ended: float | None = None
    synthetic: bool = False
    ignored: bool = False
    interrupted: bool = False
    opaque: JsonObject | None = None
    mark: Literal["compaction_continue"] | None = None
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningPart:
    """Reasoning. *field_name* is the wire field it came in; *opaque* what has to go back
    unchanged with the next request (signatures, encrypted items), by provider key."""

    id: str
    session_id: str
    message_id: str
    text: str = ""
    started: float = 0.0
    ended: float | None = None
    field_name: str | None = None
    opaque: JsonObject | None = None
    interrupted: bool = False
    type: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The input is still streaming; *raw* is the JSON text so far."""

    raw: str = ""
    status: Literal["pending"] = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Input complete. *output* is the live tail (bounded); *waiting* the id of an open
    question; *terminal* that of the terminal of the user's editor where it runs, "" for none."""

    input: JsonObject
    label: ToolLabel
    started: float
    blocks: tuple[Block, ...] = ()
    output: str = ""
    waiting: str | None = None
    terminal: str = ""
    status: Literal["running"] = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """*output* is what the model reads (already cut); *facts* are short words for the row's
    right side; *spill* is the private file that holds the whole output if it was cut; *files*
    are images and documents that go to models which see them; *attached* names the instruction
    files that the output ends with, each with its digest. *compacted* is when the output was left
    out of requests (seconds since the epoch): only its ends are sent from then on."""

    input: JsonObject
    label: ToolLabel
    started: float
    ended: float
    output: str
    blocks: tuple[Block, ...] = ()
    facts: tuple[str, ...] = ()
    exit_code: int | None = None
    spill: str | None = None
    files: tuple["FilePart", ...] = ()
    attached: tuple[str, ...] = ()
    compacted: float | None = None
    status: Literal["completed"] = "completed"


FailureKind = Literal["error", "invalid", "denied", "aborted", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A call that ended without a result. *error* is what the model reads; *kind* tells why:
    a fault of the tool, invalid input, a refusal, a cancel, or a crash found at start."""

    error: str
    kind: FailureKind
    started: float
    ended: float
    input: JsonObject | None = None
    raw: str = ""
    label: ToolLabel = field(default_factory=lambda: ToolLabel(""))
    blocks: tuple[Block, ...] = ()
    output: str = ""
    spill: str | None = None
    compacted: float | None = None
    status: Literal["failed"] = "failed"


ToolState: TypeAlias = Pending | Running | Completed | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPart:
    """One tool call. *call_id* is the provider's id (or one made up, unique in the turn);
    *opaque* goes back unchanged (thought signatures). *consents* tells who allowed or refused it,
    in order. *title* is its tool's own word for calls, "" where nobody has such a tool."""

    id: str
    session_id: str
    message_id: str
    call_id: str
    tool: str
    state: ToolState = field(default_factory=Pending)
    opaque: JsonObject | None = None
    decisions: tuple[Decision, ...] = ()
    title: str = ""
    type: Literal["tool"] = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """An attached file of a user message or tool result. *data* is base64, or None when the
    file is only named by *path*."""

    id: str
    session_id: str
    message_id: str
    mime: str
    path: str | None = None
    data: str | None = field(default=None, repr=False)
    type: Literal["file"] = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStartPart:
    id: str
    session_id: str
    message_id: str
    snapshot: str | None = None
    type: Literal["step-start"] = "step-start"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinishPart:
    id: str
    session_id: str
    message_id: str
    finish: Finish | None
    finish_raw: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    snapshot: str | None = None
    type: Literal["step-finish"] = "step-finish"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchPart:
    """Files that a step changed, from the snapshot *base* to the snapshot *tree*."""

    id: str
    session_id: str
    message_id: str
    base: str
    files: tuple[str, ...]
    tree: str = ""
    type: Literal["patch"] = "patch"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskPart:
    id: str
    session_id: str
    message_id: str
    agent: str
    description: str
    prompt: str
    child_id: str | None = None
    type: Literal["subtask"] = "subtask"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPart:
    id: str
    session_id: str
    message_id: str
    attempt: int
    error: ErrorInfo
    created: float
    type: Literal["retry"] = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPart:
    """An ``@agent`` that the user named."""

    id: str
    session_id: str
    message_id: str
    name: str
    type: Literal["agent"] = "agent"


Part: TypeAlias = (
    TextPart
    | ReasoningPart
    | ToolPart
    | FilePart
    | StepStartPart
    | StepFinishPart
    | PatchPart
    | CompactionPart
    | SubtaskPart
    | RetryPart
    | AgentPart
    | ContextPart
    | ReportPart
)

SyntheticPart: TypeAlias = CompactionPart | ToolPart | ReportPart
"""What people see of a message of the harness: sums, their own command, sub-agents' reports."""


def is_open(part: Part) -> bool:
    """Whether deltas may still come for *part* (the store keeps open parts in memory)."""
    match part:
        case TextPart() | ReasoningPart():
            return part.ended is None
        case ToolPart():
            return isinstance(part.state, Pending | Running)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class MessageWithParts:
    message: Message
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Idle:
    type: Literal["idle"] = "idle"


@dataclass(frozen=True, slots=True)
class Busy:
    """A turn runs. *since* is its start; *cancelling* is set the moment a cancel arrives,
    *summing* while the conversation is being summed up."""

    since: float
    cancelling: bool = False
    compacting: bool = False
    type: Literal["busy"] = "busy"


@dataclass(frozen=True, slots=True)
class Retry:
    """The provider failed and is asked again at *next_at* (seconds since the epoch)."""

    attempt: int
    message: str
    next_at: float
    type: Literal["retry"] = "retry"


SessionStatus: TypeAlias = Idle | Busy | Retry
