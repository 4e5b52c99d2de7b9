"""Plain requests to the demo model, over several steps (spec 5, R3)."""

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
from agent.session.context.request_turns import INTERRUPTED, STEERED
from tests.agent.provider.demo.demo_talk import MODEL, TOOLS, Outcome, Talk, calls, told


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
    steps = await Talk().say(text)
    assert calls(steps) == [expected]
    assert len(steps) == 2
    assert steps[1].text
    assert not any("!" in step.text for step in steps)


async def test_the_first_answer_says_what_it_is_and_later_ones_do_not():
    talk = Talk()
    first = await talk.say("list")
    assert "not a language model" in first[0].text
    assert first[0].reasoning
    second = await talk.say("list")
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
async def test_summaries_say_what_came(text, output, expected):
    talk = Talk(dict.fromkeys(TOOLS, output))
    assert expected in (await talk.say(text))[-1].text


async def test_replace_reads_then_edits():
    steps = await Talk().say("replace one with two in a.txt")
    assert calls(steps) == [
        ("read", {"file_path": "a.txt"}),
        ("edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
    ]
    assert "is made" in steps[-1].text


async def test_replace_all_and_its_advice():
    talk = Talk({"edit": ("old_string matches in 3 places (lines 1, 2, 3).", True)})
    assert "replace all" in (await talk.say("replace a with b in x"))[-1].text
    edit = calls(await talk.say("replace all a with b in x"))[1]
    assert edit[1]["replace_all"] is True


async def test_a_missing_file_ends_a_replace():
    talk = Talk({"read": ("There is no file x.", True)})
    steps = await talk.say("replace a with b in x")
    assert [name for name, _ in calls(steps)] == ["read"]
    assert "There is no file x." in steps[-1].text


async def test_create_reads_a_file_that_is_there_and_tries_again():
    tries: list[dict] = []

    def write(arguments: dict) -> Outcome:
        tries.append(arguments)
        refusal = "a.txt exists and you have not read it in this session. Read it first."
        return (refusal, True) if len(tries) == 1 else "done"

    steps = await Talk({"write": write}).say("create a.txt with x")
    assert [name for name, _ in calls(steps)] == ["write", "read", "write"]
    assert "is written" in steps[-1].text


async def test_create_that_goes_on_failing_ends():
    steps = await Talk({"write": ("Please read it first.", True)}).say("create a.txt with x")
    assert [name for name, _ in calls(steps)] == ["write", "read", "write"]
    assert "did not work" in steps[-1].text


async def test_think_shows_reasoning_and_needs_no_tool():
    (step,) = await Talk(tools=()).say("think about tea")
    assert "tea" in step.reasoning
    assert not step.calls


async def test_stream_of_words():
    talk = Talk()
    await talk.say("help")
    (step,) = await talk.say("stream 120 words")
    assert len(step.text.split()) == 120


async def test_a_sub_agent_where_the_tool_is_offered():
    steps = await Talk(tools=(*TOOLS, "task")).say("ask a sub-agent to list src")
    assert calls(steps) == [
        ("task", {"description": "list src", "prompt": "list src", "subagent_type": "general"})
    ]
    (step,) = await Talk().say("ask a sub-agent to list src")
    assert "`task`, which is not offered" in step.text


@pytest.mark.parametrize(
    "text",
    ["list", "read a", "find *.a", "run x", "create a.b with c", "replace a with b in c", "todo a"],
)
async def test_without_tools_it_says_so(text):
    (step,) = await Talk(tools=()).say(text)
    assert "No tools are offered" in step.text


async def test_the_users_words_are_passed_back():
    steps = await Talk({"bash": told("use make")}).say("run rm x")
    assert "“use make”" in steps[-1].text


async def test_a_message_sent_while_it_works_is_answered():
    """Pins that the wrapped form of the loop (L3) is understood."""
    talk = Talk()
    talk.turns += [UserTurn((TextContent("tour"),)), AssistantTurn((TextContent("x"),))]
    steps = await talk.say(STEERED.format(text="run git\nlog"))
    assert calls(steps) == [("bash", {"command": "git\nlog"})]


async def test_reminders_are_no_words_of_the_user():
    talk = Talk()
    turn = UserTurn((TextContent(INTERRUPTED), TextContent("list src")))
    talk.turns.append(turn)
    step, _ = await talk.step()
    assert step.calls == [("list", {"path": "src"})]


async def test_call_ids_are_unique_over_a_session():
    talk = Talk()
    await talk.say("tour")
    await talk.say("list")
    ids = [
        c.call_id
        for turn in talk.turns
        for c in turn.content
        if isinstance(turn, AssistantTurn) and isinstance(c, ToolCallContent)
    ]
    assert len(ids) == len(set(ids)) > 8
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id) for call_id in ids)


async def test_closing_the_stream_ends_it():
    """L11: a long answer can be stopped between any two pieces."""
    request = ModelRequest(model=MODEL, system=(), turns=(UserTurn((TextContent("tour"),)),))
    stream = DemoClient(pace=0).stream(request)
    await anext(stream)
    await stream.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
