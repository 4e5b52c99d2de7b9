"""What changed from one model of a family to the next, by the numbers in their names."""

import re

ADAPTIVE_SINCE = (4, 6)
"""From this version on Claude decides itself how much to think, by an effort."""

FIXED_SAMPLING_SINCE = (4, 7)
"""From this version on Claude refuses a temperature."""

NEW_GEMINI = r"gemini-([3-9]|\d\d|[\w-]+-latest)"
"""Geminis that take a thinking level, not a budget, and refuse a call without its signature."""

NEW_OPENAI = re.compile(r"^(o\d|gpt-([5-9]|\d\d)|codex)")
"""OpenAI's reasoning models, which want ``max_completion_tokens`` and no temperature."""

NEWEST = (99, 0)
VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)")


def claude_version(name: str) -> tuple[int, int]:
    """Major and minor version of the Claude that *name* (in lower case) stands for.

    A Claude without a number is taken to be new; any other model is (0, 0).
    """
    match = VERSION.search(name)
    if match is None:
        return NEWEST if "claude" in name else (0, 0)
    return int(match[1]), int(match[2] or 0)
