"""Extraction of the message from an error response: JSON of any shape, HTML, text, nothing."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from agent.records.json import Json

MAX_SHOWN = 500
MAX_SEARCHED = 20_000
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
TAG = re.compile(r"<[^>]*>")
TITLE = re.compile(r"<(title|h1)[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
# "try again in 11.122s", "retry after 35 seconds", "in 1m30s", "in 250ms", "wait 2 minutes"
WAIT = re.compile(
    r"(?:(?:again|retry)\s(?:in|after)|wait(?:\sfor)?)\s(?:(?P<h>\d+)\s?h(?:ours?)?\s?)?"
    r"(?:(?P<m>\d+(?:\.\d+)?)\s?m(?:in(?:ute)?s?)?(?!s)\s?)?"
    r"(?:(?P<s>\d+(?:\.\d+)?)\s?(?P<unit>ms|s))?"
)
RETRY_INFO = re.compile(r'"(?:retrydelay|estimated_time)":\s*"?(\d+(?:\.\d+)?)')
MESSAGE_KEYS = (
    "message", "detail", "error_description", "description", "error", "errors", "raw", "msg",
    "status_msg", "base_resp",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
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
    try:
        seconds = parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None
