"""The record of a request that found less in the provider's cache than it could have."""

from typing import Literal

from agent.records.frozen import frozen
from agent.records.units import money, tokens

CacheMissCause = Literal[
    "tools", "system", "history", "model", "effort", "expired", "dropped", "restarted"
]

CAUSES: dict[CacheMissCause, str] = {
    "tools": "the tools changed",
    "system": "the system prompt changed",
    "history": "earlier messages changed",
    "model": "the model changed",
    "effort": "the reasoning effort changed",
    "expired": "the cache expired",
    "dropped": "the provider did not keep it",
    "restarted": "the program was started again",
}
"""The causes in words."""


@frozen(kw_only=True)
class CacheMiss:
    """A request of which *lost* tokens were read again although the one before it had them."""

    cause: CacheMissCause
    lost: int
    cost: float | None = None
    """US dollars that a hit would have saved; None where no price is known."""
    detail: str = ""
    """The cause in more detail, in a few words."""
    at: int | None = None
    """The first byte that differs, of tools, system prompt and messages in this order; None if
    nothing does, or it is not known."""
    was: str = ""
    """The text around that place before."""
    now: str = ""

    @property
    def sentence(self) -> str:
        """The miss in a sentence."""
        price = f" ({money(self.cost)})" if self.cost is not None else ""
        detail = f": {self.detail}" if self.detail else ""
        return (
            f"{tokens(self.lost)} tokens were processed again{price}: {CAUSES[self.cause]}{detail}."
        )
