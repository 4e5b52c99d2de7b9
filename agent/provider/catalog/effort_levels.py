"""The levels of reasoning effort of each model, and the thinking budget of each level.

A level that a model does not have is replaced by the nearest one that it has. The translation of a
level to a provider's request fields is in ``agent.provider.quirks.reasoning_effort``.
"""

import re
from collections.abc import Mapping, Sequence

from agent.provider.client import Api, ModelInfo
from agent.records.frozen import frozen

EFFORT_LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
DEFAULT_LEVELS = ("low", "medium", "high")
ON_OFF_LEVELS = ("none", "high")
"""The levels of models whose thinking can only be switched on or off."""

MIN_BUDGET = 1_024
"""The smallest ``budget_tokens`` that Anthropic accepts."""

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
    """Return the thinking tokens for *effort*, those of "medium" for an unknown level."""
    return BUDGETS.get(effort or "", DEFAULT_BUDGET)


def nearest_level(effort: str, levels: Sequence[str]) -> str:
    """Return the level of *levels* that is nearest to *effort*, the lower one of two.

    An unknown *effort* is returned as it is.
    """
    known = [level for level in levels if level in EFFORT_LEVELS]
    if effort in levels or effort not in EFFORT_LEVELS or not known:
        return effort
    at = EFFORT_LEVELS.index(effort)
    if effort != "none":  # a request for reasoning never becomes none
        known = [level for level in known if level != "none"] or known
    return min(
        known, key=lambda level: (abs(EFFORT_LEVELS.index(level) - at), EFFORT_LEVELS.index(level))
    )


DEFAULT_CLAUDE_EFFORT = "medium"


def default_effort(name: str, levels: Sequence[str], *wanted: str | None) -> str | None:
    """Return the effort of requests that name none, for the model *name* (in lower case) with
    these *levels*: the first of *wanted* that is one of them, or the nearest one to it.

    Without any, Claude gets one, as it does not reason until a request says so. Other models keep
    their server's default, None.
    """
    if not levels:
        return None
    for effort in wanted:
        if effort is not None and (effort in levels or effort in EFFORT_LEVELS):
            return nearest_level(effort, levels)
    return nearest_level(DEFAULT_CLAUDE_EFFORT, levels) if "claude" in name else None


def choose_effort(model: ModelInfo, requested: str | None) -> tuple[str | None, str]:
    """Return the effort that is sent to *model* for the *requested* one, and a note for the user if
    it is another one."""
    if requested is None:
        return model.default_effort, ""
    if requested in model.efforts:
        return requested, ""
    has = f"{model.full_name} has {', '.join(model.efforts) or 'no effort levels that are known'}"
    if requested not in EFFORT_LEVELS:
        return model.default_effort, f"There is no effort {requested}; {has}."
    if not model.efforts:
        # Lists do not know every model. A server that has no such field refuses it once.
        return requested, ""
    level = nearest_level(requested, model.efforts)
    return level, f"Effort {level} is used instead of {requested}; {has}."


@frozen
class ListedEfforts:
    """The levels of a model according to the price list."""

    levels: tuple[str, ...] = ()
    """All levels, () where the list does not name them."""

    more: frozenset[str] = frozenset()
    """Levels in addition to the default ones."""

    fewer: frozenset[str] = frozenset()
    """Levels that the model lacks."""

    always: bool = False
    """True if its thinking cannot be switched off."""


@frozen
class _Rule:
    """The levels of the models whose name matches a pattern."""

    model: re.Pattern[str]
    levels: tuple[str, ...]
    providers: frozenset[str] = frozenset()
    """The providers that the rule is limited to, if any."""


def _rule(model: str, levels: tuple[str, ...], *providers: str) -> _Rule:
    return _Rule(re.compile(model), levels, frozenset(providers))


# From the providers' documentation; the first match counts.
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
    found = (
        _claude_levels(api, name, listed) if "claude" in name else _levels_by_rules(provider, name)
    )
    if found is None:
        found = tuple(
            level for level in EFFORT_LEVELS if level in DEFAULT_LEVELS or level in listed.more
        )
    always = {"none"} if listed.always else set[str]()
    return tuple(level for level in found if level not in listed.fewer | always)


def _claude_levels(api: Api, name: str, listed: ListedEfforts) -> tuple[str, ...]:
    if claude_version(name) >= ADAPTIVE_SINCE:
        return (
            "none",
            *DEFAULT_LEVELS,
            *(level for level in ("xhigh", "max") if level in listed.more),
        )
    budgets = api in ("anthropic-messages", "bedrock")
    return ("none", *DEFAULT_LEVELS, "max") if budgets else ("none", *DEFAULT_LEVELS)


def _levels_by_rules(provider: str, name: str) -> tuple[str, ...] | None:
    for rule in _RULES:
        if rule.model.search(name) and (not rule.providers or provider in rule.providers):
            return rule.levels
    return None


# Differences between the models of a family, by the version in their names.

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
