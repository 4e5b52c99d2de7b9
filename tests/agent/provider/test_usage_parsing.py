"""Token counts and costs."""

from typing import Any

import pytest

from agent.provider.client import Price
from agent.provider.usage_parsing import chat_usage, cost
from agent.records.messages import Usage


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 3}, Usage(9, 3)),
        ({"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 16,
          "completion_tokens_details": {"reasoning_tokens": 4}}, Usage(9, 7, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12,
          "completion_tokens_details": {"reasoning_tokens": 4}}, Usage(9, 3, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 5},
         Usage(9, 3, 0, 5)),
        ({"prompt_tokens": 9, "completion_tokens": 3,
          "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2}},
         Usage(9, 3, 0, 5, 2)),
        ({"prompt_tokens": -1, "completion_tokens": None}, Usage()),
        ({"prompt_tokens": 1e300, "completion_tokens": float("nan")}, Usage(1_000_000_000)),
        ({"prompt_tokens": True, "completion_tokens": "3"}, Usage()),
        ({}, None), (None, None), ([1], None),
    ],
)  # fmt: skip
def test_forms_of_usage(raw: Any, expected: Usage | None) -> None:
    assert chat_usage(raw) == expected


def test_each_part_has_its_price() -> None:
    usage = Usage(input=1_000_000, output=100_000, cache_read=400_000, cache_write=100_000)
    price = Price(input=3, output=15, cache_read=0.3, cache_write=3.75)
    assert cost(usage, price) == pytest.approx(0.5 * 3 + 0.4 * 0.3 + 0.1 * 3.75 + 0.1 * 15)


def test_parts_without_a_price_are_billed_as_input() -> None:
    usage = Usage(input=1_000_000, cache_read=500_000, cache_write=100_000)
    assert cost(usage, Price(2, 8)) == pytest.approx(2)


def test_more_cached_than_sent_never_bills_below_zero() -> None:
    price = Price(1, 1, cache_read=0.1)
    assert cost(Usage(input=7, cache_read=161), price) == pytest.approx(161 * 0.1 / 1e6)


def test_long_prompts_have_their_own_tier() -> None:
    price = Price(1, 2, beyond=200_000, then=Price(10, 20))
    assert cost(Usage(input=200_000), price) == pytest.approx(0.2)
    assert cost(Usage(input=200_001), price) == pytest.approx(2.00001)


def test_tiers_follow_each_other() -> None:
    price = Price(1, 2, beyond=100_000, then=Price(2, 4, beyond=200_000, then=Price(4, 8)))
    spent = [cost(Usage(input=n), price) for n in (100_000, 100_001, 200_001)]
    assert spent == pytest.approx([0.1, 0.200002, 0.800004])


def test_reasoning_can_have_its_own_price() -> None:
    price = Price(1, 2, reasoning=10)
    assert cost(Usage(0, 1_000_000, reasoning=400_000), price) == pytest.approx(1.2 + 4)
    assert cost(Usage(0, 10, reasoning=99), price) == pytest.approx(100e-6)


@pytest.mark.parametrize(
    ("reported", "dollars"),
    [
        ({"cost": 0.25}, 0.25), ({"cost": {"total_cost": 0.5}}, 0.5), ({"cost": 0}, None),
        ({"cost": 0, "cost_details": {"upstream_inference_cost": 0.1}}, 0.1),
        ({"cost": True}, None), ({"cost": "1"}, None), ({"cost": -1}, None),
    ],
)  # fmt: skip
def test_the_reported_cost_overrides_any_price(
    reported: dict[str, Any], dollars: float | None
) -> None:
    usage = chat_usage({"prompt_tokens": 1_000_000, "completion_tokens": 0, **reported})
    assert cost(usage, None) == dollars
    assert cost(usage, Price(3, 15)) == (3 if dollars is None else dollars)
    assert usage is not None
    assert (usage + usage).charged is None


def test_unknown_is_none_and_not_zero() -> None:
    assert cost(Usage(input=5), None) is None
    assert cost(None, Price(1, 1)) is None
