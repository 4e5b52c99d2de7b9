"""The interface between the loop and every model: requests, stream events, ``ModelClient``.

A ``ModelClient`` turns a ``ModelRequest`` into stream events. It never raises a provider's
failure: that is the last event, ``StreamError``. Closing the generator closes the HTTP
stream. A client's events follow these rules, whatever the provider sent:

- every start has its end; parts do not overlap except tool inputs, which differ by *key*;
- ``ToolCall`` comes once per call, after its ``ToolInputEnd``, with the whole text of the
  arguments (not parsed: the executor handles invalid JSON);
- the last event is ``StepFinish`` or ``StreamError``.
"""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.frozen import frozen
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


@frozen
class Price:
    """The prices of a model in US dollars per million tokens."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    beyond: int | None = None
    """The number of prompt tokens above which the prices of *then* apply."""

    then: "Price | None" = None
    """The prices of the next tier, which can have a further tier."""

    reasoning: float | None = None
    """The price of reasoning tokens, None where it is that of the rest of the output."""


@frozen(kw_only=True)
class ModelInfo:
    """The properties of one model. Limits are in tokens, None where unknown."""

    provider: str
    id: str
    name: str
    api: Api
    base_url: str = ""
    context_limit: int | None = None
    """The limit for prompt and response together."""

    input_limit: int | None = None
    """The limit for the prompt, where it has one of its own."""

    output_limit: int | None = None
    tools: bool = True
    vision: bool = False
    """True if it takes images."""

    documents: bool = False
    """True if it takes PDF files."""

    reasoning: bool = False
    temperature: bool = True
    """True if it takes a temperature."""

    efforts: tuple[str, ...] = ()
    """The levels of reasoning effort, lowest first."""

    default_effort: str | None = None
    """The effort of requests that name none; None for the server's default."""

    price: Price | None = None
    wire_id: str = ""
    """The model's name at the server, "" where it is *id*."""

    created: float | None = None
    """The time of its release in seconds since the epoch, None where unknown."""

    @property
    def full_name(self) -> str:
        """The name that users see: ``provider/model``."""
        return f"{self.provider}/{self.id}"


@frozen
class TextContent:
    text: str
    opaque: JsonObject | None = None


@frozen
class MediaContent:
    """An image or a document."""

    mime: str
    data: str
    """The content in base64."""

    name: str = ""


@frozen
class ReasoningContent:
    text: str
    field_name: str | None = None
    opaque: JsonObject | None = None


@frozen(weakref_slot=True)
class ToolCallContent:
    call_id: str
    name: str
    input: JsonObject
    opaque: JsonObject | None = None


@frozen
class ToolResultContent:
    call_id: str
    name: str
    output: str
    is_error: bool = False
    media: tuple[MediaContent, ...] = ()


@frozen
class UserTurn:
    content: tuple[TextContent | MediaContent, ...]
    role: Literal["user"] = "user"


@frozen(weakref_slot=True)
class AssistantTurn:
    """One response of a model."""

    content: tuple[TextContent | ReasoningContent | ToolCallContent, ...]
    model: str = ""
    """The ``provider/model`` that made it: reasoning is replayed only to the same model."""

    role: Literal["assistant"] = "assistant"


@frozen
class ToolTurn:
    """The results of the assistant turn before it: one for each of its calls, in order."""

    content: tuple[ToolResultContent, ...]
    role: Literal["tool"] = "tool"


Turn: TypeAlias = UserTurn | AssistantTurn | ToolTurn


@frozen(weakref_slot=True)
class ToolSchema:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: JsonObject
    """A JSON schema of type object."""


@dataclass(slots=True)
class SentHistory:
    """The beginning of a conversation in the form in which its requests repeat it.

    ``agent.provider.protocols.sent_history`` fills and reads it.
    """

    sent_with: object = None
    """The rest of the request; the history is valid as long as that stays the same."""

    turns: tuple[Turn, ...] = ()
    text: bytearray = field(default_factory=bytearray)
    """The messages of *turns* in JSON, with a comma after each."""

    stand_in: bytes = b""
    """The message in JSON that stands for *turns* while the rest is adapted."""

    call_ids: Mapping[str, int] = field(default_factory=dict[str, int])
    reasoning_ids: frozenset[str] = frozenset()


@frozen(kw_only=True)
class ModelRequest:
    """One model call."""

    model: ModelInfo
    system: tuple[str, ...]
    """The blocks of the system prompt: the static head, then the part of the session."""

    turns: tuple[Turn, ...]
    tools: tuple[ToolSchema, ...] = ()
    max_output: int | None = None
    """The cap on output tokens, None for none."""

    temperature: float | None = None
    effort: str | None = None
    """The level of reasoning effort, None for the server's default."""

    session_id: str = ""
    calls_allowed: bool = True
    """False to only declare the tools: none of them must be called."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Headers in addition to those of the provider."""

    history: SentHistory | None = field(default=None, compare=False, repr=False)
    """What is kept of the conversation from request to request, None for a single request."""

    call_ids: Mapping[str, int] = field(default_factory=dict[str, int], repr=False)
    """The ids of calls before *turns* that were sent, with the number of the last call that asked
    for each."""

    reasoning_ids: frozenset[str] = field(default=frozenset(), repr=False)
    """The ids of reasoning before *turns* that was sent."""


@frozen
class ReasoningStart:
    field_name: str | None = None


@frozen
class ReasoningDelta:
    text: str


@frozen
class ReasoningEnd:
    opaque: JsonObject | None = None


@frozen
class TextStart:
    """The start of a text."""

    refusal: bool = False
    """True if the text is the model's refusal."""


@frozen
class TextDelta:
    text: str


@frozen
class TextEnd:
    opaque: JsonObject | None = None


@frozen
class ToolInputStart:
    """The start of a call's input."""

    key: str
    """The id of the call within the response."""

    name: str
    call_id: str | None = None
    """The provider's id of the call, None where it gives none."""


@frozen
class ToolInputDelta:
    key: str
    text: str


@frozen
class ToolInputEnd:
    key: str


@frozen
class ToolCall:
    """A complete call."""

    key: str
    name: str
    arguments: str
    """The JSON text as it arrived, "" where none arrived."""

    call_id: str | None = None
    opaque: JsonObject | None = None
    """Data that goes back to the provider with the call, unread."""

    truncated: bool = False
    """True if the output limit truncated the arguments: such a call must not run."""


@frozen
class StepFinish:
    """The end of a complete response."""

    finish: Finish | None
    raw: str | None = None
    """The provider's own finish reason."""

    usage: Usage | None = None
    """None where the provider sent none; usage is never estimated."""


@frozen
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
    """Anything that responds to a ``ModelRequest``: a wire protocol, litellm, the demo model."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the response, in the order of events that the module describes."""
        ...


LEADING_THINKING = re.compile(
    r"\A\s*<(think|thinking|reasoning|thought)>.*?(?:</\1>|\Z)", re.DOTALL
)
"""Reasoning at the start of a response, from models without a separate field for it."""


@frozen
class Completion:
    """The text of a whole response."""

    text: str
    usage: Usage | None
    """None where the provider sent none."""


async def complete(client: ModelClient, request: ModelRequest, what: str) -> Completion:
    """Return the whole response to *request*.

    Raises ``ProviderError``, also if the stream ends early or has no text; *what* names the
    expected text in the error message ("summary").
    """
    pieces: list[str] = []
    end: StepFinish | None = None
    stream = client.stream(request)
    try:
        async for event in stream:
            if isinstance(event, StreamError):
                raise event.error
            if isinstance(event, TextDelta):
                pieces.append(event.text)
            if isinstance(event, StepFinish):
                end = event
    finally:
        await stream.aclose()
    text = strip_thinking("".join(pieces))
    if end is None:
        raise ProviderError(ProviderErrorKind.NETWORK, f"The {what} ended without an end mark.")
    if not text:
        raise ProviderError(ProviderErrorKind.INVALID_REQUEST, f"The model gave an empty {what}.")
    return Completion(text, end.usage)


def strip_thinking(text: str) -> str:
    """Return *text* without the reasoning at its start.

    Some models have the opening tag in their prompt template, so that only the closing one comes.
    """
    shorter = LEADING_THINKING.sub("", text)
    while shorter != text:
        text, shorter = shorter, LEADING_THINKING.sub("", shorter)
    head, end, rest = text.partition("</think>")
    return (rest if end and "<think>" not in head else text).strip()


# Conversion of tool names to the form that providers accept, and back.

MAX_TOOL_NAME = 64
UNKNOWN_TOOL = "unknown"


class ToolNames:
    """The unique names under which *tools* are sent: at most 64 of ``[A-Za-z0-9_-]``."""

    def __init__(self, tools: Iterable[ToolSchema] = ()) -> None:
        self._sent: dict[str, str] = {}
        self._own: dict[str, str] = {}
        for tool in tools:
            wanted = sanitize_name(tool.name)
            sent, number = wanted, 1
            while sent in self._own:
                number += 1
                sent = f"{wanted[: MAX_TOOL_NAME - 4]}_{number}"
            self._sent[tool.name] = sent
            self._own[sent] = tool.name

    def to_wire(self, name: str) -> str:
        """Return the name at the provider of the tool or former call *name*."""
        return self._sent.get(name) or sanitize_name(name)

    def from_wire(self, sent: str) -> str:
        """Return our name of the tool that the provider calls *sent*."""
        return self._own.get(sent, sent)

    def is_sent(self, name: str) -> bool:
        """Return whether a tool is sent under *name*."""
        return name in self._own

    def can_continue(self, name: str) -> bool:
        """Return whether *name* can be the first piece of a longer name."""
        return any(sent.startswith(name) and sent != name for sent in self._own)


def sanitize_name(name: str) -> str:
    """Return *name* in the accepted alphabet. Models also call tools by impossible names."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_TOOL_NAME] or UNKNOWN_TOOL
