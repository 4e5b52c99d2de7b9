"""A model call whose answer is wanted whole: summaries, titles."""

import re
from dataclasses import dataclass

from agent.provider.client import ModelClient, ModelRequest, StepFinish, StreamError, TextDelta
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.messages import Usage

LEADING_THINKING = re.compile(
    r"\A\s*<(think|thinking|reasoning|thought)>.*?(?:</\1>|\Z)", re.DOTALL
)
"""What models without a field of its own for it think aloud in front of an answer."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The *text* of an answer, and what it took; None where the provider did not say."""

    text: str
    usage: Usage | None


async def complete(client: ModelClient, request: ModelRequest, what: str) -> Completion:
    """The whole answer to *request*. Raises ``ProviderError``, also where the stream ends early
    or nothing was said; *what* names the answer in the sentence ("summary")."""
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
    """*text* without the thoughts that stand in front of it, also where their beginning was
    part of the model's prompt, so that their end alone is there."""
    shorter = LEADING_THINKING.sub("", text)
    while shorter != text:
        text, shorter = shorter, LEADING_THINKING.sub("", shorter)
    head, end, rest = text.partition("</think>")
    return (rest if end and "<think>" not in head else text).strip()
