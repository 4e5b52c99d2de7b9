"""Takes secrets out of text that leaves the program: exports and what is shown to be shared.

Known forms of keys are found by their shape, the values of the environment's secrets by what
they are. It is a net, not a proof: who shares an export still reads it.
"""

import re
from collections.abc import Iterable, Mapping

PLACEHOLDER = "[redacted]"

MIN_LENGTH = 8
"""Characters of an environment's value below which it is no secret worth hiding."""

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)", re.IGNORECASE)

# The shapes that the makers document for their keys; the first group, if any, is kept.
_SHAPES = tuple(
    re.compile(pattern)
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
    """The values in *env* whose names say that they are secret, the longest first."""
    found = {v for k, v in env.items() if _SECRET_NAME.search(k) and len(v) >= MIN_LENGTH}
    return tuple(sorted(found, key=len, reverse=True))


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """*text* with known *secrets* and what looks like a key replaced."""
    for secret in secrets:
        text = text.replace(secret, PLACEHOLDER)
    for shape in _SHAPES:
        text = shape.sub(_hidden, text)
    return text


def _hidden(match: re.Match[str]) -> str:
    kept = match.group(1) if match.re.groups else ""
    return f"{kept}{PLACEHOLDER}"
