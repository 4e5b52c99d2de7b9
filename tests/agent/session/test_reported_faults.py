"""Faults that users report of terminal agents, whole turns against the strict server: what the
tests of the parts leave open. ``tests/trials.py`` tells which fault is tried where."""

import json
from pathlib import Path

import pytest

from agent.records.messages import Completed, Failed, ReasoningPart
from tests.agent.session.subagents.test_subagents import Script, output, task
from tests.support.aftermath import left_clean
from tests.support.harness import Harness, open_harness, tool_names
from tests.support.script import Answer, Call, Failure, Finish, Reason, Text, Tokens, answer

FREE = {"permission": {"bash": "allow", "edit": "allow"}}
SUMMARY = answer(Text("## Goal\nthe summary"), Tokens(1_000, 10))
FULL = Tokens(85_000, 100)
OVERFLOW = Failure(400, '{"error": {"message": "maximum context length is 10000 tokens"}}')
DONE = answer(Text("done"), Tokens(5_000, 10))


def asks_for_a_summary(body: dict) -> bool:
    return not tool_names(body)


async def test_two_calls_under_one_index_are_two(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        for name in "ab":
            (harness.folder / name).write_text(f"text of {name}\n")
        calls = [Call("read", {"file_path": name}, id=name, index=0) for name in "ab"]
        harness.server.script(answer(*calls), DONE)
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        sent = harness.server.requests[1].body["messages"]
        results = [message["content"] for message in sent if message["role"] == "tool"]
        assert ["text of a" in results[0], "text of b" in results[1]] == [True, True]


@pytest.mark.parametrize("name", ["unknown", "", "bash\n", "Unknown Tool!"])
async def test_a_name_that_is_no_tool_does_not_go_on_for_ever(tmp_path: Path, name: str) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.always(answer(Call(name, {"command": "echo hi"})))
        session = await harness.session()
        await harness.send(session, "go")
        harness.answer(await harness.asked(), "reject")
        await harness.idle(session)
        assert len(harness.server.requests) <= 5
        for tool in await harness.tools(session):
            if isinstance(tool.state, Failed) and tool.state.kind != "denied":
                assert "read" in tool.state.error, "the error lists the tools"
        await left_clean(harness, session, 0, "a tool that there is not")


@pytest.mark.parametrize("allowed", ["allow", {"*": "allow"}, {"doom*": "allow", "*": "allow"}])
async def test_who_allows_everything_is_asked_about_a_loop_all_the_same(
    tmp_path: Path, allowed: object
) -> None:
    async with open_harness(tmp_path, permission=allowed) as harness:
        harness.server.always(answer(Call("list", {})))
        session = await harness.session()
        await harness.send(session, "go")
        harness.answer(await harness.asked(), "reject")
        await harness.idle(session)
        assert len(harness.server.requests) == 3


async def test_a_loop_is_allowed_by_its_name(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"doom_loop": "allow"}) as harness:
        harness.server.script(*[answer(Call("list", {}))] * 6, DONE)
        assert (await harness.turn(await harness.session(), "go")).outcome == "completed"
        assert len(harness.server.requests) == 7


async def test_the_answers_share_of_the_window_is_counted(tmp_path: Path) -> None:
    """8,000 tokens and room for 3,000 do not fit 10,000: nothing is sent twice alike."""
    limit = {"context": 10_000, "output": 3_000}

    def strict(body: dict) -> Answer:
        if asks_for_a_summary(body):
            return SUMMARY
        if "the summary" in json.dumps(body) or 8_000 + body.get("max_tokens", 0) <= 10_000:
            return DONE
        return OVERFLOW

    async with open_harness(tmp_path, abilities={"limit": limit}) as harness:
        session = await harness.session()
        harness.server.script(answer(Text("so far"), Tokens(8_000, 10)))
        await harness.turn(session, "first")
        harness.server.always(strict)
        assert (await harness.turn(session, "second")).outcome == "completed"
        bodies = [json.dumps(request.body) for request in harness.server.requests]
        assert len(set(bodies)) == len(bodies)


async def test_without_auto_compaction_an_overflow_is_not_summed_up(tmp_path: Path) -> None:
    async with open_harness(tmp_path, compaction={"auto": False}) as harness:
        session = await harness.session()
        harness.server.always(OVERFLOW)
        idle = await harness.turn(session, "go")
        assert idle.outcome in {"failed", "limit_reached"}
        assert idle.error is not None
        assert "/compact" in idle.error.message
        assert not any(asks_for_a_summary(request.body) for request in harness.server.requests)
        assert len(harness.server.requests) <= 2


async def test_instructions_that_fill_the_window_are_named(tmp_path: Path) -> None:
    async with open_harness(tmp_path, compaction={"auto": True}) as harness:
        config = harness.home / "config" / "AGENTS.md"
        config.write_text("many words of instruction\n" * 1_000)
        harness.server.always(lambda body: SUMMARY if asks_for_a_summary(body) else OVERFLOW)
        idle = await harness.turn(await harness.session(), "go")
        assert idle.outcome == "failed"
        assert idle.error is not None
        assert "Shorten the instructions" in idle.error.message
        assert sum(asks_for_a_summary(r.body) for r in harness.server.requests) <= 3


@pytest.mark.parametrize("size", [10, 4_000, 40_000])
async def test_calls_and_results_stay_together_wherever_a_summary_cuts(
    tmp_path: Path, size: int
) -> None:
    """Two summaries in a row, after each possible step, over outputs that move the cut; the
    strict server judges every request."""
    async with open_harness(tmp_path) as harness:
        (harness.folder / "a").write_text("x y\n" * (size // 4))

        def step(*more: object) -> Answer:
            calls = [Call("read", {"file_path": "a", "offset": n}) for n in (1, 2)]
            return answer(*calls, *more)  # type: ignore[arg-type]

        for at in range(1, 6):
            session = await harness.session()
            await harness.turn(session, "a turn before")
            harness.server.script(*(step() for _ in range(at - 1)), step(FULL), SUMMARY)
            harness.server.script(step(), step(FULL), SUMMARY, step(), DONE)
            idle = await harness.turn(session, "go")
            assert idle.outcome == "completed", at
            assert (await harness.turn(session, "and on")).outcome == "completed", at


async def test_instructions_role_and_skill_outlive_a_summary(tmp_path: Path) -> None:
    skill = tmp_path / "home" / "config" / "skills" / "marked" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: marked\ndescription: A skill\n---\nSKILL-MARK here\n")
    (tmp_path / "home" / "config" / "AGENTS.md").write_text("INSTRUCTION-MARK\n")
    agent = {"build": {"prompt": "ROLE-MARK"}}
    async with open_harness(tmp_path, agent=agent) as harness:
        session = await harness.session()
        harness.server.script(answer(Call("skill", {"name": "marked"})), answer(Text("ok"), FULL))
        await harness.turn(session, "use the skill")
        harness.server.script(SUMMARY, DONE)
        await harness.turn(session, "go on")
        before, after = (harness.server.requests[n].body["messages"] for n in (1, -1))
        for mark in ("INSTRUCTION-MARK", "ROLE-MARK"):
            assert [mark in str(m) for m in before[:3]] == [mark in str(m) for m in after[:3]]
            assert str(after).count(mark) == 1
        assert "SKILL-MARK" in str(after)


async def test_one_done_one_running_one_asking(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        (harness.folder / ".env").write_text("KEY=1\n")
        harness.server.script(
            answer(
                Call("list", {}),
                Call("bash", {"command": "cat; echo begun; sleep 60"}),
                Call("read", {"file_path": ".env"}),
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        await harness.printed("begun")
        await harness.runtime.sessions.cancel(session.id)
        await harness.idle(session)
        done, running, asking = (tool.state for tool in await harness.tools(session))
        assert isinstance(done, Completed)
        for state in (running, asking):
            assert isinstance(state, Failed)
            assert state.kind == "aborted"
        await left_clean(harness, session, 0, "one done, one running, one asking")
        sent = harness.server.requests[-1].body["messages"]
        results = [message["content"] for message in sent if message["role"] == "tool"]
        assert ".env" in results[0]
        assert all("cancelled by the user" in r.lower() for r in results[1:]), results


async def test_three_sub_agents_that_ask_at_once(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        names = ("alpha", "beta", "gamma")
        work = {
            name: [answer(Call("bash", {"command": f"touch {name}"})), answer(Text(f"end {name}"))]
            for name in names
        }
        harness.server.always(Script(answer(*map(task, names)), DONE, **work))
        session = await harness.session()
        await harness.send(session, "go")
        await harness.until(lambda _: len(harness.runtime.permissions.pending()) == 3)
        for request in harness.runtime.permissions.pending():
            refused = "touch beta" in str(request.blocks)
            harness.answer(request, "reject" if refused else "once", "not this" * refused)
        assert (await harness.idle(session)).outcome == "completed"
        assert sorted(p.name for p in harness.folder.iterdir()) == ["alpha", "gamma"]
        for name, tool in zip(names, await harness.tools(session), strict=True):
            assert f"end {name}" in output(tool)


@pytest.mark.parametrize("joint", [" && ", "; ", " | ", " || ", "\n", " & "])
async def test_a_rule_for_one_command_covers_no_other_of_the_line(
    tmp_path: Path, joint: str
) -> None:
    line = f"npm test a{joint}touch b"
    async with open_harness(tmp_path, permission={"bash": {"npm test *": "allow"}}) as harness:
        harness.server.script(answer(Call("bash", {"command": line})), DONE)
        session = await harness.session()
        await harness.send(session, "go")
        request = await harness.asked()
        assert [need.need.pattern for need in request.needs if need.action == "ask"] == ["touch b"]
        harness.answer(request, "reject", "not that")
        await harness.idle(session)
        assert not (harness.folder / "b").exists()
    rules = {"*": "allow", "npm test *": "allow", "touch *": "deny"}
    async with open_harness(tmp_path, permission={"bash": rules}) as harness:
        harness.server.script(answer(Call("bash", {"command": line})), DONE)
        await harness.turn(await harness.session(), "go")
        assert not (harness.folder / "b").exists(), "a deny wins in a chain"


async def test_a_child_that_says_nothing_or_is_cut_is_told_as_that(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        cut = answer(Text("a long rep"), Finish("limit"))
        harness.server.always(
            Script(
                answer(task("mute"), task("cut")),
                DONE,
                mute=[answer(Call("list", {})), *[answer(Finish("end"))] * 5],
                cut=[cut] * 10,
            )
        )
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        mute, half = map(output, await harness.tools(session))
        assert "without a report" in mute
        assert "a long rep" * 4 in half
        assert "output limit" in half


async def test_a_thought_of_very_many_pieces_is_one_part(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(*(Reason("think") for _ in range(20_000)), Text("so")))
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        thoughts = [p for p in await harness.parts(session) if isinstance(p, ReasoningPart)]
        assert [len(part.text) for part in thoughts] == [100_000]


async def test_a_session_with_broken_text_is_resumed(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(
            answer(Call("bash", {"command": r'printf "\377\376abc\360\237"'})),
            answer(Call("write", r'{"file_path": "w", "content": "half \ud83d"}')),
            DONE,
        )
        session = await harness.session()
        await harness.turn(session, "go")
    async with open_harness(tmp_path, **FREE) as harness:
        assert await again(harness, session.id)


async def again(harness: Harness, session_id: str) -> bool:
    """Whether a session of an earlier program takes one more prompt, as valid UTF-8."""
    session = await harness.runtime.store.session(session_id)
    harness.server.script(DONE)
    assert (await harness.turn(session, "still there?")).outcome == "completed"
    return (
        "abc" in json.dumps(harness.server.requests[-1].body, ensure_ascii=False).encode().decode()
    )


async def test_same_ids_and_reasoning_outlive_the_program(tmp_path: Path) -> None:
    """Three steps under one id, each with its reasoning; after a resume every call has its own
    result, and its reasoning under the name it came with."""
    steps = [
        answer(Reason(f"thought {n}"), Call("bash", {"command": f"echo N{n}"}, id="call_0"))
        for n in range(3)
    ]
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(*steps, DONE)
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(DONE)
        assert (await harness.turn(session, "and on")).outcome == "completed"
        sent = harness.server.requests[0].body["messages"]
        asked = [m for m in sent if m.get("tool_calls")]
        told = {m["tool_call_id"]: m["content"] for m in sent if m["role"] == "tool"}
        assert [told[m["tool_calls"][0]["id"]] for m in asked] == ["N0", "N1", "N2"]
        assert [m["reasoning_content"] for m in asked] == [f"thought {n}" for n in range(3)]


@pytest.mark.parametrize("arguments", ["", " ", "null", None])
async def test_a_call_without_arguments_runs_and_is_sent_back_as_that(
    tmp_path: Path, arguments: str | None
) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Call("list", arguments)), DONE)
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        (call,) = harness.server.requests[1].body["messages"][-2]["tool_calls"]
        assert call["function"]["arguments"] == "{}"
        (tool,) = await harness.tools(session)
        assert isinstance(tool.state, Completed)
