"""Model calls whose response is needed as a whole: summaries, titles."""

import re
from dataclasses import dataclass

from agent.provider.client import ModelClient, ModelRequest, StepFinish, StreamError, TextDelta
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.messages import Usage

LEADING_THINKING = re.compile(
    r"\A\s*<(think|thinking|reasoning|thought)>.*?(?:</\1>|\Z)", re.DOTALL
)
"""Reasoning at the start of a response, from models without a separate field for it."""


@dataclass(frozen=True, slots=True)
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
