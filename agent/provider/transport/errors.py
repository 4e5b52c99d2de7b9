"""Classification of provider errors: a ``ProviderErrorKind`` and one sentence for the user.

``error_from_response`` is for an HTTP error response, ``error_from_event`` for an error object
inside a stream that began well, ``connection_error`` for a connection that failed. The order of
the checks matters, and is explained where a wording is ambiguous ("too many tokens" is a rate
limit at one provider, an overflow at another).
"""

import json
import re
import time
from collections.abc import Mapping, Sequence

from agent.records.errors import FileLimit, ProviderError, ProviderErrorKind
from agent.records.frozen import frozen
from agent.records.json import Json
from agent.records.patterns import lazy_pattern

# Refusals because of the number or the size of images and documents.

_FILES = (
    r"(?:images?|image[ _](?:parts?|files?|links?|urls?|blocks?)|media|pictures?|"
    r"(?:pdf|document) pages)"
)
_MOST = (
    r"(?:at most|max(?:imum)?|up to|only|no more than|fewer than|limit|allow(?:s|ed)?|supports?)"
)

_TOO_MANY = lazy_pattern(
    rf"too (?:many|much) {_FILES}\b|"
    rf"{_MOST}\b[^.{{}}]{{0,40}}?\b\d+\W+{_FILES}\b|"
    rf"\b\d+ {_FILES}\b[^{{}}]{{0,40}}\b(?:exceed\w*|{_MOST})\b|"
    rf"(?:number|count) of {_FILES}\b[^{{}}]{{0,40}}\b(?:exceed\w*|greater|{_MOST})\b|"
    rf"too_many_images|max_images"
)
_TOO_LARGE = lazy_pattern(
    r"\bimages?\b[^{}]{0,80}\b(?:exceeds?|larger than|too large|too big)\b[^{}]{0,60}"
    r"(?:\b[kmg]i?b\b|bytes|pixels|\bsize\b|dimensions?|resolution)|"
    r"\bimages? (?:file |size |dimensions? )?(?:is |are )?too (?:large|big)\b|"
    r"image_(?:file_)?too_large|image dimensions? (?:must|should) be (?:less|smaller|at most)"
)
_REQUEST_TOO_LARGE = lazy_pattern(
    r"request_too_large|payload size exceeds|request (?:entity|size|body) (?:is )?too large|"
    r"request exceeds the maximum size"
)
_COUNT = lazy_pattern(rf"> *(\d+)\b|(?:{_MOST}|exceed\w*)\b[^\d>]{{0,40}}(\d+)\b")
_BYTES = lazy_pattern(r"\b\d{5,}\b")
_MEGABYTES = lazy_pattern(r"(\d+(?:\.\d+)?) *(k|m)i?b\b")
_PIXELS = lazy_pattern(r"(\d{3,5}) *(?:px\b|pixels?)")

MANY_IMAGES = 20
"""Images from which on Anthropic and Bedrock allow fewer pixels in each."""


def file_limit(status: int | None, text: str) -> FileLimit | None:
    """Return the limit that a refusal with *text* (in lower case) is about, None if it is about
    something else."""
    images_only = "document" not in text and "media" not in text and "pdf" not in text
    if "many-image" in text:
        return FileLimit(count=MANY_IMAGES, images_only=True)
    if found := _TOO_MANY.search(text):
        numbers = _COUNT.search(text, found.start())
        count = int(numbers[1] or numbers[2]) if numbers else None
        return FileLimit(count=count, images_only=images_only)
    if _TOO_LARGE.search(text):
        pixels = _PIXELS.search(text)
        return FileLimit(
            size=_size(text),
            pixels=int(pixels[1]) if pixels else None,
            images_only=images_only,
        )
    if status == 413 or _REQUEST_TOO_LARGE.search(text):
        return FileLimit(whole_request=True)
    return None


def _size(text: str) -> int | None:
    if "pixels" in text:
        return None
    if exact := _BYTES.findall(text):  # the size of the file and the limit, in any order
        return min(map(int, exact))
    if rounded := _MEGABYTES.search(text):
        return round(float(rounded[1]) * (1_000 if rounded[2] == "k" else 1_000_000))
    return None


MAX_SHOWN = 500
MAX_SEARCHED = 20_000
CONTROL = lazy_pattern(r"[\x00-\x1f\x7f-\x9f]+")
TAG = lazy_pattern(r"<[^>]*>")
TITLE = lazy_pattern(r"<(title|h1)[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
# "try again in 11.122s", "retry after 35 seconds", "in 1m30s", "in 250ms", "wait 2 minutes"
WAIT = lazy_pattern(
    r"(?:(?:again|retry)\s(?:in|after)|wait(?:\sfor)?)\s(?:(?P<h>\d+)\s?h(?:ours?)?\s?)?"
    r"(?:(?P<m>\d+(?:\.\d+)?)\s?m(?:in(?:ute)?s?)?(?!s)\s?)?"
    r"(?:(?P<s>\d+(?:\.\d+)?)\s?(?P<unit>ms|s))?"
)
RETRY_INFO = lazy_pattern(r'"(?:retrydelay|estimated_time)":\s*"?(\d+(?:\.\d+)?)')
MESSAGE_KEYS = (
    "message", "detail", "error_description", "description", "error", "errors", "raw", "msg",
    "status_msg", "base_resp",
)  # fmt: skip


@frozen
class ErrorText:
    """The text of an error."""

    shown: str
    """The message for the user."""

    search: str
    """The whole text in lower case, for the patterns that classify it."""

    status: int | None = None
    """An HTTP status inside the text."""

    html: bool = False

    @property
    def empty(self) -> bool:
        return not self.shown


def body_error_text(body: bytes) -> ErrorText:
    """Return the text of an HTTP body."""
    raw = body[: MAX_SEARCHED * 4].decode("utf-8", "replace").strip()
    try:
        value: Json = json.loads(raw)
    except (ValueError, RecursionError):
        return _plain_error_text(raw)
    # A gateway can put the provider's JSON into a string.
    return event_error_text(value, raw=raw)


def event_error_text(error: Json, raw: str | None = None) -> ErrorText:
    """Return the text of an error object; *raw* is its JSON text where it is at hand."""
    if raw is None:
        raw = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    if not error:
        return ErrorText("", "")
    shown = _message(error) or raw
    nested = shown.strip()
    if nested.startswith("{"):
        try:
            shown = _message(json.loads(nested)) or shown
        except (ValueError, RecursionError):
            shown = nested
    return ErrorText(_clean(shown), raw[:MAX_SEARCHED].lower(), _status(error))


def _plain_error_text(raw: str) -> ErrorText:
    html = raw[:200].lstrip().lower().startswith(("<!doctype", "<html", "<head"))
    if not html:
        return ErrorText(_clean(raw), raw[:MAX_SEARCHED].lower())
    title = TITLE.search(raw)
    text = title.group(2) if title else TAG.sub(" ", raw)
    search = TAG.sub(" ", raw)[:MAX_SEARCHED].lower()
    return ErrorText(_clean(text) or "a web page", search, html=True)


def _message(value: Json, depth: int = 0) -> str:
    """Return the most informative text; an inner message is appended to its outer one."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return next((text for item in value if (text := _message(item, depth))), "")
    if not isinstance(value, dict) or depth > 4:
        return ""
    found: list[str] = []
    for key in MESSAGE_KEYS:
        text = _message(value.get(key), depth + 1)
        if text and text not in " ".join(found):
            found.append(text)
            break
    inner = value.get("metadata")
    if isinstance(inner, dict) and (text := _message(inner.get("raw"), depth + 1)):
        found.append(text)
    return ": ".join(found)


def _status(value: Json, depth: int = 0) -> int | None:
    """Return an HTTP status that is a number (or a numeric string) in the object."""
    if not isinstance(value, dict) or depth > 2:
        return None
    for key in ("status_code", "status", "code", "http_code"):
        code = value.get(key)
        if isinstance(code, str) and code.isdecimal():
            code = int(code)
        if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600:
            return code
    return _status(value.get("error"), depth + 1)


def _clean(text: str) -> str:
    one_line = CONTROL.sub(" ", text).strip()
    return one_line if len(one_line) <= MAX_SHOWN else one_line[: MAX_SHOWN - 1].rstrip() + "…"


def retry_after(headers: Mapping[str, str], text: str) -> float | None:
    """Return the seconds to wait, None where nothing above zero is named.

    Sources are ``retry-after-ms``, then ``retry-after`` (seconds or a date), then *text* (in
    lower case).
    """
    if (wait := _number(headers.get("retry-after-ms", ""))) is not None:
        return wait / 1000
    header = headers.get("retry-after", "").strip()
    if header:
        wait = _number(header)
        if wait is None:
            wait = _seconds_until(header)
        if wait is not None:
            return wait
    if match := RETRY_INFO.search(text):
        return _number(match.group(1))
    for match in WAIT.finditer(text):
        seconds = float(match["s"] or 0) / (1000 if match["unit"] == "ms" else 1)
        total = int(match["h"] or 0) * 3600 + float(match["m"] or 0) * 60 + seconds
        if total > 0:
            return total
    return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def _seconds_until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime  # few servers send a date

    try:
        seconds = parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None


OVERFLOW_PATTERNS: Sequence[str] = (
    # Codes.
    r"context_length_exceeded",
    r"model_max_prompt_tokens_exceeded",
    r"exceed_context_size",
    r"model_context_window_exceeded",
    r"too_many_prompt_tokens",
    r"invalid_request_prompt_length",
    # Not the daily or monthly limit of an account, nor "token limit reached": that is the output's.
    r"(?<!ly )\btokens?[ _]limit[ _](is |was |has been )?exceeded",
    r"tokens_limit_reached",
    r"contextwindowexceeded",
    r"request_too_large",
    # Anthropic, Bedrock, Fireworks, Ollama
    r"prompt (is )?too long",
    r"(input|conversation|messages? is|request) is too long",
    r"input length and .?max_tokens.? exceed",
    # Bedrock's Nova
    r"input tokens exceeded",
    # Moonshot, Zhipu
    r"total length of all messages is too long",
    r"prompt exceeds (the )?max(imum)? length",
    r"exceeded model token limit",
    # OpenAI, MiniMax, Cloudflare
    r"exceed(s|ed)? (the |this )?(model'?s? )?context (window|limit|length|size)",
    r"context (window|limit|length|size) (is |was |has been )?(exceed(s|ed)|too long)",
    r"string too long\b.{0,40}maximum length \d{6,}",
    # llama.cpp
    r"exceeds the available context",
    r"(n_prompt_tokens|n_keep).*n_ctx",
    # OpenRouter, DeepSeek, vLLM, xAI, Mistral
    r"max(imum)?[ _](context|prompt|input)[ _](length|window|size)",
    r"too large for model with",
    # Google
    r"(input|prompt) token(s| count)\b.{0,60}\bexceeds?",
    r"payload size exceeds the limit",
    r"maximum number of (input )?tokens allowed",
    # watsonx
    r"number of (input )?tokens .{0,60}exceeds?",
    # Ollama
    r"exceeded max context length",
    # LM Studio, SGLang, vLLM
    r"(greater|longer|larger) than the (model'?s )?(maximum )?(context|model length)",
    r"context length (is|of) only",
    r"too long to fit into",
    # Groq, Cerebras
    r"reduce the length of (the |your )?(messages|prompt|input|either)",
    # Cohere
    r"too many tokens: size limit",
    # Together, Hugging Face
    r"must be less than the context length",
    r"inputs.? tokens \+ .?max_new_tokens.? must be",
    r"must have less than \d+ tokens",
    # Alibaba
    r"range of input length should be",
    # Snowflake
    r"max tokens of \S+ exceeded",
    # GitHub Models and gateways
    r"tokens? in (the )?request.{0,40}(max|exceed)",
    r"request (entity|size|body) (is )?too large",
    r"exceeds the maximum size",
    r"context overflow",
    r"ran out of context",
)
OVERFLOW = lazy_pattern("|".join(f"(?:{pattern})" for pattern in OVERFLOW_PATTERNS), re.DOTALL)

NEVER_FITS = lazy_pattern(r"request too large.*(must be reduced|reduce your message)", re.DOTALL)
"""One request exceeds the allowance per minute by itself: waiting does not help."""

RATE_LIMIT = lazy_pattern(
    r"rate.?limit|too many (requests|tokens, please wait)|tokens? per (min|hour|day)|"
    r"requests per (min|hour|day)|throttl|rate increased too quickly|high concurrency|"
    r"too_many_(requests|tokens)|resource_exhausted|tokens per minute"
)
QUOTA = lazy_pattern(
    r"insufficient[_ ](quota|balance|credits?|funds)|credit balance is too low|"
    r"requires more credits|(out of|no|any|not enough|run out of) credits|"
    r"exceeded (your |its )?current[_ ]quota|exceeded_current_quota|billing_hard_limit|"
    r"billing[_ ]not[_ ]active|payment[_ ]required|usage_not_included|"
    r"usage limit (has been )?reached|reached your specified api usage limits|please recharge|"
    r"spend(ing)? (limit|cap)|monthly limit|key limit exceeded|quota has been exhausted|"
    r"exceeds the service quota|servicequotaexceeded|credits are depleted|free ?tier.{0,40}exhaust|"
    r"freetieronly|daily free allocation|arrearage|in good standing|budget[_ ](has been )?exceeded|"
    r"valid credit card"
)
SPENDING_CAP = lazy_pattern(r"depleted|spend(ing)? cap")
"""The real quotas among Google's messages, which call rate limits quotas too."""

AUTH = lazy_pattern(
    r"(invalid|incorrect|missing|no|wrong|expired)[ _](x-)?api[ _-]?(key|token)|api[ _-]?key[ _]"
    r"(not valid|is invalid|invalid|not found|expired|is missing)|authentication|unauthori[sz]ed|"
    r"unrecognizedclient|invalid (bearer )?token|security token|invalid_api_key|"
    r"missing authentication|invalid subscription key|access denied due to invalid"
)
FILTERED = lazy_pattern(
    r"content[_ ]?(filter|policy|management)|responsibleai|invalid_prompt|flagged (as|for)|"
    r"usage (policy|guidelines)|safety (system|policy|reasons)|safety_check|moderation|"
    r"sensitive (content|words)|data_inspection_failed|inappropriate content|"
    r"prohibited[_ ]content|content exists risk|considered high risk"
)
OVERLOADED = lazy_pattern(
    r"overloaded|server_is_busy|over capacity|at capacity|capacity exceeded|"
    r"temporarily unavailable|loading model|currently loading|service[_ ]unavailable|"
    r"server[_ ]error|internal[_ ](server[_ ])?error|api_error|try again later|no_kv_space|"
    r"bad gateway|gateway time-?out|upstream (error|connect)"
)
SERVER_FULL = lazy_pattern(r"overloaded|not ready to serve|modelnotready")
"""Messages with status 429 from overloaded servers, as opposed to rate limits."""

NETWORK = lazy_pattern(
    r"timed? ?out|timeout|connection (reset|closed|error|aborted)|socket hang up"
)
TOOL_USE = lazy_pattern(
    r"tool_use_failed|malformed[_ ](function[_ ]call|tool[_ ]use|model[_ ]output|response)|"
    r"unexpected[_ ]tool[_ ]call"
)
REFUSED = lazy_pattern(
    r"invalid[_ ](request|argument|params?)|bad_?request|not_found|model_not_found|"
    r"unsupported|not supported|validation"
)
NEVER_WORKS = lazy_pattern(
    r"roles must alternate|chat template|jinja|more system memory|raise_exception"
)
"""Permanent failures of a request, in spite of a status of 500 or above."""


Kind = ProviderErrorKind

REPLACE_KEY = "; /connect replaces it"

LEAD_SENTENCES: Mapping[ProviderErrorKind, str] = {
    Kind.OVERFLOW: "The conversation is too long for this model",
    Kind.RATE_LIMIT: "{provider} rate limit reached",
    Kind.OVERLOADED: "{provider} is overloaded or failing",
    Kind.AUTH: f"{{provider}} rejected the API key{REPLACE_KEY}",
    Kind.QUOTA: "{provider}: no credit left for this API key",
    Kind.CONTENT_FILTER: "{provider} blocked this with its content filter",
    Kind.INVALID_REQUEST: "{provider} refused the request",
    Kind.NETWORK: "The connection to {provider} failed",
    Kind.ABORTED: "The request to {provider} was canceled",
}

NO_MODEL = "{provider} does not have this model"
_NOT_FOUND = frozenset({404, 410})


@frozen
class _Classification:
    kind: ProviderErrorKind
    retry_once: bool = False
    file_limit: FileLimit | None = None


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


def key_fault(error: ProviderError) -> str:
    """Return the message of *error* for the place where the key is entered."""
    return error.message.replace(REPLACE_KEY, "")


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
    limited = RATE_LIMIT.search(text)
    if not limited and (limit := file_limit(status, text)) is not None:
        kind = Kind.OVERFLOW if limit.whole_request else Kind.INVALID_REQUEST
        return _Classification(kind, file_limit=limit)
    if status == 413 or (status == 400 and empty):
        return _Classification(Kind.OVERFLOW)
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
    elif found.kind is Kind.INVALID_REQUEST and status in _NOT_FOUND and "model" in text.search:
        lead = NO_MODEL.format(provider=provider)
    if text.empty:
        detail = f"HTTP {status}, without details" if status else "no details"
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
        file_limit=found.file_limit,
    )
