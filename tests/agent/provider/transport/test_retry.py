"""The retry policy: which errors are retried, and when."""

import random

import pytest

from agent.provider.transport.retry import RetryPolicy, give_up_reason, retry_delay
from agent.records.errors import ProviderError, ProviderErrorKind


def error(kind: str, after: float | None = None, *, once: bool = False) -> ProviderError:
    return ProviderError(ProviderErrorKind(kind), "x", retry_after=after, retry_once=once)


class Longest(random.Random):
    """A random generator that returns the upper end of every range."""

    def uniform(self, a: float, b: float) -> float:
        return b


@pytest.mark.parametrize("kind", ["network", "overloaded", "rate_limit"])
def test_delays_double_to_thirty_seconds_and_end_after_five_attempts(kind: str) -> None:
    policy = RetryPolicy(attempts=8)
    waits = [retry_delay(n, error(kind), Longest(), policy) for n in range(1, 9)]
    assert waits == [2, 4, 8, 16, 30, 30, 30, None]
    assert retry_delay(4, error(kind), Longest()) is not None
    assert retry_delay(5, error(kind), Longest()) is None


def test_full_jitter_stays_below_the_bound_and_varies() -> None:
    rng = random.Random(7)
    waits = [retry_delay(3, error("network"), rng) for _ in range(50)]
    assert all(wait is not None and 0 <= wait <= 8 for wait in waits)
    assert len(set(waits)) > 10


@pytest.mark.parametrize(
    "kind", ["overflow", "auth", "quota", "invalid_request", "content_filter", "aborted"]
)
def test_others_are_not_retried(kind: str) -> None:
    assert retry_delay(1, error(kind, 1), Longest()) is None
    assert give_up_reason(1, error(kind)) is None


def test_failed_tool_use_is_retried_once() -> None:
    failed = error("invalid_request", once=True)
    assert retry_delay(1, failed, Longest()) == 2
    assert retry_delay(2, failed, Longest(), retried_once=True) is None
    assert retry_delay(3, failed, Longest()) == 8, "after failures of another kind"
    assert retry_delay(2, error("network"), Longest(), retried_once=True) == 4


def test_a_server_delay_is_kept_up_to_ten_minutes() -> None:
    assert retry_delay(1, error("rate_limit", 599), Longest()) == 599
    assert retry_delay(1, error("rate_limit", 601), Longest()) is None


def test_reasons_to_stop_are_sentences() -> None:
    assert give_up_reason(1, error("rate_limit", 7200)) is not None
    assert "120 minutes" in (give_up_reason(1, error("rate_limit", 7200)) or "")
    assert "5 tries" in (give_up_reason(5, error("network")) or "")
    assert give_up_reason(1, error("network")) is None
