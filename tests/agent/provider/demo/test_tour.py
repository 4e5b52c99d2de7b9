"""The demo model's guided tour: stages, refusals, continuation."""

import json

import pytest

from agent.provider.demo.tour import SCRATCH_FILE
from tests.agent.provider.demo.demo_session import (
    REJECTED,
    TOOLS,
    DemoSession,
    Outcome,
    Step,
    Tool,
    calls,
    rejected_with,
)

LISTING = "shop/\n  src/\n    a.py\n  README.md\n"
STAGES = ["list", "read", "grep", "todowrite", "write", "edit", "bash", "bash", "todowrite"]


def tour_answers(**changes: Outcome | Tool) -> dict[str, Outcome | Tool]:
    return {
        "list": LISTING,
        "read": "1: # Shop\n2: Welcome here.",
        "grep": "README.md\n  2: Welcome here.",
        **changes,
    }


def stages(steps: list[Step]) -> list[str]:
    """Return the last call of each step, without the todo list next to it."""
    names = [[name for name, _ in step.calls] for step in steps if step.calls]
    return [([n for n in step if n not in {"todowrite", "glob"}] or step)[0] for step in names]


async def test_the_whole_tour():
    steps = await DemoSession(tour_answers()).say("tour")
    assert stages(steps) == STAGES
    said = [step.text for step in steps]
    assert steps[0].reasoning
    assert "not a language model" in said[0]
    assert "3 entries" in said[1]
    assert steps[1].calls == [("read", {"file_path": "README.md", "limit": 40})]
    assert steps[2].calls[0] == ("grep", {"pattern": "Welcome"})
    assert steps[2].calls[1][0] == "glob"
    assert "1 match" in said[3]
    assert steps[4].calls[1][1]["file_path"] == SCRATCH_FILE
    edit = steps[5].calls[1][1]
    assert steps[4].calls[1][1]["content"].count(edit["old_string"]) == 1
    assert SCRATCH_FILE in steps[6].calls[1][1]["command"]
    assert steps[7].calls[1] == ("bash", {"command": f"rm {SCRATCH_FILE}"})
    final = [item["status"] for item in steps[8].calls[0][1]["todos"]]
    assert final == ["completed"] * 4
    for words in ("ctrl+c", "--continue", "ANTHROPIC_API_KEY"):
        assert words in said[-1]
    assert not any("!" in words for words in said)


async def test_todo_list_follows_the_tour():
    steps = await DemoSession(tour_answers()).say("tour")
    lists = [
        [item["status"] for item in arguments["todos"]]
        for name, arguments in calls(steps)
        if name == "todowrite"
    ]
    p, i, c = "pending", "in_progress", "completed"
    assert lists == [
        [p, p, p, p], [i, p, p, p], [c, i, p, p], [c, c, i, p], [c, c, c, i], [c, c, c, c],
    ]  # fmt: skip


async def test_after_a_refused_change_its_later_stages_are_skipped():
    steps = await DemoSession(tour_answers(write=rejected_with("no files please"))).say("tour")
    assert stages(steps) == ["list", "read", "grep", "todowrite", "write", "bash", "todowrite"]
    after = steps[5]
    assert "“no files please”" in after.text
    assert SCRATCH_FILE not in after.calls[-1][1]["command"]
    assert [item["status"] for item in steps[6].calls[0][1]["todos"]] == [
        "cancelled", "cancelled", "completed", "cancelled",
    ]  # fmt: skip


async def test_a_stopped_tour_continues():
    session = DemoSession(tour_answers(edit=REJECTED))
    first = await session.say("tour")
    assert stages(first)[-1] == "edit"
    second = await session.say("continue")
    assert stages(second) == ["bash", "bash", "todowrite"]
    assert "refused" in second[0].text
    assert f"rm {SCRATCH_FILE}" in json.dumps(second[1].calls)


async def test_a_request_in_between_points_back_to_the_tour():
    session = DemoSession(tour_answers(write=REJECTED))
    await session.say("tour")
    between = await session.say("run date")
    assert "`continue`" in between[-1].text
    rest = await session.say("continue")
    assert stages(rest) == ["bash", "todowrite"]
    assert "`continue`" not in (await session.say("list"))[-1].text


@pytest.mark.parametrize("text", ["hello", "make me a web shop", "", "tour guide"])
async def test_no_other_message_starts_a_tour(text):
    (step,) = await DemoSession(tour_answers()).say(text)
    assert "not a language model" in step.text
    assert "`read README.md`" in step.text
    assert not step.calls


async def test_continue_without_a_tour():
    (step,) = await DemoSession().say("continue")
    assert "Nothing to continue" in step.text


async def test_an_existing_scratch_file_is_read_before_it_is_written():
    steps = await DemoSession(tour_answers(list=LISTING + f"  {SCRATCH_FILE}\n")).say("tour")
    assert ("read", {"file_path": SCRATCH_FILE}) in steps[3].calls
    assert stages(steps)[4] == "write"


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (("list", "read", "grep"), ["list", "read", "grep"]),
        (("grep", "bash", "todowrite"), ["grep", "todowrite", "bash", "todowrite"]),
        (("write", "edit"), ["write", "edit"]),
        ((), []),
    ],
)
async def test_the_tour_skips_stages_whose_tools_are_not_offered(tools, expected):
    steps = await DemoSession(tour_answers(), tools=tools).say("tour")
    assert stages(steps) == expected
    assert {name for name, _ in calls(steps)} <= set(tools)
    assert "not a language model" in "".join(step.text for step in steps)
    assert "--continue" in steps[-1].text


@pytest.mark.parametrize("tool", TOOLS)
async def test_the_tour_survives_any_failing_tool(tool):
    steps = await DemoSession(tour_answers(**{tool: ("It broke.", True)})).say("tour")
    assert "--continue" in steps[-1].text
    assert any("It broke" in step.text for step in steps)


async def test_an_empty_folder():
    steps = await DemoSession(tour_answers(list="x/ has nothing to show.", read="")).say("tour")
    assert "no entries" in steps[1].text
    assert steps[1].calls == [("read", {"file_path": "."})]
    assert stages(steps) == STAGES
