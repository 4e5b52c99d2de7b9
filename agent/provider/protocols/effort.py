"""Tokens for reasoning by effort (spec 5, R5): budgets, and room beside the answer's cap.

The output cap of a step is meant for the answer; providers count reasoning within it.
"""

from collections.abc import Mapping

LEAST_BUDGET = 1_024
"""The least that Anthropic takes as ``budget_tokens``."""

BUDGETS: Mapping[str, int] = {
    "none": 0,
    "minimal": LEAST_BUDGET,
    "low": 4_000,
    "medium": 10_000,
    "high": 16_000,
    "xhigh": 24_000,
    "max": 31_999,
}
DEFAULT_BUDGET = 10_000


def budget_of(effort: str | None) -> int:
    """The tokens that *effort* may think, those of "medium" where it is none of ours."""
    return BUDGETS.get(effort or "", DEFAULT_BUDGET)
