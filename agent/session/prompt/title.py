"""A session's title from its first prompt."""

import re

LIMIT = 60
"""Characters of a title at most."""


def title_of(prompt: str) -> str:
    """The first words of *prompt* in one line, cut at a word where it is long."""
    text = " ".join(re.sub(r"[`*_#>\x00-\x1f\x7f-\x9f]+", " ", prompt).split())
    if len(text) <= LIMIT:
        return text or "New session"
    cut = text[: LIMIT - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[LIMIT // 2 :] else cut) + "…"
