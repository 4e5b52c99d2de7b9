"""Text of strangers without what no reader sees (security reference, 9.3)."""

import re

_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Marks that no reader sees but a model may read: hidden instructions are written so."""


def visible(text: str) -> str:
    """*text* without invisible marks. Joiners stay: scripts and emoji are written with them."""
    return _INVISIBLE.sub("", text)
