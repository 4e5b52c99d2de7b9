"""Requests to the demo model over several steps."""

import re

import pytest

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    TextContent,
    ToolCallContent,
    UserTurn,
)
from agent.provider.demo import DemoClient
from agent.records.reminders import reminder
from agent.session.context.request_turns import INTERRUPTED, STEERED
from tests.agent.provider.demo.demo_session import (
    MODEL,
    TOOLS,
    DemoSession,
    Outcome,
    calls,
    rejected_with,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("list", ("list", {})),
        ("list src", ("list", {"path": "src"})),
        ("read a.py lines 3-9", ("read", {"file_path": "a.py", "offset": 3, "limit": 7})),
        ("search for a.b in src", ("grep", {"pattern": r"a\.b", "path": "src"})),
        ("find *.py", ("glob", {"pattern": "**/*.py"})),
        ("run git status", ("bash", {"command": "git status"})),
        ("create a.txt with hi", ("write", {"file_path": "a.txt", "content": "hi\n"})),
        (
            "todo a, b",
            (
                "todowrite",
                {
                    "todos": [
                        {"content": "a", "status": "pending", "priority": "medium"},
                        {"content": "b", "status": "pending", "priority": "medium"},
                    ]
                },
            ),
        ),
    ],
)
async def test_one_call_then_a_summary(text, expected):
    steps = await DemoSession().say(text)
    assert calls(steps) == [expected]
    assert len(steps) == 2
    assert steps[1].text
    assert not any("!" in step.text for step in steps)


async def test_only_the_first_response_introduces_the_demo():
    session = DemoSession()
    first = await session.say("list")
    assert "not a language model" in first[0].text
    assert first[0].reasoning
    second = await session.say("list")
    assert "not a language model" not in "".join(step.text for step in second)


@pytest.mark.parametrize(
    ("text", "output", "expected"),
    [
        ("list", "shop/\n  a.py\n  b/\n", "2 entries"),
        ("search for x", "a.py\n  1: x\n", "1 match "),
        ("search for x", "No lines match.", "no matches"),
        ("find *.py", "a.py\nb.py", "2 files"),
        ("run false", "(no output)\n\nExit code 1.", "exit code 1"),
        ("run true", "x", "is done"),
    ],
)
async def test_summaries_count_the_results(text, output, expected):
    session = DemoSession(dict.fromkeys(TOOLS, output))
    assert expected in (await session.say(text))[-1].text


async def test_replace_reads_then_edits():
    steps = await DemoSession().say("replace one with two in a.txt")
    assert calls(steps) == [
        ("read", {"file_path": "a.txt"}),
        ("edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
    ]
    assert "is made" in steps[-1].text


async def test_replace_all_and_its_advice():
    session = DemoSession({"edit": ("old_string matches in 3 places (lines 1, 2, 3).", True)})
    assert "replace all" in (await session.say("replace a with b in x"))[-1].text
    edit = calls(await session.say("replace all a with b in x"))[1]
    assert edit[1]["replace_all"] is True


async def test_a_missing_file_ends_a_replace():
    session = DemoSession({"read": ("There is no file x.", True)})
    steps = await session.say("replace a with b in x")
    assert [name for name, _ in calls(steps)] == ["read"]
    assert "There is no file x." in steps[-1].text


async def test_create_reads_an_existing_file_and_tries_again():
    tries: list[dict] = []

    def write(arguments: dict) -> Outcome:
        tries.append(arguments)
        refusal = "a.txt exists and you have not read it in this session. Read it first."
        return (refusal, True) if len(tries) == 1 else "done"

    steps = await DemoSession({"write": write}).say("create a.txt with x")
    assert [name for name, _ in calls(steps)] == ["write", "read", "write"]
    assert "is written" in steps[-1].text


async def test_create_that_keeps_failing_ends():
    steps = await DemoSession({"write": ("Please read it first.", True)}).say("create a.txt with x")
    assert [name for name, _ in calls(steps)] == ["write", "read", "write"]
    assert "did not work" in steps[-1].text


async def test_think_shows_reasoning_and_needs_no_tool():
    (step,) = await DemoSession(tools=()).say("think about tea")
    assert "tea" in step.reasoning
    assert not step.calls


async def test_stream_of_words():
    session = DemoSession()
    await session.say("help")
    (step,) = await session.say("stream 120 words")
    assert len(step.text.split()) == 120


async def test_a_sub_agent_where_the_tool_is_offered():
    steps = await DemoSession(tools=(*TOOLS, "task")).say("ask a sub-agent to list src")
    assert calls(steps) == [
        ("task", {"description": "list src", "prompt": "list src", "subagent_type": "general"})
    ]
    (step,) = await DemoSession().say("ask a sub-agent to list src")
    assert "`task`, which is not offered" in step.text


@pytest.mark.parametrize(
    "text",
    ["list", "read a", "find *.a", "run x", "create a.b with c", "replace a with b in c", "todo a"],
)
async def test_without_tools_it_is_reported(text):
    (step,) = await DemoSession(tools=()).say(text)
    assert "No tools are offered" in step.text


async def test_the_users_comment_is_quoted():
    steps = await DemoSession({"bash": rejected_with("use make")}).say("run rm x")
    assert "“use make”" in steps[-1].text


async def test_a_message_sent_while_it_works_is_answered():
    """The loop wraps such a message in a reminder."""
    session = DemoSession()
    session.turns += [UserTurn((TextContent("tour"),)), AssistantTurn((TextContent("x"),))]
    steps = await session.say(reminder(STEERED.format(text="run git\nlog")))
    assert calls(steps) == [("bash", {"command": "git\nlog"})]


async def test_reminders_are_ignored():
    session = DemoSession()
    turn = UserTurn((TextContent(INTERRUPTED), TextContent("list src")))
    session.turns.append(turn)
    step, _ = await session.step()
    assert step.calls == [("list", {"path": "src"})]


async def test_call_ids_are_unique_over_a_session():
    session = DemoSession()
    await session.say("tour")
    await session.say("list")
    ids = [
        c.call_id
        for turn in session.turns
        for c in turn.content
        if isinstance(turn, AssistantTurn) and isinstance(c, ToolCallContent)
    ]
    assert len(ids) == len(set(ids)) > 8
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id) for call_id in ids)


async def test_closing_the_stream_ends_it():
    """A long response can be stopped between any two pieces."""
    request = ModelRequest(model=MODEL, system=(), turns=(UserTurn((TextContent("tour"),)),))
    stream = DemoClient(pace=0).stream(request)
    await anext(stream)
    await stream.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
