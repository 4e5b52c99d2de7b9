"""Levels of reasoning effort (spec 5, R5): which a model has, and how many tokens each may think.

A level that a model does not have becomes the nearest one that it has.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.provider.catalog.model_families import ADAPTIVE_SINCE, claude_version
from agent.provider.client import Api

EFFORT_LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
DEFAULT_LEVELS = ("low", "medium", "high")
ON_OFF_LEVELS = ("none", "high")
"""For models that only think or don't."""

MIN_BUDGET = 1_024
"""The least that Anthropic takes as ``budget_tokens``."""

BUDGETS: Mapping[str, int] = {
    "none": 0,
    "minimal": MIN_BUDGET,
    "low": 4_000,
    "medium": 10_000,
    "high": 16_000,
    "xhigh": 24_000,
    "max": 31_999,
}
DEFAULT_BUDGET = 10_000


def thinking_budget(effort: str | None) -> int:
    """The tokens that *effort* may think, those of "medium" where it is none of ours."""
    return BUDGETS.get(effort or "", DEFAULT_BUDGET)


def nearest_level(effort: str, levels: Sequence[str]) -> str:
    """The level of *levels* that comes nearest to *effort*, the lower of two; *effort* itself
    where it is none of ours."""
    known = [level for level in levels if level in EFFORT_LEVELS]
    if effort in levels or effort not in EFFORT_LEVELS or not known:
        return effort
    at = EFFORT_LEVELS.index(effort)
    if effort != "none":  # who asks for reasoning is not given none
        known = [level for level in known if level != "none"] or known
    return min(
        known, key=lambda level: (abs(EFFORT_LEVELS.index(level) - at), EFFORT_LEVELS.index(level))
    )


@dataclass(frozen=True, slots=True)
class ListedEfforts:
    """What the price list says of a model that reasons: its *levels* where it names them, else
    *more* or *fewer* than usual; *always* where it cannot be kept from thinking."""

    levels: tuple[str, ...] = ()
    more: frozenset[str] = frozenset()
    fewer: frozenset[str] = frozenset()
    always: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    """*levels* for the models that *model* is found in, at one of *sites* where any are named."""

    model: re.Pattern[str]
    levels: tuple[str, ...]
    sites: frozenset[str] = frozenset()


def _rule(model: str, levels: tuple[str, ...], *sites: str) -> _Rule:
    return _Rule(re.compile(model), levels, frozenset(sites))


# From the providers' documentation, first match counts.
_RULES = (
    _rule(r"gemini-2\.5.*flash", ("none", *DEFAULT_LEVELS, "max")),
    _rule(r"gemini-2\.5", (*DEFAULT_LEVELS, "max")),
    _rule(r"gemini.*flash", ("minimal", *DEFAULT_LEVELS)),
    _rule(r"gemini", DEFAULT_LEVELS),
    _rule(r"magistral|sonar-reasoning|deepseek-r|-thinking$", ()),
    _rule(r"grok-3-mini", ("low", "high")),
    _rule(r"gpt-5(-\d{4}.*)?-pro|gpt-5-pro", ("high",)),
    _rule(r"deepseek-(v4|flash)", ("none", "high", "max"), "deepseek"),
    _rule(r"qwen", ON_OFF_LEVELS, "groq", "alibaba", "together", "cerebras"),
    _rule(r"glm", ON_OFF_LEVELS, "zai", "cerebras", "together"),
    _rule(r"deepseek|minimax|kimi", ON_OFF_LEVELS, "deepseek", "moonshot", "together"),
    _rule(r"command", ON_OFF_LEVELS, "cohere"),
)


def effort_levels(api: Api, provider: str, name: str, listed: ListedEfforts) -> tuple[str, ...]:
    """The levels of the model that is called *name* (in lower case) at *site*, lowest first."""
    if listed.levels:
        return listed.levels
    found = _claude(api, name, listed) if "claude" in name else _by_rules(provider, name)
    if found is None:
        found = tuple(
            level for level in EFFORT_LEVELS if level in DEFAULT_LEVELS or level in listed.more
        )
    always = {"none"} if listed.always else set[str]()
    return tuple(level for level in found if level not in listed.fewer | always)


def _claude(api: Api, name: str, listed: ListedEfforts) -> tuple[str, ...]:
    if claude_version(name) >= ADAPTIVE_SINCE:
        return (
            "none",
            *DEFAULT_LEVELS,
            *(level for level in ("xhigh", "max") if level in listed.more),
        )
    budgets = api in ("anthropic-messages", "bedrock")
    return ("none", *DEFAULT_LEVELS, "max") if budgets else ("none", *DEFAULT_LEVELS)


def _by_rules(site: str, name: str) -> tuple[str, ...] | None:
    return next(
        (r.levels for r in _RULES if r.model.search(name) and (not r.sites or site in r.sites)),
        None,
    )
