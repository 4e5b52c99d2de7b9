"""Parsing of the token counts that providers send, and the cost of these tokens."""

from agent.provider.client import Price
from agent.records.json import Json, JsonObject
from agent.records.messages import Usage

# No model reads or writes this many tokens in one call; a higher count is a server's bug.
MAX_TOKENS = 1_000_000_000
MILLION = 1_000_000


def token_count(value: Json) -> int:
    """Return *value* as a count: 0 for anything but a positive finite number, at most the limit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    if not 0 < value < float("inf"):
        return 0
    return min(int(value), MAX_TOKENS)


def chat_usage(raw: Json) -> Usage | None:
    """Return the usage in an OpenAI-compatible response, None if *raw* is no usage object.

    Most providers count reasoning inside ``completion_tokens``; xAI and GitHub Copilot do not,
    which shows in ``total_tokens`` being the sum of all three. Nothing else is corrected here,
    even where the parts exceed the whole.
    """
    if not isinstance(raw, dict) or not raw:
        return None
    prompt = token_count(raw.get("prompt_tokens")) or token_count(raw.get("input_tokens"))
    output = token_count(raw.get("completion_tokens")) or token_count(raw.get("output_tokens"))
    prompt_parts = _part(raw, "prompt_tokens_details", "input_tokens_details")
    output_parts = _part(raw, "completion_tokens_details", "output_tokens_details")
    reasoning = token_count(output_parts.get("reasoning_tokens")) or token_count(
        raw.get("reasoning_tokens")
    )
    if reasoning and token_count(raw.get("total_tokens")) == prompt + output + reasoning:
        output += reasoning
    return Usage(
        input=prompt,
        output=output,
        reasoning=reasoning,
        cache_read=token_count(prompt_parts.get("cached_tokens"))
        or token_count(raw.get("prompt_cache_hit_tokens"))
        or token_count(raw.get("cached_tokens"))
        or token_count(raw.get("cache_read_input_tokens")),
        cache_write=token_count(prompt_parts.get("cache_write_tokens"))
        or token_count(raw.get("cache_creation_input_tokens")),
        charged=_charged(raw),
    )


def _charged(raw: JsonObject) -> float | None:
    """Return the dollars that OpenRouter, Vercel's gateway or Perplexity report.

    Zero is no information: it is also reported for requests that are paid elsewhere.
    """
    reported = raw.get("cost")
    if isinstance(reported, dict):
        reported = reported.get("total_cost")
    upstream = None
    if reported == 0:
        upstream = _part(raw, "cost_details").get("upstream_inference_cost")
    dollars = upstream or reported
    if isinstance(dollars, bool) or not isinstance(dollars, int | float):
        return None
    return float(dollars) if 0 < dollars < float("inf") else None


class AnthropicUsage:
    """The usage of one response of Anthropic's, which comes in pieces; the last value counts.

    ``input_tokens`` excludes cached tokens; they are added here. A later piece whose prompt
    counts are all zero does not replace them (some gateways fill in zeros).
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] | None = None

    def add(self, raw: Json) -> None:
        """Add the ``usage`` object of one event; anything else is ignored."""
        if not isinstance(raw, dict) or not raw:
            return
        counts = {name: token_count(raw[name]) for name in _ANTHROPIC if raw.get(name) is not None}
        if not any(counts.get(name) for name in _ANTHROPIC_PROMPT):
            counts = {name: n for name, n in counts.items() if name not in _ANTHROPIC_PROMPT}
        self._counts = (self._counts or {}) | counts

    @property
    def total(self) -> Usage | None:
        """The usage so far, None where nothing was sent."""
        if self._counts is None:
            return None
        plain, read, write = (self._counts.get(name, 0) for name in _ANTHROPIC_PROMPT)
        return Usage(
            input=plain + read + write,
            output=self._counts.get("output_tokens", 0),
            cache_read=read,
            cache_write=write,
        )


_ANTHROPIC_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_ANTHROPIC = (*_ANTHROPIC_PROMPT, "output_tokens")


def _part(raw: JsonObject, *names: str) -> JsonObject:
    for name in names:
        value = raw.get(name)
        if isinstance(value, dict):
            return value
    return {}


def cost(usage: Usage | None, price: Price | None) -> float | None:
    """Return the dollars for *usage*: as the provider reports, else by *price*.

    None if the usage, or both of these, are unknown. Billed input is input − cache read − cache
    write, never below zero; each part has its own price, and a part without one is billed as
    plain input.
    """
    if usage is None or price is None or usage.charged is not None:
        return usage.charged if usage is not None else None
    while price.beyond is not None and price.then is not None and usage.input > price.beyond:
        price = price.then
    plain = max(0, usage.input - usage.cache_read - usage.cache_write)
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    thought = min(usage.reasoning, usage.output)
    dollars = (
        plain * price.input
        + usage.cache_read * read
        + usage.cache_write * write
        + (usage.output - thought) * price.output
        + thought * (price.output if price.reasoning is None else price.reasoning)
    )
    return dollars / MILLION
