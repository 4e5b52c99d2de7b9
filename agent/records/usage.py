"""Tokens that model calls took."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of model calls: *input* is the whole prompt, cached tokens included,
    *output* all that was generated, reasoning included; the next three are parts of these.
    *charged* is what a provider says that one call cost, in US dollars; a sum has none."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    charged: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )
