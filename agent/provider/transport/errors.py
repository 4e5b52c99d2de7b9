"""What a provider's error answer means: a ``ProviderErrorKind`` and one sentence (spec 5, R6).

Two doors: ``from_response`` for an HTTP error answer, ``from_event`` for an error object inside
a stream that began well; ``broken`` words a connection that failed. Order matters and is
explained where a wording is ambiguous ("too many tokens" is a rate limit at one provider, an
overflow at another).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.provider.transport.error_patterns import (
    AUTH,
    FILTERED,
    NETWORK,
    NEVER_FITS,
    NEVER_WORKS,
    OVERFLOW,
    OVERLOADED,
    QUOTA,
    RATE_LIMIT,
    REFUSED,
    SERVER_FULL,
    SPENDING_CAP,
    TOOL_USE,
)
from agent.provider.transport.error_text import (
    ErrorText,
    body_error_text,
    event_error_text,
    retry_after,
)
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import Json

Kind = ProviderErrorKind

LEAD_SENTENCES: Mapping[ProviderErrorKind, str] = {
    Kind.OVERFLOW: "The conversation is too long for this model",
    Kind.RATE_LIMIT: "{provider} asks to slow down",
    Kind.OVERLOADED: "{provider} is overloaded or failing",
    Kind.AUTH: "{provider} refused the key; check it",
    Kind.QUOTA: "{provider} has no credit left for this key",
    Kind.CONTENT_FILTER: "{provider} stopped this by its content filter",
    Kind.INVALID_REQUEST: "{provider} refused the request",
    Kind.NETWORK: "The connection to {provider} failed",
    Kind.ABORTED: "The request to {provider} was cancelled",
}


@dataclass(frozen=True, slots=True)
class _Found:
    kind: ProviderErrorKind
    retry_once: bool = False


def error_from_response(
    provider: str, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderError:
    """The error that an HTTP answer with *status* (not 2xx) stands for.

    *headers* are looked up by lower-case names. The sentence holds the server's own words.
    """
    text = body_error_text(body)
    error_type = headers.get("x-amzn-errortype", "").partition(":")[0]
    haystack = f"{text.search} {error_type.lower()}"
    found = _classify(status, haystack, empty=text.empty)
    wait = retry_after(headers, text.search) if found.kind in _WAITING else None
    return _error(provider, found, text, status=status, wait=wait)


def error_from_event(provider: str, error: Json) -> ProviderError:
    """The error that an ``error`` object (or string) inside a stream stands for."""
    text = event_error_text(error)
    found = _classify(text.status, text.search, empty=False)
    wait = retry_after({}, text.search) if found.kind in _WAITING else None
    return _error(provider, found, text, status=text.status, wait=wait)


def connection_error(provider: str, what: str) -> ProviderError:
    """A connection that failed or an answer that broke off; *what* says how."""
    return ProviderError(
        Kind.NETWORK, f"{LEAD_SENTENCES[Kind.NETWORK].format(provider=provider)}: {what}"
    )


_WAITING = frozenset({Kind.RATE_LIMIT, Kind.OVERLOADED})
_BUSY = frozenset({424, 498})
"""Bedrock's for a model that failed, Groq's for a tier that is full."""


def _classify(status: int | None, text: str, *, empty: bool) -> _Found:
    if TOOL_USE.search(text):
        return _Found(Kind.INVALID_REQUEST, retry_once=True)
    if status == 429:
        return _Found(_too_many(text))
    # Quota before overflow: "requires more credits, or fewer max_tokens".
    if status == 402 or _out_of_credit(text):
        return _Found(Kind.QUOTA)
    if status == 413 or (status == 400 and empty):
        return _Found(Kind.OVERFLOW)
    limited = RATE_LIMIT.search(text)
    if OVERFLOW.search(text) and (not limited or "too_many_tokens" in limited.group()):
        return _Found(Kind.OVERFLOW)
    if NEVER_WORKS.search(text):
        return _Found(Kind.INVALID_REQUEST)
    if status is not None and (status >= 500 or status in _BUSY):
        return _Found(Kind.OVERLOADED)
    return _Found(_refusal(status, text, limited=bool(limited)))


def _refusal(status: int | None, text: str, *, limited: bool) -> ProviderErrorKind:
    """A 4xx that is neither size, credit nor rate; or an error without a status."""
    if FILTERED.search(text):
        return Kind.CONTENT_FILTER
    if status in {401, 403} or AUTH.search(text):
        return Kind.AUTH
    if limited:
        return Kind.RATE_LIMIT
    if status in {408, 425}:
        return Kind.NETWORK
    return _by_words(text) if status is None else Kind.INVALID_REQUEST


def _too_many(text: str) -> ProviderErrorKind:
    """Status 429 says "not now" (rate), "not at all" (quota, size) or "I am full"."""
    if NEVER_FITS.search(text):
        return Kind.OVERFLOW
    if _out_of_credit(text):
        return Kind.QUOTA
    if SERVER_FULL.search(text) and not RATE_LIMIT.search(text):
        return Kind.OVERLOADED
    return Kind.RATE_LIMIT


def _out_of_credit(text: str) -> bool:
    if "resource_exhausted" in text:
        return bool(SPENDING_CAP.search(text))
    return bool(QUOTA.search(text))


def _by_words(text: str) -> ProviderErrorKind:
    """An error without a status, inside a stream. What is not known is worth another try."""
    if OVERLOADED.search(text):
        return Kind.OVERLOADED
    if NETWORK.search(text):
        return Kind.NETWORK
    if REFUSED.search(text):
        return Kind.INVALID_REQUEST
    return Kind.OVERLOADED


def _error(
    provider: str, found: _Found, text: ErrorText, *, status: int | None, wait: float | None
) -> ProviderError:
    lead = LEAD_SENTENCES[found.kind].format(provider=provider)
    if found.retry_once:
        lead = f"{provider} could not read the model's tool call"
    if text.empty:
        detail = f"HTTP {status}, without further words" if status else "no further words"
    else:
        detail = text.shown
    if text.html and found.kind is not Kind.OVERLOADED:
        detail += " (a web page, perhaps from a proxy on the way)"
    return ProviderError(
        found.kind,
        f"{lead}: {detail}",
        status=status,
        retry_after=wait,
        retry_once=found.retry_once,
    )
