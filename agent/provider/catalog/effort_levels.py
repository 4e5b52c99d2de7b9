"""Levels of reasoning effort (spec 5, R5): which a model has, and how many tokens each may think.

A level that a model does not have becomes the nearest one that it has.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.provider.catalog.model_families import ADAPTIVE_SINCE, claude_version
from agent.provider.client import Api

LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
USUAL = ("low", "medium", "high")
SWITCH = ("none", "high")
"""For models that only think or don't."""

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


def nearest(effort: str, levels: Sequence[str]) -> str:
    """The level of *levels* that comes nearest to *effort*, the lower of two; *effort* itself
    where it is none of ours."""
    known = [level for level in levels if level in LEVELS]
    if effort in levels or effort not in LEVELS or not known:
        return effort
    at = LEVELS.index(effort)
    if effort != "none":  # who asks for reasoning is not given none
        known = [level for level in known if level != "none"] or known
    return min(known, key=lambda level: (abs(LEVELS.index(level) - at), LEVELS.index(level)))


@dataclass(frozen=True, slots=True)
class Listed:
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
    _rule(r"gemini-2\.5.*flash", ("none", *USUAL, "max")),
    _rule(r"gemini-2\.5", (*USUAL, "max")),
    _rule(r"gemini.*flash", ("minimal", *USUAL)),
    _rule(r"gemini", USUAL),
    _rule(r"magistral|sonar-reasoning|deepseek-r|-thinking$", ()),
    _rule(r"grok-3-mini", ("low", "high")),
    _rule(r"gpt-5(-\d{4}.*)?-pro|gpt-5-pro", ("high",)),
    _rule(r"deepseek-(v4|flash)", ("none", "high", "max"), "deepseek"),
    _rule(r"qwen", SWITCH, "groq", "alibaba", "together", "cerebras"),
    _rule(r"glm", SWITCH, "zai", "cerebras", "together"),
    _rule(r"deepseek|minimax|kimi", SWITCH, "deepseek", "moonshot", "together"),
    _rule(r"command", SWITCH, "cohere"),
)


def levels_of(api: Api, site: str, name: str, listed: Listed) -> tuple[str, ...]:
    """The levels of the model that is called *name* (in lower case) at *site*, lowest first."""
    if listed.levels:
        return listed.levels
    found = _claude(api, name, listed) if "claude" in name else _by_rules(site, name)
    if found is None:
        found = tuple(level for level in LEVELS if level in USUAL or level in listed.more)
    always = {"none"} if listed.always else set[str]()
    return tuple(level for level in found if level not in listed.fewer | always)


def _claude(api: Api, name: str, listed: Listed) -> tuple[str, ...]:
    if claude_version(name) >= ADAPTIVE_SINCE:
        return ("none", *USUAL, *(level for level in ("xhigh", "max") if level in listed.more))
    budgets = api in ("anthropic-messages", "bedrock")
    return ("none", *USUAL, "max") if budgets else ("none", *USUAL)


def _by_rules(site: str, name: str) -> tuple[str, ...] | None:
    return next(
        (r.levels for r in _RULES if r.model.search(name) and (not r.sites or site in r.sites)),
        None,
    )
