"""Redacts secrets in text that leaves the program, such as exports.

Keys are recognized by their documented forms, secrets of the environment by their values. This is a
safety net, not a proof: read an export before you share it.
"""

import re
from collections.abc import Iterable, Mapping

from agent.records.patterns import lazy_pattern

PLACEHOLDER = "[redacted]"

MIN_LENGTH = 8
"""Characters of an environment variable's value below which it is not redacted."""

_known: set[str] = set()
"""The secrets that the settings of this process were filled in with."""

_SECRET_NAME = lazy_pattern(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)", re.IGNORECASE)

# The forms that vendors document for their keys; the first group, if any, is kept.
_PATTERNS = tuple(
    lazy_pattern(pattern)
    for pattern in (
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        r"\bsk-[A-Za-z0-9_-]{12,}",
        r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{12,}",
        r"\bgh[pousr]_[A-Za-z0-9]{20,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"\bAIza[A-Za-z0-9_-]{30,}",
        r"\bhf_[A-Za-z0-9]{20,}",
        r"\bgsk_[A-Za-z0-9]{20,}",
        r"\bxai-[A-Za-z0-9]{20,}",
        r"\bnpm_[A-Za-z0-9]{20,}",
        r"\bpypi-[A-Za-z0-9_-]{20,}",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/-]{12,}=*",
        r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]+:)[^\s@/]+(?=@)",
        r"(?i)(\b\w*(?:api[_-]?key|secret|token|passw(?:or)?d)\w*[\"']?\s*[:=]\s*[\"']?)[^\s\"',;]{8,}",
    )
)


def secrets_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values in *env* whose names mark them as secret, the longest first."""
    found = {v for k, v in env.items() if _SECRET_NAME.search(k) and len(v) >= MIN_LENGTH}
    return tuple(sorted(found, key=len, reverse=True))


def all_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return ``secrets_of`` *env* with the secrets that the settings were filled in with."""
    return tuple(sorted({*secrets_of(env), *_known}, key=len, reverse=True))


def remember_secrets(values: Iterable[str]) -> None:
    """Add secrets that the settings were filled in with; short ones are ignored."""
    _known.update(value for value in values if len(value) >= MIN_LENGTH)


def without_known_secrets(text: str) -> str:
    """Return *text* without the secrets that the settings were filled in with."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, PLACEHOLDER)
    return text


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return *text* with known *secrets* and what looks like a key replaced."""
    for secret in secrets:
        text = text.replace(secret, PLACEHOLDER)
    for pattern in _PATTERNS:
        text = pattern.sub(_hidden, text)
    return text


def _hidden(match: re.Match[str]) -> str:
    kept = match.group(1) if match.re.groups else ""
    return f"{kept}{PLACEHOLDER}"
