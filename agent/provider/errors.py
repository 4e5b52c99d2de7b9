"""What a provider's error answer means: a ``ProviderErrorKind`` and one sentence (spec 5, R6).

Two doors: ``from_response`` for an HTTP error answer, ``from_event`` for an error object inside
a stream that began well; ``broken`` words a connection that failed. The patterns are written
from the providers' documented and reported answers; order matters and is explained where a
wording is ambiguous ("too many tokens" is a rate limit at one provider, an overflow at another).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.errors import ProviderError, ProviderErrorKind
from agent.jsontypes import Json
from agent.provider.error_text import ErrorText, retry_after, text_of_body, text_of_event

Kind = ProviderErrorKind

OVERFLOW = re.compile(
    r"""context_length_exceeded | model_max_prompt_tokens_exceeded | exceed_context_size
    | model_context_window_exceeded | too_many_prompt_tokens | invalid_request_prompt_length
    | prompt\s(is\s)?too\slong | (input|conversation|messages?\sis|request)\sis\stoo\slong
    | total\slength\sof\sall\smessages\sis\stoo\slong
    | exceeds?\s(the\s)?(model'?s\s)?context\s(window|limit|length|size)
    | context\swindow\sexceeds\slimit | exceeds\sthe\savailable\scontext
    | maximum\s(context|prompt|input)\slength
    | (input|prompt)\stoken(s|\scount)\b.{0,60}\bexceeds?
    | input\stokens\sexceeded | number\sof\s(input\s)?tokens\s.{0,60}exceeds?
    | exceeded\s(model\stoken\slimit | max\scontext\slength)
    | (greater|longer|larger)\sthan\sthe\s(model'?s\s)?(maximum\s)?context
    | too\slarge\sfor\smodel\swith | context\slength\sis\sonly
    | reduce\sthe\slength\sof\s(the\s|your\s)?(messages|prompt|input|either)
    | too\smany\stokens:\ssize\slimit | tokens?\sin\s(the\s)?request.{0,40}(max|exceed)
    | maximum\snumber\sof\s(input\s)?tokens\sallowed | (n_prompt_tokens|n_keep).*n_ctx
    | request_too_large | request\s(entity|size)\s(is\s)?too\slarge
    | exceeds\sthe\smaximum\ssize | context\soverflow | ran\sout\sof\scontext
    """,
    re.VERBOSE | re.DOTALL,
)
# A request that is by itself above the allowance per minute never fits: waiting does not help.
NEVER_FITS = re.compile(r"request too large.*(must be reduced|reduce your message)", re.DOTALL)
RATE_LIMIT = re.compile(
    r"rate.?limit|too many (requests|tokens, please wait)|tokens? per (min|hour|day)|"
    r"requests per (min|hour|day)|throttl|rate increased too quickly|high concurrency|"
    r"too_many_(requests|tokens)|resource_exhausted|tokens per minute"
)
QUOTA = re.compile(
    r"insufficient[_ ](quota|balance|credits?|funds)|credit balance is too low|"
    r"requires more credits|(out of|no|any|not enough|run out of) credits|"
    r"exceeded your current quota|billing_hard_limit|billing[_ ]not[_ ]active|"
    r"payment[_ ]required|usage_not_included|usage limit (has been )?reached|please recharge|"
    r"spending limit|monthly limit|quota has been exhausted"
)
AUTH = re.compile(
    r"(invalid|incorrect|missing|no|wrong|expired)[ _](x-)?api[ _-]?key|api[ _-]?key[ _]"
    r"(not valid|is invalid|invalid|not found|expired|is missing)|authentication|unauthori[sz]ed|"
    r"unrecognizedclient|invalid (bearer )?token|security token|invalid_api_key|"
    r"missing authentication|invalid subscription key|access denied due to invalid"
)
FILTERED = re.compile(
    r"content[_ ]?(filter|policy|management)|responsibleai|invalid_prompt|flagged as|"
    r"usage policy|safety (system|policy|reasons)|moderation|sensitive (content|words)|"
    r"data_inspection_failed|prohibited[_ ]content"
)
OVERLOADED = re.compile(
    r"overloaded|server_is_busy|over capacity|at capacity|temporarily unavailable|"
    r"loading model|service[_ ]unavailable|server[_ ]error|internal[_ ](server[_ ])?error|"
    r"api_error|try again later|no_kv_space|bad gateway|gateway time-?out|upstream (error|connect)"
)
NETWORK = re.compile(r"timed? ?out|timeout|connection (reset|closed|error|aborted)|socket hang up")
TOOL_USE = re.compile(
    r"tool_use_failed|malformed[_ ](function[_ ]call|tool[_ ]use|model[_ ]output|response)|"
    r"unexpected[_ ]tool[_ ]call"
)
REFUSED = re.compile(
    r"invalid[_ ](request|argument|params?)|bad_?request|not_found|model_not_found|"
    r"unsupported|not supported|validation"
)

LEADS: Mapping[ProviderErrorKind, str] = {
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


def from_response(
    provider: str, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderError:
    """The error that an HTTP answer with *status* (not 2xx) stands for.

    *headers* are looked up by lower-case names. The sentence holds the server's own words.
    """
    text = text_of_body(body)
    error_type = headers.get("x-amzn-errortype", "").partition(":")[0]
    haystack = f"{text.search} {error_type.lower()}"
    found = _classify(status, haystack, empty=text.empty)
    wait = retry_after(headers, text.search) if found.kind in _WAITING else None
    return _error(provider, found, text, status=status, wait=wait)


def from_event(provider: str, error: Json) -> ProviderError:
    """The error that an ``error`` object (or string) inside a stream stands for."""
    text = text_of_event(error)
    found = _classify(text.status, text.search, empty=False)
    wait = retry_after({}, text.search) if found.kind in _WAITING else None
    return _error(provider, found, text, status=text.status, wait=wait)


def broken(provider: str, what: str) -> ProviderError:
    """A connection that failed or an answer that broke off; *what* says how."""
    return ProviderError(Kind.NETWORK, f"{LEADS[Kind.NETWORK].format(provider=provider)}: {what}")


_WAITING = frozenset({Kind.RATE_LIMIT, Kind.OVERLOADED})


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
    if status is not None and status >= 500:
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
    if "overloaded" in text and not RATE_LIMIT.search(text):
        return Kind.OVERLOADED
    return Kind.RATE_LIMIT


def _out_of_credit(text: str) -> bool:
    """Google words its rate limits as quota, but marks them."""
    return bool(QUOTA.search(text)) and "resource_exhausted" not in text


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
    lead = LEADS[found.kind].format(provider=provider)
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
