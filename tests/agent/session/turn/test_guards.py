"""The limits of a turn and the doom loop."""

from agent.provider.client import ModelInfo
from agent.records.messages import Usage
from agent.session.context.token_meter import StepSettings
from agent.session.turn.guards import CostLimit, DoomLoop, Guard, StepLimit, TokenLimit
from agent.session.turn.state import PlannedStep, TurnEnd, TurnTotals
from tests.agent.store.samples import make_session, make_user


def test_the_third_equal_call_is_a_loop() -> None:
    doom = DoomLoop()
    assert [doom.observe(str(i), "read", {"file_path": "a"}) for i in range(3)] == [
        False,
        False,
        True,
    ]


def test_the_order_of_keys_does_not_matter() -> None:
    doom = DoomLoop()
    doom.observe("1", "grep", {"pattern": "x", "path": "a"})
    doom.observe("2", "grep", {"path": "a", "pattern": "x"})
    assert doom.observe("3", "grep", {"pattern": "x", "path": "a"})


def test_another_call_in_between_breaks_the_loop() -> None:
    doom = DoomLoop()
    doom.observe("1", "read", {"file_path": "a"})
    doom.observe("2", "read", {"file_path": "a"})
    assert not doom.observe("3", "read", {"file_path": "b"})
    assert not doom.observe("4", "read", {"file_path": "a"})


def test_near_duplicates_count_when_results_are_equal() -> None:
    doom = DoomLoop()
    for number in ("1", "2"):
        doom.observe(number, "bash", {"command": f"sleep {number}"})
        doom.record_result(number, "exit 1")
    assert doom.observe("3", "bash", {"command": "sleep  3"})


def test_near_duplicates_with_other_results_are_progress() -> None:
    doom = DoomLoop()
    for number in ("1", "2"):
        doom.observe(number, "read", {"file_path": "a", "offset": int(number)})
        doom.record_result(number, f"page {number}")
    assert not doom.observe("3", "read", {"file_path": "a", "offset": 3})


def test_invalid_calls_count() -> None:
    doom = DoomLoop()
    assert [doom.observe(str(i), "write", '{"path": "a') for i in range(3)][-1]


def test_after_a_reset_counting_starts_again() -> None:
    doom = DoomLoop()
    doom.observe("1", "read", {})
    doom.observe("2", "read", {})
    doom.reset()
    assert not doom.observe("3", "read", {})


def planned(totals: TurnTotals) -> PlannedStep:
    model = ModelInfo(id="model-1", provider="scripted", name="Model", api="openai-chat")
    settings = StepSettings(agent="build", model=model, effort=None, system=(), tools=())
    return PlannedStep(settings, make_user(make_session()), totals)


async def ends(guard: Guard, totals: TurnTotals) -> str:
    """Return the sentence with which the guard ends the turn, empty if the step can begin."""
    step = planned(totals)
    checked = await guard.before_step(step)
    if not isinstance(checked, TurnEnd):
        assert checked is step
        return ""
    assert checked.outcome == "limit_reached"
    assert checked.error is not None
    return checked.error.message


async def test_the_step_limit_leaves_a_last_step_to_report() -> None:
    limit = StepLimit(2)
    assert await ends(limit, TurnTotals(steps=1)) == ""
    assert limit.is_last(TurnTotals(steps=2))
    assert await ends(limit, TurnTotals(steps=2)) == ""
    assert "2 steps" in await ends(limit, TurnTotals(steps=3))


async def test_tokens_and_cost_are_limited() -> None:
    totals = TurnTotals().add_step(Usage(input=900, output=100), 0.5).add_step(Usage(), None)
    assert totals == TurnTotals(2, Usage(input=900, output=100), 0.5)
    assert await ends(TokenLimit(1_000), totals)
    assert await ends(TokenLimit(1_001), totals) == ""
    assert await ends(CostLimit(0.5), totals)
    assert await ends(CostLimit(0.51), totals) == ""
    assert await ends(CostLimit(0.01), TurnTotals()) == ""
