"""Differences between the models of a family, by the version in their names."""

import re

ADAPTIVE_SINCE = (4, 6)
"""The first version of Claude that takes an effort instead of a thinking budget."""

FIXED_SAMPLING_SINCE = (4, 7)
"""The first version of Claude that refuses a temperature."""

NEW_GEMINI = r"gemini-([3-9]|\d\d|[\w-]+-latest)"
"""Gemini models that take a thinking level, not a budget, and refuse calls without signature."""

NEW_OPENAI = re.compile(r"^(o\d|gpt-([5-9]|\d\d)|codex)")
"""OpenAI's reasoning models, which need ``max_completion_tokens`` and refuse a temperature."""

NEWEST = (99, 0)
VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)")


def claude_version(name: str) -> tuple[int, int]:
    """Return the major and minor version of the Claude model *name* (in lower case).

    A Claude without a number counts as the newest; any other model is (0, 0).
    """
    match = VERSION.search(name)
    if match is None:
        return NEWEST if "claude" in name else (0, 0)
    return int(match[1]), int(match[2] or 0)
