"""The retry policy for failed model calls: which errors are retried, and after how long."""

import random

from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.frozen import frozen

RETRIED_KINDS = frozenset(
    {ProviderErrorKind.RATE_LIMIT, ProviderErrorKind.OVERLOADED, ProviderErrorKind.NETWORK}
)


@frozen
class RetryPolicy:
    """The limits of retries. Times are in seconds."""

    attempts: int = 5
    """All attempts, including the first."""

    initial: float = 2.0
    """The upper bound of the first delay; it doubles with each failure."""

    maximum: float = 30.0
    """The largest upper bound of a delay."""

    max_server_delay: float = 600.0
    """The longest delay that a server can demand; a longer one ends the turn with a message."""


DEFAULT_POLICY = RetryPolicy()


def is_retryable(error: ProviderError) -> bool:
    """Return whether the same request can succeed later."""
    return error.kind in RETRIED_KINDS or error.retry_once


def retry_delay(
    attempt: int,
    error: ProviderError,
    rng: random.Random,
    policy: RetryPolicy = DEFAULT_POLICY,
    *,
    retried_once: bool = False,
) -> float | None:
    """Return the seconds to wait after failure number *attempt* (from 1), None to give up.

    *retried_once* says that the single retry of an error with ``retry_once`` is used up.
    """
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
    """Return why ``retry_delay`` gave up on an error of a kind that is retried, else None."""
    if error.kind not in RETRIED_KINDS:
        return None
    if error.retry_after is not None and error.retry_after > policy.max_server_delay:
        minutes = round(error.retry_after / 60)
        return f"The server asks you to wait {minutes:,} minutes. Try again then."
    if attempt >= policy.attempts:
        return f"Gave up after {attempt} {'try' if attempt == 1 else 'tries'}."
    return None
