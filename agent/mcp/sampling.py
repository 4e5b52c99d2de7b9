"""What a server asks the model in the middle of a call: with the user's consent, by a model of
the session's, paid by the session (spec 10, X4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.mcp.records import Blob, Content, Text
from agent.provider.client import AssistantTurn, MediaContent, TextContent, UserTurn
from agent.records.blocks import TextBlock
from agent.records.errors import OpencodePyError, PermissionRejected
from agent.records.requests import Need
from agent.tools.core.base import Completer, CompletionRequest, ToolContext
from agent.tools.core.clean_text import without_invisible

PERMISSION = "mcp_sampling"
"""The permission by which rules speak of it; the pattern is the server's name."""

MAX_REQUESTS = 20
"""Requests of one call: each costs, and nobody wants to be asked more often."""

MAX_PROMPT = 200_000
"""Characters of a prompt."""


class SamplingRefused(Exception):
    """No answer is given; ``str`` says why, for the server."""


@dataclass(frozen=True, slots=True)
class SampleMessage:
    """A message of the prompt that is to be answered."""

    role: Literal["user", "assistant"]
    pieces: tuple[Content, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleResult:
    """The answer, and who gave it (``provider/model``)."""

    text: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRequest:
    """A prompt that a server wants answered. *most* is in tokens; *hints* are pieces of models'
    names, the one that the server wants most first."""

    system: str
    said: tuple[SampleMessage, ...]
    most: int
    temperature: float | None = None
    hints: tuple[str, ...] = ()


async def complete_sample(server: str, sample: SampleRequest, context: ToolContext) -> SampleResult:
    """Have *sample* answered on behalf of the call *context*. Raises ``Refused``."""
    completer = context.completer
    if completer is None:
        raise SamplingRefused("There is no model to ask here.")
    completer = completer.with_model_hints(sample.hints)
    wanted = _wanted(sample, completer)
    shown = _shown(sample, completer)
    if len(shown) > MAX_PROMPT:
        raise SamplingRefused(f"The prompt is longer than {MAX_PROMPT:,} characters.")
    need = Need(
        PERMISSION,
        server,
        always=server,
        shown=f"{without_invisible(server)} asks {completer.model}",
        reason=f"the MCP server {without_invisible(server)} sends the model words of its own",
    )
    heading = f"Let the MCP server {without_invisible(server)} ask the model?"
    try:
        await context.ask((need,), heading, (TextBlock(shown),))
        return SampleResult(text=await completer.complete(wanted), model=completer.model)
    except PermissionRejected as error:
        raise SamplingRefused("The user does not let the model be asked.") from error
    except OpencodePyError as error:
        raise SamplingRefused(f"The model gave no answer: {error.message}") from error


def _wanted(sample: SampleRequest, completer: Completer) -> CompletionRequest:
    turns: list[UserTurn | AssistantTurn] = []
    for said in sample.said:
        content = [_content(piece, completer) for piece in said.pieces]
        if said.role == "user":
            turns.append(UserTurn(tuple(content)))
            continue
        texts = [one for one in content if isinstance(one, TextContent)]
        if len(texts) < len(content):
            raise SamplingRefused("An answer of the model can hold nothing but text.")
        turns.append(AssistantTurn(tuple(texts)))
    if not turns or isinstance(turns[-1], AssistantTurn):
        raise SamplingRefused("The prompt has to end with a message of the user's.")
    return CompletionRequest(
        system=sample.system,
        turns=tuple(turns),
        max_output=max(1, sample.most),
        temperature=sample.temperature,
    )


def _content(piece: Content, completer: Completer) -> TextContent | MediaContent:
    if isinstance(piece, Text):
        return TextContent(without_invisible(piece.text))
    if isinstance(piece, Blob) and piece.mime.startswith("image/") and completer.vision:
        return MediaContent(piece.mime, piece.data)
    raise SamplingRefused(f"The model {completer.model} takes nothing but text.")


def _shown(sample: SampleRequest, completer: Completer) -> str:
    """The whole prompt, as the user reads it."""
    lines = [f"To {completer.model}, for {sample.most:,} tokens at most."]
    if sample.system:
        lines.append(f"system: {without_invisible(sample.system)}")
    lines += [f"{said.role}: {_told(said.pieces)}" for said in sample.said]
    return "\n\n".join(lines)


def _told(pieces: Sequence[Content]) -> str:
    words = (
        without_invisible(one.text) if isinstance(one, Text) else "[an image]" for one in pieces
    )
    return "\n".join(words)
