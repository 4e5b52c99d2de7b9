"""What a server's refusal objects to, so that it can be asked again without that part."""

import re
from collections.abc import Iterable

IMAGES = "images"
"""Pictures and documents. One is refused for itself; the model may well see the next one."""

DOCUMENT_NAMES = ("pdf", "document", "file", "file_data", "input_file")
"""What servers call a document that they refuse."""

REASONING_REPLAY = "reasoning replay"
"""Reasoning of earlier answers that goes back with the next request."""

ALTERNATING_ROLES = "roles in turn"
"""Two messages of one role in a row, which a chat template raises at."""

CACHE_MARKS = "cache marks"
"""Marks where the provider is to cache."""

UNSIGNED_CALLS = "calls without signatures"
"""Calls of other models in the history of one that signs its own."""

TEMPERATURE = "temperature"

REFUSAL_PATTERN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|"
    r"not allowed|additional propert|invalid|cannot|could not|deprecated"
)
REQUIREMENT_PATTERN = re.compile(r"missing|must be (passed|provided|present)|is required|lacks")


def first_named(text: str, names: Iterable[str]) -> str | None:
    """The first of *names* that stands as a word in *text* (both in lower case)."""
    return next((name for name in names if re.search(rf"\b{re.escape(name)}\b", text)), None)
