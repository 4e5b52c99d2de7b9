"""Token counts as providers send them, in our form; and what they cost (spec 5, R8)."""

from agent.provider.client import Price
from agent.records.json import Json, JsonObject
from agent.records.messages import Usage

# No model reads or writes this many tokens in one call; what is above is a server's fault.
MAX_TOKENS = 1_000_000_000
MILLION = 1_000_000


def token_count(value: Json) -> int:
    """*value* as a count: 0 for what is no number, negative or not finite; clamped above."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    if not 0 < value < float("inf"):
        return 0
    return min(int(value), MAX_TOKENS)


def chat_usage(raw: Json) -> Usage | None:
    """The usage object of an OpenAI-compatible answer, None if it is no such object.

    Two conventions are told apart by ``total_tokens``: most count reasoning inside
    ``completion_tokens``; xAI and GitHub Copilot count it beside, and then the total is the sum
    of all three. Nothing else is corrected here, even where the parts exceed the whole.
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
    """Dollars, as OpenRouter, Vercel's gateway and Perplexity tell them. Zero tells nothing: it
    is also said of what is paid elsewhere."""
    told = raw.get("cost")
    if isinstance(told, dict):
        told = told.get("total_cost")
    own = _part(raw, "cost_details").get("upstream_inference_cost") if told == 0 else None
    dollars = own or told
    if isinstance(dollars, bool) or not isinstance(dollars, int | float):
        return None
    return float(dollars) if 0 < dollars < float("inf") else None


class AnthropicUsage:
    """The usage of one answer of Anthropic's, which comes in pieces; a later field counts.

    Cached tokens are sent beside ``input_tokens``, and are put back into the whole. A later
    piece that counts no prompt at all says nothing of it (some gateways fill in zeros).
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] | None = None

    def add(self, raw: Json) -> None:
        """Take the ``usage`` object of one event; what is none changes nothing."""
        if not isinstance(raw, dict) or not raw:
            return
        counts = {name: token_count(raw[name]) for name in _ANTHROPIC if raw.get(name) is not None}
        if not any(counts.get(name) for name in _ANTHROPIC_PROMPT):
            counts = {name: n for name, n in counts.items() if name not in _ANTHROPIC_PROMPT}
        self._counts = (self._counts or {}) | counts

    @property
    def total(self) -> Usage | None:
        """What was counted so far, None where nothing was sent."""
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
    """Dollars for *usage*: what the provider told, else by *price*; None where both, or the
    usage, are unknown.

    Billed input is input − cache read − cache write, never below zero; each part has its own
    price, and a part without one is billed as plain input.
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
