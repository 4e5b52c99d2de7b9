"""A model call whose answer is wanted whole: summaries, titles."""

from dataclasses import dataclass

from agent.errors import ProviderError, ProviderErrorKind
from agent.model import Usage
from agent.provider.client import ModelClient, ModelRequest, StepFinish, StreamError, TextDelta


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
    text = "".join(pieces).strip()
    if end is None:
        raise ProviderError(ProviderErrorKind.NETWORK, f"The {what} ended without an end mark.")
    if not text:
        raise ProviderError(ProviderErrorKind.INVALID_REQUEST, f"The model gave an empty {what}.")
    return Answer(text, end.usage)
