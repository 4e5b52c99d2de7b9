"""Sampling: a server requests a model's response to a prompt during a call.

The user has to allow it. A model of the session responds, and the session pays.
"""

from collections.abc import Sequence
from typing import Literal

from agent.mcp.records import Blob, Content, Text
from agent.provider.client import AssistantTurn, MediaContent, TextContent, UserTurn
from agent.records.blocks import TextBlock
from agent.records.errors import OpencodePyError, PermissionRejected
from agent.records.frozen import frozen
from agent.records.requests import PermissionNeed
from agent.tools.core.tool import Completer, CompletionRequest, ToolContext
from agent.tools.core.truncate import without_invisible

PERMISSION = "mcp_sampling"
"""The permission that rules name; the pattern is the server's name."""

MAX_REQUESTS = 20
"""Requests of one call: each costs money, and the user must not be asked forever."""

MAX_PROMPT = 200_000
"""Characters of a prompt."""


class SamplingRefused(Exception):
    """A prompt gets no response; ``str`` is the reason, for the server."""


@frozen
class SampleMessage:
    """A message of the prompt."""

    role: Literal["user", "assistant"]
    content: tuple[Content, ...]


@frozen(kw_only=True)
class SampleResult:
    """A model's response."""

    text: str
    model: str
    """The model that responded, as ``provider/model``."""


@frozen(kw_only=True)
class SampleRequest:
    """A prompt of a server, for a model to respond to."""

    system: str
    messages: tuple[SampleMessage, ...]
    max_tokens: int
    """The longest response, in tokens."""
    temperature: float | None = None
    hints: tuple[str, ...] = ()
    """Parts of models' names, the preferred one first."""


async def complete_sample(server: str, sample: SampleRequest, context: ToolContext) -> SampleResult:
    """Have *sample* answered on behalf of the call *context*. Raises ``SamplingRefused``."""
    completer = context.completer
    if completer is None:
        raise SamplingRefused("No model is available here.")
    completer = completer.with_model_hints(sample.hints)
    completion = _completion(sample, completer)
    shown = _prompt_text(sample, completer)
    if len(shown) > MAX_PROMPT:
        raise SamplingRefused(f"The prompt is longer than {MAX_PROMPT:,} characters.")
    need = PermissionNeed(
        PERMISSION,
        server,
        always=server,
        shown=f"{without_invisible(server)} asks {completer.model}",
        reason=f"the MCP server {without_invisible(server)} sends its own text to the model",
    )
    heading = f"Let the MCP server {without_invisible(server)} ask the model?"
    try:
        await context.ask((need,), heading, (TextBlock(shown),))
        return SampleResult(text=await completer.complete(completion), model=completer.model)
    except PermissionRejected as error:
        raise SamplingRefused("The user refused the request to the model.") from error
    except OpencodePyError as error:
        raise SamplingRefused(f"The model did not answer: {error.message}") from error


def _completion(sample: SampleRequest, completer: Completer) -> CompletionRequest:
    turns: list[UserTurn | AssistantTurn] = []
    for message in sample.messages:
        content = [_content(piece, completer) for piece in message.content]
        if message.role == "user":
            turns.append(UserTurn(tuple(content)))
            continue
        texts = [one for one in content if isinstance(one, TextContent)]
        if len(texts) < len(content):
            raise SamplingRefused("A model response can contain only text.")
        turns.append(AssistantTurn(tuple(texts)))
    if not turns or isinstance(turns[-1], AssistantTurn):
        raise SamplingRefused("The prompt must end with a user message.")
    return CompletionRequest(
        system=sample.system,
        turns=tuple(turns),
        max_output=max(1, sample.max_tokens),
        temperature=sample.temperature,
    )


def _content(piece: Content, completer: Completer) -> TextContent | MediaContent:
    if isinstance(piece, Text):
        return TextContent(without_invisible(piece.text))
    if isinstance(piece, Blob) and piece.mime.startswith("image/") and completer.vision:
        return MediaContent(piece.mime, piece.data)
    raise SamplingRefused(f"The model {completer.model} accepts only text.")


def _prompt_text(sample: SampleRequest, completer: Completer) -> str:
    """Return the whole prompt, as the user reads it."""
    lines = [f"To {completer.model}, for {sample.max_tokens:,} tokens at most."]
    if sample.system:
        lines.append(f"system: {without_invisible(sample.system)}")
    lines += [f"{message.role}: {_message_text(message.content)}" for message in sample.messages]
    return "\n\n".join(lines)


def _message_text(pieces: Sequence[Content]) -> str:
    texts = (
        without_invisible(one.text) if isinstance(one, Text) else "[an image]" for one in pieces
    )
    return "\n".join(texts)
