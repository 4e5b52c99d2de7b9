"""Sub-agents: child sessions that work for a call of their parent."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from agent.records.blocks import SubtaskBlock
from agent.records.events import PartUpdated, PermissionAsked, SessionCreated, SessionIdle
from agent.records.messages import Completed, Failed, Idle, Running, Session, ToolPart
from tests.support.after_turn import assert_left_clean, marked_processes
from tests.support.harness import APIS, Harness, open_harness, tool_names
from tests.support.scenarios import EACH, LONGEST
from tests.support.script import Call, Failure, Hold, Text, Tokens, answer
from tests.support.subagents import Script, children, output, task


@pytest.mark.parametrize("api", APIS)
async def test_the_report_comes_back_with_counts_and_the_session(tmp_path: Path, api: str) -> None:
    async with open_harness(tmp_path, api=api) as harness:
        harness.server.always(
            Script(
                answer(task("look")),
                answer(Text("I told you.")),
                look=[answer(Call("list", {})), answer(Text("Three files."), Tokens(90, 9))],
            )
        )
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        (call,) = await harness.tools(session)
        (child,) = await children(harness, session)
        assert isinstance(call.state, Completed)
        assert call.state.output.startswith("Three files.\n")
        assert "1 tool call, 209 tokens" in call.state.output
        assert child.id in call.state.output
        assert (child.parent_id, child.title, child.agent) == (session.id, "look", "general")
        (block,) = call.state.blocks
        assert block == SubtaskBlock(child.id, "general", "<look>", text="Three files.")
        await assert_left_clean(harness, session, 0, "sub-agent: done")


async def test_a_child_has_no_task_nor_todo_tools_and_a_clean_context(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path) as harness:
        done = answer(Text("ok"))
        harness.server.always(Script(answer(task("look", "explore")), done, look=[done]))
        await harness.turn(await harness.session(), "a secret wish")
        first, second, _ = harness.server.requests
        offered, left = tool_names(first.body), tool_names(second.body)
        assert {"task", "todowrite", "edit"} <= offered
        assert not left & {"task", "todowrite", "todoread", "edit", "write"}
        assert {"read", "grep", "bash"} <= left
        assert "a secret wish" not in str(second.body)


async def test_several_sub_agents_run_at_once_and_each_has_its_own_report(tmp_path: Path) -> None:
    """One of them fails, and the parent continues with all three results."""
    holds = [Hold(), Hold()]
    async with open_harness(tmp_path, retry={"attempts": 1}) as harness:
        harness.server.always(
            Script(
                answer(task("alpha"), task("beta"), task("gamma")),
                answer(Text("done")),
                alpha=[answer(holds[0], Text("report alpha"))],
                beta=[Failure(400, '{"error": {"message": "beta is broken"}}')],
                gamma=[answer(Text("on the way"), Call("list", {})), answer(holds[1])],
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        for hold in holds:
            await hold.reached.wait()
        for hold in holds:
            hold.gate.set()
        assert (await harness.idle(session)).outcome == "completed"
        alpha, beta, gamma = map(output, await harness.tools(session))
        assert alpha.startswith("report alpha")
        assert "The sub-agent failed." in beta
        assert "beta is broken" in beta
        assert gamma.startswith("on the way")
        await assert_left_clean(harness, session, 0, "sub-agent: three at once")


async def test_the_activity_is_reported_while_it_runs(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path) as harness:
        harness.server.always(
            Script(
                answer(task("look")),
                answer(Text("ok")),
                look=[answer(Call("glob", {"pattern": "*.py"}), hold), answer(Text("x"))],
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        await hold.reached.wait()
        hold.gate.set()
        await harness.idle(session)
        progress = [
            e.part.state.output
            for e in harness.events
            if isinstance(e, PartUpdated)
            and e.part.session_id == session.id
            and isinstance(e.part, ToolPart)
            and isinstance(e.part.state, Running)
        ]
        assert any("*.py" in text and "1 tool call" in text for text in progress)


@pytest.mark.parametrize("command", ["echo begun; sleep 60", "trap '' TERM; echo begun; sleep 60"])
async def test_cancelling_the_parent_cancels_the_children(tmp_path: Path, command: str) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        run = Call("bash", {"command": command})
        harness.server.always(
            Script(answer(task("one"), task("two")), one=[answer(run)], two=[answer(run)])
        )
        session = await harness.session()
        await harness.send(session, "go")
        seen: set[str] = set()
        while len(seen) < 2:
            event = await harness.until(
                lambda e: (
                    isinstance(e, PartUpdated)
                    and isinstance(e.part, ToolPart)
                    and isinstance(e.part.state, Running)
                    and "begun" in e.part.state.output
                    and e.part.session_id not in seen | {session.id}
                )
            )
            assert isinstance(event, PartUpdated)
            seen.add(event.part.session_id)
        await harness.runtime.sessions.cancel(session.id)
        assert (await harness.idle(session)).outcome == "cancelled"
        for child in await children(harness, session):
            assert harness.runtime.sessions.status(child.id) == Idle()
            (call,) = await harness.tools(child)
            assert isinstance(call.state, Failed)
        assert marked_processes() == []
        await assert_left_clean(harness, session, 0, "sub-agent: parent cancelled")


async def test_a_child_that_is_cancelled_alone_gives_an_error_result(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path) as harness:
        harness.server.always(
            Script(answer(task("one")), answer(Text("then not")), one=[answer(Text("half"), hold)])
        )
        session = await harness.session()
        await harness.send(session, "go")
        await hold.reached.wait()
        (child,) = await children(harness, session)
        await harness.runtime.sessions.cancel(child.id)
        assert (await harness.idle(session)).outcome == "completed"
        hold.gate.set()
        (call,) = await harness.tools(session)
        assert "stopped by the user" in output(call)
        assert "half" in output(call)
        assert isinstance(call.state, Failed)
        assert call.state.kind == "aborted"  # a cancel, as of any other call, and no error
        await assert_left_clean(harness, session, 0, "sub-agent: child cancelled")


async def test_an_always_rule_applies_to_the_whole_tree(tmp_path: Path) -> None:
    run = Call("bash", {"command": "touch made"})
    async with open_harness(tmp_path) as harness:
        harness.server.always(
            Script(
                answer(task("one"), task("two")),
                answer(Text("ok")),
                one=[answer(run), answer(Text("1"))],
                two=[answer(run), answer(Text("2"))],
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        request = await harness.permission_request()
        assert (request.root_id, request.agent) == (session.id, "general")
        assert request.callers == ("build",)
        harness.answer(request, "always")
        assert (await harness.idle(session)).outcome == "completed"
        calls = [
            c for child in await children(harness, session) for c in await harness.tools(child)
        ]
        assert [type(call.state) for call in calls] == [Completed, Completed]


async def test_the_callers_deny_rules_apply_to_its_children(tmp_path: Path) -> None:
    """The plan agent cannot edit files, even through a sub-agent that can."""
    write = Call("write", {"file_path": "x.txt", "content": "x"})
    async with open_harness(tmp_path, permission={"edit": "allow"}) as harness:
        harness.server.always(
            Script(answer(task("one")), answer(Text("ok")), one=[answer(write), answer(Text("1"))])
        )
        session = await harness.session()
        await harness.send(session, "go", agent="plan")
        await harness.idle(session)
        assert not (harness.folder / "x.txt").exists()
        assert not any(isinstance(e, PermissionAsked) for e in harness.events)


async def test_a_sub_agent_resumed_by_id_keeps_its_context(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        report = [answer(Text("the first report"))]
        harness.server.always(Script(answer(task("one")), answer(Text("ok")), one=report))
        session = await harness.session()
        await harness.turn(session, "go")
        (child,) = await children(harness, session)
        harness.server.always(
            Script(
                answer(task("more", session_id=child.id)),
                answer(Text("ok")),
                more=[answer(Text("the second report"))],
            )
        )
        before = len(harness.events)
        await harness.turn(session, "again")
        assert len(await children(harness, session)) == 1
        assert not any(isinstance(e, SessionCreated) for e in harness.events[before:])
        asked = harness.server.requests[-2].body
        assert "the first report" in str(asked)
        assert output((await harness.tools(session))[-1]).startswith("the second report")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (task("x", "nobody"), "There is no sub-agent 'nobody'"),
        (task("x", session_id="ses_unknown"), "No sub-agent of this session has the id"),
        (Call("task", {"description": "x"}), "prompt: field required"),
    ],
)
async def test_a_sub_agent_that_cannot_start_gives_a_reason(
    harness: Harness, call: Call, said: str
) -> None:
    harness.server.script(answer(call), answer(Text("ok")))
    session = await harness.session()
    await harness.turn(session, "go")
    assert said in output((await harness.tools(session))[0])
    await assert_left_clean(harness, session, 0, "sub-agent: not started")


@pytest.mark.parametrize(
    ("given", "agent"),
    [
        ("Explore", "explore"),
        ("general-purpose", "general"),
        ("General_Purpose", "general"),
        ("worker", "general"),
        ("Plan", "plan"),
        ("My Reviewer", "my-reviewer"),
    ],
)
async def test_a_sub_agent_is_found_under_other_spellings(
    tmp_path: Path, given: str, agent: str
) -> None:
    own = {"my-reviewer": {"mode": "subagent", "description": "Reviews."}}
    async with open_harness(tmp_path, agent=own) as harness:
        harness.server.always(
            Script(answer(task("look", given)), answer(Text("ok")), look=[answer(Text("seen"))])
        )
        session = await harness.session()
        await harness.turn(session, "go")
        (child,) = await children(harness, session)
        assert child.agent == agent


def task_schema(body: dict) -> tuple[list[str], str]:
    """Return the sub-agents that a request offers, and the description that lists them."""
    (tool,) = (t["function"] for t in body["tools"] if t["function"]["name"] == "task")
    return tool["parameters"]["properties"]["subagent_type"]["enum"], tool["description"]


async def test_only_sub_agents_that_the_rules_allow_are_offered(tmp_path: Path) -> None:
    rules = {"task": {"explore": "deny"}}
    async with open_harness(tmp_path, permission=rules) as harness:
        harness.server.script(answer(task("x", "nobody")), answer(Text("ok")))
        session = await harness.session()
        await harness.turn(session, "go")
        names, description = task_schema(harness.server.requests[0].body)
        assert names == ["plan", "general"]
        assert "- `general`: " in description
        assert "- `explore`: " not in description
        (call,) = await harness.tools(session)
        assert output(call).endswith("The sub-agents are: plan, general.")


async def test_usage_of_children_counts_for_the_parents_limit(tmp_path: Path) -> None:
    async with open_harness(tmp_path, limits={"tokens": 5_000}) as harness:
        harness.server.always(
            Script(
                answer(task("one")),
                answer(task("two")),
                one=[answer(Text("much"), Tokens(5_000, 100))],
            )
        )
        session = await harness.session()
        idle = await harness.turn(session, "go")
        assert idle.outcome == "limit_reached"
        assert len(harness.server.requests) == 2


@pytest.mark.timeout(LONGEST)
async def test_a_child_cancelled_with_its_parent_at_any_moment(tmp_path: Path) -> None:
    """The cancel comes at the n-th event of the run: a sample of n, or every n in
    ``make soak``."""
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:

        def scripts() -> Script:
            return Script(
                answer(Text("I ask."), task("one"), task("two")),
                answer(Text("ok")),
                one=[answer(Call("bash", {"command": "sleep 0.05"})), answer(Text("1"))],
                two=[answer(Text("hm"), Call("list", {})), answer(Text("2"))],
            )

        harness.server.always(scripts())
        session = await harness.session()
        await harness.turn(session, "go")
        total = len(harness.events)
        for point in range(1, total, max(1, total // 25) if EACH else 1):
            harness.server.always(scripts())
            session = await harness.session()
            before = len(harness.events)
            await harness.send(session, "go")
            await harness.until(partial(_reached, harness, session, before + point), after=before)
            await harness.runtime.sessions.cancel(session.id)
            await harness.idle(session, after=before)
            for child in await children(harness, session):
                assert harness.runtime.sessions.status(child.id) == Idle()
                for call in await harness.tools(child):
                    assert isinstance(call.state, Completed | Failed)
            await assert_left_clean(harness, session, before, "sub-agent: cancel at an event")


def _reached(harness: Harness, session: Session, count: int, event: object) -> bool:
    """Return whether *count* events were published or the turn is over."""
    ended = isinstance(event, SessionIdle) and event.session_id == session.id
    return ended or len(harness.events) >= count


async def test_ten_calls_run_at_once_and_the_others_wait(tmp_path: Path) -> None:
    """Of twelve held children ten send a request; when one ends, the next starts."""
    held = {f"part{number:02}": Hold() for number in range(12)}
    async with open_harness(tmp_path) as harness:
        work = {word: [answer(hold, Text(f"report of {word}"))] for word, hold in held.items()}
        calls = [task(word) for word in held]
        harness.server.always(Script(answer(*calls), answer(Text("all done")), **work))
        session = await harness.session()
        turn = asyncio.create_task(harness.turn(session, "go"))
        first = list(held)
        await asyncio.gather(*(held[word].reached.wait() for word in first[:10]))
        states = [part.state for part in await harness.tools(session)]
        assert [type(state) for state in states[:10]] == [Running] * 10
        assert not any(isinstance(state, Running) for state in states[10:])
        assert len(await children(harness, session)) == 10
        held[first[3]].gate.set()
        await held[first[10]].reached.wait()
        assert not held[first[11]].reached.is_set()
        for hold in held.values():
            hold.gate.set()
        assert (await turn).outcome == "completed"
        reports = [output(part).split("\n")[0] for part in await harness.tools(session)]
        assert reports == [f"report of {word}" for word in held]
