"""``/cost`` and the cache hit rate in the status line."""

from dataclasses import replace
from functools import partial

import pytest

from agent.records.usage import Usage
from agent.session.review.costs import SessionCosts, Spending
from app.screens.base.page import PageScreen
from app.screens.usage import cost_text
from app.session_state.session_facts import cache_hit_rate, session_cost
from app.widgets.status import Status, status_text
from tests.app.conftest import Starter
from tests.support.hosting import Host
from tests.support.model_server import ModelServer
from tests.support.records import session
from tests.support.script import Text, Tokens, answer
from tests.support.snapshots import assert_pictures

TALK = Spending(Usage(820_000, 21_400, 9_100, 702_000, 61_000), 0.9312)
CHILDREN = Spending(Usage(240_000, 8_000, 0, 180_000, 20_000), 0.2204)
SUMMARY = Spending(Usage(61_000, 900), 0.0412)
TITLE = Spending(Usage(420, 12), None, unpriced=True)
COSTS = SessionCosts(
    total=TALK + CHILDREN + SUMMARY + TITLE,
    purposes=(
        ("conversation", TALK),
        ("sub-agents", CHILDREN),
        ("summaries", SUMMARY),
        ("titles and other calls", TITLE),
    ),
    models=(
        ("anthropic/claude-sonnet-5-5", TALK + SUMMARY),
        ("anthropic/claude-haiku-5-5", CHILDREN),
        ("ollama/qwen3-coder", TITLE),
    ),
    last=Usage(60_000, 400, 0, 57_000, 1_200),
)


async def test_snapshots_of_the_page() -> None:
    host = Host(PageScreen("Cost", partial(cost_text, COSTS)))
    async with host.run_test() as pilot:
        await assert_pictures(pilot, "screen-cost")


@pytest.mark.parametrize("width", [40, 67, 95])
def test_rows_fit_and_an_incomplete_sum_is_marked(width: int) -> None:
    shown = cost_text(COSTS, width)
    assert all(line.cell_length <= width for line in shown.split("\n")[2:-2])
    assert "≥ $1.19" in shown.plain
    assert "Set one" not in cost_text(replace(COSTS, total=TALK), width).plain


def test_a_session_without_usage() -> None:
    assert "no usage" in cost_text(SessionCosts(Spending(), (), ()), 67).plain


async def test_the_command_shows_the_open_session(scripted: ModelServer, start: Starter) -> None:
    scripted.script(answer(Text("yes"), Tokens(5_000, 10, cached=4_000)))
    async with start(size=(120, 30)) as running:
        await running.type("Well?", "enter")
        await running.until_idle()
        await running.until_shown("80% cached")
        await running.type("/cost", "enter")
        await running.until_shown("80% of the input came from the cache")
        await running.until_shown("model-1")


def test_the_hit_rate_is_shown_if_it_fits() -> None:
    status = Status(model="p/m", context=1_000, limit=10_000, cost=1.0, cached=0.874)
    assert "87% cached" in status_text(status, 120).plain
    assert "87% cached" in status_text(status, 80).plain
    assert "cached" not in status_text(status, 40).plain
    assert "cached" not in status_text(replace(status, cached=None), 120).plain


def test_the_status_line_counts_sub_agents() -> None:
    held = replace(
        session(),
        usage=Usage(1_000, 10, 0, 500),
        cost=0.5,
        subagent_usage=Usage(1_000, 10, 0, 1_000),
        subagent_cost=0.25,
    )
    assert session_cost(held) == 0.75
    assert cache_hit_rate(held) == 0.75
    assert session_cost(session()) is None
    assert cache_hit_rate(session()) is None
