"""Token usage of model calls."""

from agent.records.frozen import frozen


@frozen
class Usage:
    """Token usage of one or more model calls."""

    input: int = 0
    """The whole prompt, cached tokens included."""
    output: int = 0
    """All generated tokens, reasoning included."""
    reasoning: int = 0
    """The part of *output* that is reasoning."""
    cache_read: int = 0
    """The part of *input* that was read from the provider's cache."""
    cache_write: int = 0
    """The part of *input* that was written to the provider's cache."""
    charged: float | None = None
    """US dollars that the provider says one call cost; None in a sum."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )
