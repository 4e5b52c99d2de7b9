"""Whether a failed model call is tried again, and after how long (spec 5, R7)."""

import random
from dataclasses import dataclass

from agent.records.errors import ProviderError, ProviderErrorKind

RETRIED_KINDS = frozenset(
    {ProviderErrorKind.RATE_LIMIT, ProviderErrorKind.OVERLOADED, ProviderErrorKind.NETWORK}
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """*attempts* counts all tries, the first included; times are seconds.

    *first* doubles with each failure up to *most*; a server's own delay is kept as it is, but
    one above *longest* ends the turn with a message instead of a silent wait.
    """

    attempts: int = 5
    initial: float = 2.0
    maximum: float = 30.0
    max_server_delay: float = 600.0


DEFAULT_POLICY = RetryPolicy()


def is_retryable(error: ProviderError) -> bool:
    """Whether a repeat of the same request can succeed at all."""
    return error.kind in RETRIED_KINDS or error.retry_once


def retry_delay(
    attempt: int,
    error: ProviderError,
    rng: random.Random,
    policy: RetryPolicy = DEFAULT_POLICY,
    *,
    retried_once: bool = False,
) -> float | None:
    """Seconds to wait after failure number *attempt* (from 1), None to give up. *mended* says
    that what is tried once more was tried once more already."""
    if not is_retryable(error) or attempt >= policy.attempts:
        return None
    if error.kind not in RETRIED_KINDS and retried_once:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= policy.max_server_delay else None
    doublings = min(attempt - 1, 30)
    return rng.uniform(0, min(policy.maximum, policy.initial * 2**doublings))


def give_up_reason(
    attempt: int, error: ProviderError, policy: RetryPolicy = DEFAULT_POLICY
) -> str | None:
    """Why ``delay`` gave up though the error is of a kind that is retried, None otherwise."""
    if error.kind not in RETRIED_KINDS:
        return None
    if error.retry_after is not None and error.retry_after > policy.max_server_delay:
        minutes = round(error.retry_after / 60)
        return f"The server asks to wait for {minutes:,} minutes. Try again then."
    if attempt >= policy.attempts:
        return f"Gave up after {attempt} tries."
    return None
