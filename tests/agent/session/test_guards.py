"""Limits and the doom loop (spec 1, L2a and L4)."""

from agent.records.messages import Usage
from agent.session.guards import CostLimit, DoomLoop, StepLimit, TokenLimit, TurnTotals


def test_l4_the_third_equal_call_is_one_too_many() -> None:
    doom = DoomLoop()
    assert [doom.observe(str(i), "read", {"file_path": "a"}) for i in range(3)] == [
        False,
        False,
        True,
    ]


def test_l4_the_order_of_keys_does_not_matter() -> None:
    doom = DoomLoop()
    doom.observe("1", "grep", {"pattern": "x", "path": "a"})
    doom.observe("2", "grep", {"path": "a", "pattern": "x"})
    assert doom.observe("3", "grep", {"pattern": "x", "path": "a"})


def test_l4_another_call_in_between_breaks_the_row() -> None:
    doom = DoomLoop()
    doom.observe("1", "read", {"file_path": "a"})
    doom.observe("2", "read", {"file_path": "a"})
    assert not doom.observe("3", "read", {"file_path": "b"})
    assert not doom.observe("4", "read", {"file_path": "a"})


def test_l4_near_duplicates_count_when_results_are_equal() -> None:
    doom = DoomLoop()
    for number in ("1", "2"):
        doom.observe(number, "bash", {"command": f"sleep {number}"})
        doom.record_result(number, "exit 1")
    assert doom.observe("3", "bash", {"command": "sleep  3"})


def test_l4_near_duplicates_with_other_results_are_progress() -> None:
    doom = DoomLoop()
    for number in ("1", "2"):
        doom.observe(number, "read", {"file_path": "a", "offset": int(number)})
        doom.record_result(number, f"page {number}")
    assert not doom.observe("3", "read", {"file_path": "a", "offset": 3})


def test_l4_invalid_calls_count() -> None:
    doom = DoomLoop()
    assert [doom.observe(str(i), "write", '{"path": "a') for i in range(3)][-1]


def test_l4_going_on_starts_afresh() -> None:
    doom = DoomLoop()
    doom.observe("1", "read", {})
    doom.observe("2", "read", {})
    doom.reset()
    assert not doom.observe("3", "read", {})


def test_l2_the_step_limit_leaves_a_last_step_to_sum_up() -> None:
    limit = StepLimit(2)
    assert limit.before_step(TurnTotals(steps=1)) is None
    assert limit.is_last(TurnTotals(steps=2))
    assert limit.before_step(TurnTotals(steps=2)) is None
    assert "2 steps" in (limit.before_step(TurnTotals(steps=3)) or "")


def test_l2a_tokens_and_cost() -> None:
    totals = TurnTotals().add_step(Usage(input=900, output=100), 0.5).add_step(Usage(), None)
    assert totals == TurnTotals(2, Usage(input=900, output=100), 0.5)
    assert TokenLimit(1_000).before_step(totals)
    assert TokenLimit(1_001).before_step(totals) is None
    assert CostLimit(0.5).before_step(totals)
    assert CostLimit(0.51).before_step(totals) is None
    assert CostLimit(0.01).before_step(TurnTotals()) is None
