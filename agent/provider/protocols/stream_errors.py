"""Streams that are no answer, or no whole one, as errors (spec 1, L12)."""

from agent.provider.transport.errors import broken
from agent.provider.transport.sse import BODY, SseEvent
from agent.records.errors import ProviderError, ProviderErrorKind


def unreadable(provider: str, event: SseEvent) -> ProviderError:
    """The error for data that is no answer: a page instead of a stream, or a broken event."""
    if event.event == BODY:
        return ProviderError(
            ProviderErrorKind.INVALID_REQUEST,
            f"{provider} sent something that is no answer of a model, such as a web "
            "page. Check its base URL.",
        )
    return broken(provider, "it sent data that cannot be read")


def incomplete(provider: str) -> ProviderError:
    """The error for an answer that ended without its end (spec 1, L12)."""
    return broken(provider, "the answer ended before it was complete")
