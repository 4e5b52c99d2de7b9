"""Classification of provider errors: a ``ProviderErrorKind`` and one sentence for the user.

``error_from_response`` is for an HTTP error response, ``error_from_event`` for an error object
inside a stream that began well, ``connection_error`` for a connection that failed. The order of
the checks matters, and is explained where a wording is ambiguous ("too many tokens" is a rate
limit at one provider, an overflow at another).
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
class _Classification:
    kind: ProviderErrorKind
    retry_once: bool = False


def error_from_response(
    provider: str, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderError:
    """Return the error for an HTTP response with *status* (not 2xx).

    *headers* have lower-case names. The message quotes the server's own.
    """
    text = body_error_text(body)
    error_type = headers.get("x-amzn-errortype", "").partition(":")[0]
    haystack = f"{text.search} {error_type.lower()}"
    found = _classify(status, haystack, empty=text.empty)
    wait = retry_after(headers, text.search) if found.kind in _RETRY_AFTER_KINDS else None
    return _error(provider, found, text, status=status, wait=wait)


def error_from_event(provider: str, error: Json) -> ProviderError:
    """Return the error for an ``error`` object (or string) inside a stream."""
    text = event_error_text(error)
    found = _classify(text.status, text.search, empty=False)
    wait = retry_after({}, text.search) if found.kind in _RETRY_AFTER_KINDS else None
    return _error(provider, found, text, status=text.status, wait=wait)


def connection_error(provider: str, what: str) -> ProviderError:
    """Return the error for a failed connection or a broken response; *what* says how."""
    return ProviderError(
        Kind.NETWORK, f"{LEAD_SENTENCES[Kind.NETWORK].format(provider=provider)}: {what}"
    )


_RETRY_AFTER_KINDS = frozenset({Kind.RATE_LIMIT, Kind.OVERLOADED})
_BUSY_STATUSES = frozenset({424, 498})
"""Bedrock's status for a model that failed, Groq's for a tier that is full."""


def _classify(status: int | None, text: str, *, empty: bool) -> _Classification:
    if TOOL_USE.search(text):
        return _Classification(Kind.INVALID_REQUEST, retry_once=True)
    if status == 429:
        return _Classification(_classify_429(text))
    # Quota before overflow: "requires more credits, or fewer max_tokens".
    if status == 402 or _out_of_credit(text):
        return _Classification(Kind.QUOTA)
    if status == 413 or (status == 400 and empty):
        return _Classification(Kind.OVERFLOW)
    limited = RATE_LIMIT.search(text)
    if OVERFLOW.search(text) and (not limited or "too_many_tokens" in limited.group()):
        return _Classification(Kind.OVERFLOW)
    if NEVER_WORKS.search(text):
        return _Classification(Kind.INVALID_REQUEST)
    if status is not None and (status >= 500 or status in _BUSY_STATUSES):
        return _Classification(Kind.OVERLOADED)
    return _Classification(_classify_refusal(status, text, limited=bool(limited)))


def _classify_refusal(status: int | None, text: str, *, limited: bool) -> ProviderErrorKind:
    """Classify a 4xx that is neither size nor credit, or an error without a status."""
    if FILTERED.search(text):
        return Kind.CONTENT_FILTER
    if status in {401, 403} or AUTH.search(text):
        return Kind.AUTH
    if limited:
        return Kind.RATE_LIMIT
    if status in {408, 425}:
        return Kind.NETWORK
    return _classify_text(text) if status is None else Kind.INVALID_REQUEST


def _classify_429(text: str) -> ProviderErrorKind:
    """Classify status 429: a rate limit, quota, an oversized request or an overloaded server."""
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


def _classify_text(text: str) -> ProviderErrorKind:
    """Classify an error without status inside a stream; an unknown one is worth a retry."""
    if OVERLOADED.search(text):
        return Kind.OVERLOADED
    if NETWORK.search(text):
        return Kind.NETWORK
    if REFUSED.search(text):
        return Kind.INVALID_REQUEST
    return Kind.OVERLOADED


def _error(
    provider: str,
    found: _Classification,
    text: ErrorText,
    *,
    status: int | None,
    wait: float | None,
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
