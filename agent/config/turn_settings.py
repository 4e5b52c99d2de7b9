"""Settings of turns: retries, fallback models, limits, caps, compaction.

They follow the rules of ``agent.config.settings_schema``.
"""

from typing import Any, ClassVar, Literal

from agent.config.file_keys import CHECKED
from agent.records.frozen import frozen


@frozen(kw_only=True)
class RetryConfig:
    """Retries when a provider fails temporarily."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    attempts: int = 5
    """The maximum number of attempts for a request, including the first one."""
    delay: int = 2_000
    """Milliseconds before the second attempt; doubled each time, with random jitter, up to 30
    seconds."""


@frozen(kw_only=True)
class FallbackConfig:
    """Models that continue a turn when its own is overloaded, out of quota, unreachable or gone,
    after the usual retries. The first one comes back when it recovers."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    models: tuple[str, ...] = ()
    """Their names, as ``provider/model``, in order."""
    mode: Literal["ask", "auto", "off"] = "ask"
    """``ask`` asks before another model continues, ``auto`` continues at once. Where no one can
    answer, as in ``run``, ``ask`` ends the turn."""
    recheck: int = 300_000
    """Milliseconds until a model that failed is tried again (5 minutes), or longer where its
    server says so."""


@frozen(kw_only=True)
class LimitsConfig:
    """Limits that end a turn, and caps on what is spent. Not set: no limit."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    steps: int | None = None
    """The maximum number of model calls in one turn."""
    tokens: int | None = None
    """The maximum number of tokens in one turn, prompts and responses together."""
    cost: float | None = None
    """The maximum cost of one turn in US dollars."""
    repeats: int = 3
    """The number of equal tool calls in a row before the user is asked; 0 to never ask."""
    target_tokens: int | None = None
    """A target, not a limit: a turn that would end continues until it has written nearly this many
    tokens."""
    session_cost: float | None = None
    """The maximum cost of a session with its sub-agents in US dollars. At 80% there is a warning;
    at the cap you are asked whether to raise it; where no one can answer, the turn ends."""
    session_tokens: int | None = None
    """The same in tokens, prompts and responses together."""
    daily_cost: float | None = None
    """The maximum cost of all sessions on this machine in a day, in US dollars."""
    daily_tokens: int | None = None
    """The same in tokens, prompts and responses together."""


@frozen(kw_only=True)
class CompactionConfig:
    """Compaction of a session that does not fit the model's context window."""

    __pydantic_config__: ClassVar[dict[str, Any]] = CHECKED

    auto: bool = True
    """True to compact a long session automatically. The sections of the summary come from the
    agent ``compaction``: set its ``prompt`` to change them."""
    model: str | None = None
    """The model that writes the summary, as ``provider/model``. Not set: that of the agent
    ``compaction``, else the session's own."""
    reserved: int | None = None
    """Tokens of the context window that are kept for the response. Not set: the least of 20,000,
    the limit for one response, and a quarter of the window."""
    prune: bool = True
    """True to shorten old tool output in requests to its first and last lines before a session
    is compacted."""
    protect: tuple[str, ...] = ()
    """Tools, in addition to ``skill``, whose output is never shortened."""
