"""Sessions, messages and parts: the frozen records that the store keeps and events carry.

A *session* contains messages; a user message starts or steers a *turn*; each *step* of a turn (one
model response and its tool calls) is one assistant message; a message contains *parts*. Times are
seconds since the epoch (float). Costs are US dollars, None where unknown. Records are replaced,
never changed: use ``dataclasses.replace``.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Literal, TypeAlias

from agent.records.amounts import money, tokens
from agent.records.background import BackgroundTask
from agent.records.blocks import Block, ToolLabel
from agent.records.context_parts import CompactionPart, ContextPart, ReportPart
from agent.records.decisions import Decision, Verdict
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.records.json_reader import Tagged
from agent.records.usage import Usage

# The record of a request that found less in the provider's cache than it could have.

CacheMissCause = Literal[
    "tools", "system", "history", "model", "effort", "expired", "dropped", "restarted"
]

CAUSES: dict[CacheMissCause, str] = {
    "tools": "the tools changed",
    "system": "the system prompt changed",
    "history": "earlier messages changed",
    "model": "the model changed",
    "effort": "the reasoning effort changed",
    "expired": "the cache expired",
    "dropped": "the provider did not keep it",
    "restarted": "the program was started again",
}
"""The causes in words."""


@frozen(kw_only=True)
class CacheMiss:
    """A request of which *lost* tokens were read again although the one before it had them."""

    cause: CacheMissCause
    lost: int
    cost: float | None = None
    """US dollars that a hit would have saved; None where no price is known."""
    detail: str = ""
    """The cause in more detail, in a few words."""
    at: int | None = None
    """The first byte that differs, of tools, system prompt and messages in this order; None if
    nothing does, or it is not known."""
    was: str = ""
    """The text around that place before."""
    now: str = ""

    @property
    def sentence(self) -> str:
        """The miss in a sentence."""
        price = f" ({money(self.cost)})" if self.cost is not None else ""
        detail = f" ({self.detail})" if self.detail else ""
        return (
            f"{tokens(self.lost)} tokens were processed again{price}: {CAUSES[self.cause]}{detail}."
        )


Finish = Literal["stop", "tool-calls", "length", "paused", "content-filter", "error", "other"]
"""The reason why a response ended. A ``paused`` one is incomplete: the next request continues
it."""
Delivery = Literal["steer", "follow_up"]
Outcome = Literal["completed", "cancelled", "rejected", "limit_reached", "failed"]


@frozen
class ErrorInfo:
    """A failure as it is stored and shown."""

    kind: str
    """A ``ProviderErrorKind`` or the name of one of the exception classes."""
    message: str


SidePurpose = Literal["", "verdicts"]
"""The purpose of calls without a message: verdicts of the judge, or any other."""


@frozen(kw_only=True)
class SideUsage:
    """Usage of *model* for calls of which the session keeps no message: titles, quick questions,
    discarded responses."""

    model: str
    usage: Usage
    cost: float | None = None
    purpose: SidePurpose = ""


@frozen(kw_only=True)
class Session:
    """A session."""

    id: str
    directory: str
    """The folder that was opened."""
    project: str
    """The root of the project: the git root, or *directory*."""
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
    """The session's own usage, compactions and titles included; *cost* belongs to it."""
    cost: float | None = None
    turns: int = 0
    undone_at: str | None = None
    """The message from which on everything is undone, until the next prompt."""
    undone_tree: str | None = None
    """The snapshot of the files before the undo."""
    subagent_usage: Usage = field(default_factory=Usage)
    """Usage of its sub-agents at any depth; *subagent_cost* belongs to it."""
    subagent_cost: float | None = None
    side_usage: tuple[SideUsage, ...] = ()
    """The part of *usage* without a message, by model and purpose."""
    background_task: BackgroundTask | None = None
    """The background task of a sub-agent's session."""


@frozen(kw_only=True)
class UserMessage:
    """A message of the user, or of the program on the user's side."""

    id: str
    session_id: str
    created: float
    agent: str
    model: str
    effort: str | None = None
    turn_id: str | None = None
    """None while the message is queued."""
    delivery: Delivery = "steer"
    steered: bool = False
    """Set permanently when the message was dequeued at a later step than the first of its turn: its
    text is then always sent wrapped in a reminder."""
    synthetic: bool = False
    """True if the program wrote the message (continue, nudge); it is hidden."""
    pinned: bool = False
    """True if every compaction keeps the message word for word."""
    role: Literal["user"] = "user"


@frozen(kw_only=True)
class AssistantMessage:
    """One step: a model response and its tool calls."""

    id: str
    session_id: str
    created: float
    parent_id: str
    turn_id: str
    step: int
    """The number of the step in its turn, from 1."""
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


Message: TypeAlias = Annotated[UserMessage | AssistantMessage, Tagged("role")]


@frozen(kw_only=True)
class TextPart:
    """Text of the user or the model."""

    id: str
    session_id: str
    message_id: str
    text: str = ""
    started: float = 0.0
    ended: float | None = None
    """None while the model still writes the text."""
    synthetic: bool = False
    """True if the program added the text."""
    ignored: bool = False
    """True if the text is shown but never sent."""
    interrupted: bool = False
    opaque: JsonObject | None = None
    """Provider data that goes back unchanged with the text (its phase, its thought signature)."""
    mark: Literal["compaction_continue"] | None = None
    """The purpose of a text of the program, where that matters later."""
    type: Literal["text"] = "text"


@frozen(kw_only=True)
class ReasoningPart:
    """Reasoning of the model."""

    id: str
    session_id: str
    message_id: str
    text: str = ""
    started: float = 0.0
    ended: float | None = None
    field_name: str | None = None
    """The wire field that the reasoning came in."""
    opaque: JsonObject | None = None
    """Provider data that goes back unchanged with the next request (signatures, encrypted items),
    by provider key."""
    interrupted: bool = False
    type: Literal["reasoning"] = "reasoning"


@frozen(kw_only=True)
class Pending:
    """A call whose input is still streaming."""

    raw: str = ""
    """The JSON text so far."""
    status: Literal["pending"] = "pending"


@frozen(kw_only=True)
class Running:
    """A call whose input is complete."""

    input: JsonObject
    label: ToolLabel
    started: float
    blocks: tuple[Block, ...] = ()
    output: str = ""
    """The end of the live output (bounded)."""
    waiting: str | None = None
    """The id of the pending permission request or question."""
    judging: bool = False
    """True while the judge is asked about the call."""
    terminal: str = ""
    """The id of the terminal of the user's editor that the command runs in; "" for none."""
    status: Literal["running"] = "running"


@frozen(kw_only=True)
class Completed:
    """A call that ended with a result."""

    input: JsonObject
    label: ToolLabel
    started: float
    ended: float
    output: str
    """The text that the model reads, already truncated."""
    blocks: tuple[Block, ...] = ()
    facts: tuple[str, ...] = ()
    """Short phrases for the right side of the row."""
    exit_code: int | None = None
    spill: str | None = None
    """The private file with the whole output, if it was truncated."""
    files: tuple["FilePart", ...] = ()
    """Images and documents for models that accept them."""
    reminders: tuple[str, ...] = ()
    """Reminders that follow the results of the step: instructions, the user's comments, additions
    of hooks."""
    attached: tuple[str, ...] = ()
    """The instruction files in the reminders, each with its digest."""
    compacted: float | None = None
    """When the output was pruned (seconds since the epoch). From then on only its ends are sent."""
    status: Literal["completed"] = "completed"


FailureKind = Literal["error", "invalid", "denied", "aborted", "interrupted"]


@frozen(kw_only=True)
class Failed:
    """A call that ended without a result."""

    error: str
    """The text that the model reads."""
    kind: FailureKind
    """The reason: a fault of the tool, invalid input, a rejection, a cancel, or a crash found at
    the next start."""
    started: float
    ended: float
    input: JsonObject | None = None
    raw: str = ""
    label: ToolLabel = field(default_factory=lambda: ToolLabel(""))
    blocks: tuple[Block, ...] = ()
    output: str = ""
    spill: str | None = None
    reminders: tuple[str, ...] = ()
    compacted: float | None = None
    status: Literal["failed"] = "failed"


ToolState: TypeAlias = Annotated[Pending | Running | Completed | Failed, Tagged("status")]


@frozen(kw_only=True)
class ToolPart:
    """One tool call."""

    id: str
    session_id: str
    message_id: str
    call_id: str
    """The provider's id, or one made up that is unique in the turn."""
    tool: str
    state: ToolState = field(default_factory=Pending)
    opaque: JsonObject | None = None
    """Provider data that goes back unchanged (thought signatures)."""
    decisions: tuple[Decision, ...] = ()
    """The decisions that allowed or rejected the call, in order."""
    title: str = ""
    """The tool's own name for its calls; "" for an unknown tool."""
    type: Literal["tool"] = "tool"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of judges on the call, in order."""
        found = (decision.verdict for decision in self.decisions)
        return tuple(one for one in found if one is not None and one.model)


@frozen(kw_only=True)
class FilePart:
    """A file attached to a user message or a tool result."""

    id: str
    session_id: str
    message_id: str
    mime: str
    path: str | None = None
    data: str | None = field(default=None, repr=False)
    """Base64, or None when the file is only named by *path*."""
    omitted: float | None = None
    """When the provider refused the number or size of the files (seconds since the epoch). From
    then on a line is sent in place of this one."""
    type: Literal["file"] = "file"


@frozen(kw_only=True)
class StepStartPart:
    id: str
    session_id: str
    message_id: str
    snapshot: str | None = None
    type: Literal["step-start"] = "step-start"


@frozen(kw_only=True)
class StepFinishPart:
    id: str
    session_id: str
    message_id: str
    finish: Finish | None
    finish_raw: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    snapshot: str | None = None
    cache_miss: CacheMiss | None = None
    """The cause, if the provider's cache was missed."""
    type: Literal["step-finish"] = "step-finish"


@frozen(kw_only=True)
class PatchPart:
    """The files that a step changed, from the snapshot *base* to the snapshot *tree*."""

    id: str
    session_id: str
    message_id: str
    base: str
    files: tuple[str, ...]
    tree: str = ""
    type: Literal["patch"] = "patch"


@frozen(kw_only=True)
class SubtaskPart:
    id: str
    session_id: str
    message_id: str
    agent: str
    description: str
    prompt: str
    child_id: str | None = None
    type: Literal["subtask"] = "subtask"


@frozen(kw_only=True)
class RetryPart:
    id: str
    session_id: str
    message_id: str
    attempt: int
    error: ErrorInfo
    created: float
    change: str = ""
    """The change made before the retry, in a sentence; "" for none."""
    type: Literal["retry"] = "retry"


@frozen(kw_only=True)
class AgentPart:
    """A sub-agent that the user named with ``@``."""

    id: str
    session_id: str
    message_id: str
    name: str
    type: Literal["agent"] = "agent"


Part: TypeAlias = Annotated[
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
    | ReportPart,
    Tagged("type"),
]

SyntheticPart: TypeAlias = CompactionPart | ToolPart | ReportPart
"""Parts of the program's own messages that users see: compactions, their shell commands, reports of
background tasks."""


def is_open(part: Part) -> bool:
    """Return whether deltas can still come for *part*; the store keeps open parts in memory."""
    match part:
        case TextPart() | ReasoningPart():
            return part.ended is None
        case ToolPart():
            return isinstance(part.state, Pending | Running)
        case _:
            return False


@frozen
class MessageWithParts:
    message: Message
    parts: tuple[Part, ...]
    number: int = field(default=0, compare=False)
    """The place in the history, which the store gives; 0 before the message is stored."""


def messages_before(
    messages: Sequence[MessageWithParts], message_id: str | None
) -> Sequence[MessageWithParts]:
    """Return the messages before the one with *message_id*; all if it is not among them."""
    places = (at for at, item in enumerate(messages) if item.message.id == message_id)
    return messages[: next(places, len(messages))]


@frozen
class Idle:
    type: Literal["idle"] = "idle"


@frozen
class Busy:
    """A turn runs."""

    since: float
    """The start of the turn."""
    cancelling: bool = False
    """Set the moment a cancel arrives."""
    compacting: bool = False
    """Set while the conversation is compacted."""
    type: Literal["busy"] = "busy"


@frozen
class Retry:
    """The provider failed, and the request is sent again at *next_at* (seconds since the epoch)."""

    attempt: int
    message: str
    next_at: float
    type: Literal["retry"] = "retry"


SessionStatus: TypeAlias = Idle | Busy | Retry
