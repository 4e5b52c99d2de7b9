"""A model call whose answer is wanted whole: summaries, titles."""

import re
from dataclasses import dataclass

from agent.provider.client import ModelClient, ModelRequest, StepFinish, StreamError, TextDelta
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.messages import Usage

THOUGHTS = re.compile(r"\A\s*<(think|thinking|reasoning|thought)>.*?(?:</\1>|\Z)", re.DOTALL)
"""What models without a field of its own for it think aloud in front of an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The *text* of an answer, and what it took; None where the provider did not say."""

    text: str
    usage: Usage | None


async def answer_to(client: ModelClient, request: ModelRequest, what: str) -> Answer:
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
    text = without_thoughts("".join(pieces))
    if end is None:
        raise ProviderError(ProviderErrorKind.NETWORK, f"The {what} ended without an end mark.")
    if not text:
        raise ProviderError(ProviderErrorKind.INVALID_REQUEST, f"The model gave an empty {what}.")
    return Answer(text, end.usage)


def without_thoughts(text: str) -> str:
    """*text* without the thoughts that stand in front of it, also where their beginning was
    part of the model's prompt, so that their end alone is there."""
    shorter = THOUGHTS.sub("", text)
    while shorter != text:
        text, shorter = shorter, THOUGHTS.sub("", shorter)
    head, end, rest = text.partition("</think>")
    return (rest if end and "<think>" not in head else text).strip()
