"""Caps on what is spent, and rate limits as providers report them."""

from typing import Literal

from agent.records.amounts import money, tokens
from agent.records.frozen import frozen

SpendingScope = Literal["session", "day"]
SpendingUnit = Literal["cost", "tokens"]

WARNING_SHARE = 0.8
"""The share of a cap from which on there is a warning."""


@frozen
class SpendingCap:
    """One cap, with what is *used* of it in US dollars or tokens."""

    scope: SpendingScope
    unit: SpendingUnit
    used: float
    amount: float | None = None
    """None for no cap."""

    @property
    def reached(self) -> bool:
        return self.amount is not None and self.used >= self.amount

    @property
    def nearly_reached(self) -> bool:
        return self.amount is not None and self.used >= WARNING_SHARE * self.amount

    def format(self, amount: float | None) -> str:
        """Return *amount* in the cap's unit."""
        if self.unit == "cost" or amount is None:
            return money(amount)
        return "1 token" if round(amount) == 1 else f"{tokens(round(amount))} tokens"

    @property
    def sentence(self) -> str:
        """A sentence on the use of the cap."""
        who, when = (
            ("This session has", "")
            if self.scope == "session"
            else ("All sessions on this machine have", " today")
        )
        spent = "cost" if self.unit == "cost" else "used"
        used = f"{who} {spent} {self.format(self.used)}{when}"
        return f"{used}; the cap is {self.format(self.amount)}."

    @property
    def setting(self) -> str:
        """The key of the cap in the settings."""
        return f"limits.{'daily' if self.scope == 'day' else 'session'}_{self.unit}"


@frozen
class RateLimit:
    """One limit of a provider, as of the newest response."""

    name: str
    """The limited quantity or time window: ``requests``, ``input tokens``, ``5h``."""
    share: float | None = None
    """The share that is left, from 0 to 1."""
    remaining: float | None = None
    limit: float | None = None
    resets: float | None = None
    """When it is renewed (seconds since the epoch)."""
