"""The boundary between the loop and any model: requests, typed stream events, the protocol.

A ``ModelClient`` turns a ``ModelRequest`` into stream events. It never raises a provider's
failure: that is the last event, ``StreamError``. Closing the generator closes the HTTP
stream. A client's events follow these rules, whatever the provider sent:

- every start has its end; parts do not overlap except tool inputs, told apart by *key*;
- ``ToolCall`` comes once per call, after its ``ToolInputEnd``, with the whole text of the
  arguments (not parsed: what is not valid JSON is the executor's business);
- the last event is ``StepFinish`` or ``StreamError``.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from agent.records.errors import ProviderError
from agent.records.json import JsonObject
from agent.records.messages import Finish, Usage

Api = Literal[
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
    "ollama",
    "cohere",
    "bedrock",
    "litellm",
    "demo",
]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens.

    A prompt of more than *beyond* tokens is billed by *then*, which may have a further tier.
    *reasoning* is for reasoning tokens where they cost otherwise than the rest of the output.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    beyond: int | None = None
    then: "Price | None" = None
    reasoning: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What is known of one model. Limits are tokens, None where unknown: *context_limit* for
    prompt and answer together, *input_limit* for the prompt where it has one of its own.

    *wire_id* is the model's name at the server where that differs from *id*. *vision* is for
    images, *documents* for PDF files.
    """

    provider: str
    id: str
    name: str
    api: Api
    base_url: str = ""
    context_limit: int | None = None
    input_limit: int | None = None
    output_limit: int | None = None
    tools: bool = True
    vision: bool = False
    documents: bool = False
    reasoning: bool = False
    temperature: bool = True
    efforts: tuple[str, ...] = ()
    price: Price | None = None
    wire_id: str = ""

    @property
    def full_name(self) -> str:
        """``provider/model``, as users name it (spec 5, R1)."""
        return f"{self.provider}/{self.id}"


@dataclass(frozen=True, slots=True)
class TextContent:
    text: str
    opaque: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class MediaContent:
    """*data* is base64."""

    mime: str
    data: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningContent:
    text: str
    field_name: str | None = None
    opaque: JsonObject | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ToolCallContent:
    call_id: str
    name: str
    input: JsonObject
    opaque: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ToolResultContent:
    call_id: str
    name: str
    output: str
    is_error: bool = False
    media: tuple[MediaContent, ...] = ()


@dataclass(frozen=True, slots=True)
class UserTurn:
    content: tuple[TextContent | MediaContent, ...]
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class AssistantTurn:
    """Made by *model* (``provider/model``), so that reasoning is replayed only to its maker."""

    content: tuple[TextContent | ReasoningContent | ToolCallContent, ...]
    model: str = ""
    role: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """The results of the assistant turn before it, one for each of its calls, in order."""

    content: tuple[ToolResultContent, ...]
    role: Literal["tool"] = "tool"


Turn: TypeAlias = UserTurn | AssistantTurn | ToolTurn


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ToolSchema:
    """A tool as the model sees it. *parameters* is a JSON schema of type object."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One model call. *system* is static head and session rest (spec 2, C9), each a block.

    *max_output* is the cap sent to the provider, None to leave it out. *may_call* false only
    declares the tools: none of them may be called. *headers* are sent beside the provider's.
    """

    model: ModelInfo
    system: tuple[str, ...]
    turns: tuple[Turn, ...]
    tools: tuple[ToolSchema, ...] = ()
    max_output: int | None = None
    temperature: float | None = None
    effort: str | None = None
    session_id: str = ""
    calls_allowed: bool = True
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class ReasoningStart:
    field_name: str | None = None


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    opaque: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class TextStart:
    """*refusal* marks text that came as the model's refusal, not as its answer."""

    refusal: bool = False


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class TextEnd:
    opaque: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ToolInputStart:
    """*key* tells calls of one response apart; *call_id* is the provider's id or None."""

    key: str
    name: str
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolInputDelta:
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolInputEnd:
    key: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call. *arguments* is the JSON text as it came ("" where none came).

    *cut* is true when the output limit cut the arguments off: such a call must not run (L2a).
    """

    key: str
    name: str
    arguments: str
    call_id: str | None = None
    opaque: JsonObject | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class StepFinish:
    """*usage* is None where the provider sent none; none is ever made up (R8)."""

    finish: Finish | None
    raw: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class StreamError:
    error: ProviderError
    usage: Usage | None = field(default=None)


StreamEvent: TypeAlias = (
    ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | TextStart
    | TextDelta
    | TextEnd
    | ToolInputStart
    | ToolInputDelta
    | ToolInputEnd
    | ToolCall
    | StepFinish
    | StreamError
)


class ModelClient(Protocol):
    """Anything that answers a ``ModelRequest``: a wire protocol, litellm, the demo model."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer. See the module's rules for the order of events."""
        ...
