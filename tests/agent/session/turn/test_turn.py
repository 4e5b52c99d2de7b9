"""Whole turns through real HTTP, files and processes."""

import asyncio
from pathlib import Path

import pytest

from agent.records.events import (
    MessageUpdated,
    PartUpdated,
    PermissionAsked,
    SessionIdle,
    SessionStatusChanged,
    SessionUpdated,
)
from agent.records.messages import (
    AssistantMessage,
    Busy,
    Completed,
    Failed,
    Idle,
    ReasoningPart,
    Retry,
    Running,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.records.requests import PermissionReply
from tests.support.harness import GUARD, Harness, open_harness
from tests.support.script import (
    Call,
    Cut,
    Done,
    Failure,
    Finish,
    Hold,
    Reason,
    Text,
    Tokens,
    answer,
)


def states(harness: Harness, tool: str = "") -> list[str]:
    """Return the published states of tool calls, without repeats."""
    seen: list[str] = []
    for event in harness.events:
        if isinstance(event, PartUpdated) and isinstance(event.part, ToolPart):
            word = event.part.state.status
            if (not tool or event.part.tool == tool) and seen[-1:] != [word]:
                seen.append(word)
    return seen


async def test_text_streams_and_the_turn_ends_once(harness: Harness) -> None:
    harness.server.script(answer(Reason("hm "), Reason("yes"), Text("Hel"), Text("lo")))
    session = await harness.session()
    idle = await harness.turn(session, "hi")
    assert (idle.outcome, idle.finish) == ("completed", "stop")
    user, assistant = await harness.messages(session)
    assert [p.text for p in user.parts if isinstance(p, TextPart)] == ["hi"]
    reasoning, text, *_ = assistant.parts
    assert isinstance(reasoning, ReasoningPart)
    assert isinstance(text, TextPart)
    assert (reasoning.text, text.text) == ("hm yes", "Hello")
    assert assistant.message.usage.input == 100
    assert harness.runtime.sessions.status(session.id) == Idle()
    assert sum(isinstance(e, SessionIdle) for e in harness.events) == 1


async def test_idle_comes_last_after_everything_is_stored(harness: Harness) -> None:
    harness.server.script(answer(Call("list", {})), answer(Text("done")))
    session = await harness.session()
    await harness.turn(session, "hi")
    kinds = [type(e) for e in harness.events]
    assert kinds[-1] is SessionIdle
    assert kinds[-2] is SessionStatusChanged
    steps = [e.message for e in harness.events if isinstance(e, MessageUpdated)]
    completed = [m for m in steps if isinstance(m, AssistantMessage) and m.completed]
    assert len(completed) == 2


async def test_a_step_changes_its_session_once(harness: Harness) -> None:
    """Each change is a transaction, and drawn."""
    steps = [answer(Call("list", {})), answer(Call("list", {"path": "."}))]
    harness.server.script(*steps, answer(Text("done")))
    session = await harness.session()
    await harness.turn(session, "hi")
    changes = [e.session for e in harness.events if isinstance(e, SessionUpdated)]
    assert [c.usage.input for c in changes if c.usage.input] == [100, 200, 300, 300]
    assert changes[-1].turns == 1


async def test_a_step_with_calls_is_followed_by_another_whatever_the_finish(
    harness: Harness,
) -> None:
    (harness.folder / "a.txt").write_text("alpha\n")
    for reason in ("stop", "end_turn", None):
        harness.server.script(
            answer(Call("read", {"file_path": "a.txt"}), Finish(reason)), answer(Text("ok"))
        )
        session = await harness.session()
        idle = await harness.turn(session, "read it")
        assert idle.outcome == "completed"
        (tool,) = await harness.tools(session)
        assert isinstance(tool.state, Completed)
        assert "alpha" in tool.state.output
    assert len(harness.server.requests) == 6


async def test_a_call_goes_from_pending_to_running_to_completed(harness: Harness) -> None:
    harness.server.script(answer(Call("list", {"path": "."})), answer(Text("ok")))
    await harness.turn(await harness.session(), "list")
    assert states(harness, "list") == ["pending", "running", "completed"]


async def test_a_call_runs_while_the_stream_continues(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(Call("list", {}), Call("glob", {"pattern": "*"}), hold), answer(Text("ok"))
    )
    session = await harness.session()
    await harness.send(session, "look")
    await harness.until(
        lambda e: (
            isinstance(e, PartUpdated)
            and isinstance(e.part, ToolPart)
            and e.part.tool == "list"
            and isinstance(e.part.state, Completed)
        )
    )
    assert not any(isinstance(e, SessionIdle) for e in harness.events)
    hold.gate.set()
    assert (await harness.idle(session)).outcome == "completed"


async def test_results_are_handed_over_in_call_order(harness: Harness) -> None:
    for name in "abcde":
        (harness.folder / name).write_text(f"content of {name}\n")
    calls = [Call("read", {"file_path": name}) for name in "abcde"]
    harness.server.script(answer(*calls), answer(Text("ok")))
    await harness.turn(await harness.session(), "read all")
    results = [m for m in harness.server.requests[1].body["messages"] if m["role"] == "tool"]
    assert [f"content of {n}" in r["content"] for n, r in zip("abcde", results, strict=True)] == [
        True
    ] * 5


async def test_a_failing_command_cancels_its_siblings(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        harness.server.script(
            answer(
                Call("bash", {"command": "touch x; exit 3"}),
                Call("list", {}),
                Call("glob", {"pattern": "*"}),
            ),
            answer(Text("ok")),
        )
        session = await harness.session()
        await harness.turn(session, "go")
        bash, *others = await harness.tools(session)
        assert isinstance(bash.state, Completed)
        assert bash.state.exit_code == 3
        for other in others:
            assert isinstance(other.state, Failed)
            assert "another call of this step failed" in other.state.error


async def test_a_failing_read_cancels_nothing(harness: Harness) -> None:
    harness.server.script(
        answer(Call("read", {"file_path": "missing"}), Call("list", {})), answer(Text("ok"))
    )
    session = await harness.session()
    await harness.turn(session, "go")
    read, listing = await harness.tools(session)
    assert isinstance(read.state, Failed)
    assert isinstance(listing.state, Completed)


async def test_bad_calls_become_results_that_teach(harness: Harness) -> None:
    harness.server.script(
        answer(
            Call("write", '{"file_path": "a.txt", "content": "he said "hi""}'),
            Call("nonsense", {}),
            Call("Read", {"file_path": "b.txt"}),
            Call("todoread", ""),
        ),
        answer(Text("ok")),
    )
    (harness.folder / "b.txt").write_text("bee\n")
    session = await harness.session()
    idle = await harness.turn(session, "go")
    assert idle.outcome == "completed"
    write, nonsense, read, todo = await harness.tools(session)
    assert isinstance(write.state, Failed)
    assert write.state.kind == "invalid"
    assert not (harness.folder / "a.txt").exists()
    assert isinstance(nonsense.state, Failed)
    assert "read" in nonsense.state.error
    assert read.tool == "read"
    assert isinstance(read.state, Completed)
    assert isinstance(todo.state, Completed)


async def test_once_allows_a_write_and_the_file_is_there(harness: Harness) -> None:
    harness.server.script(
        answer(Call("write", {"file_path": "new.txt", "content": "hello\n"})), answer(Text("ok"))
    )
    session = await harness.session()
    await harness.send(session, "write")
    request = await harness.permission_request()
    waiting = [
        e.part.state.waiting
        for e in harness.events
        if isinstance(e, PartUpdated)
        and isinstance(e.part, ToolPart)
        and isinstance(e.part.state, Running)
    ]
    assert not (harness.folder / "new.txt").exists()
    assert harness.answer(request, "once")
    assert not harness.answer(request, "reject")
    assert (await harness.idle(session)).outcome == "completed"
    assert (harness.folder / "new.txt").read_text() == "hello\n"
    assert waiting[-1] in {request.id, None}


async def test_a_partly_accepted_change_is_reported_to_the_model(harness: Harness) -> None:
    lines = [f"line {n}" for n in range(40)]
    changed = [f"changed {n}" if n in {2, 20, 38} else line for n, line in enumerate(lines)]
    file = harness.folder / "a.txt"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    write = {"file_path": "a.txt", "content": "\n".join(changed) + "\n"}
    harness.server.script(
        answer(Call("read", {"file_path": "a.txt"})),
        answer(Call("write", write)),
        answer(Text("k")),
    )
    session = await harness.session()
    await harness.send(session, "change it")
    request = await harness.permission_request()
    reply = PermissionReply("once", "not in the middle", frozenset({0, 2}))
    assert harness.runtime.permissions.reply(request.id, reply)
    assert (await harness.idle(session)).outcome == "completed"
    now = file.read_text("utf-8").splitlines()
    assert (now[2], now[20], now[38]) == ("changed 2", "line 20", "changed 38")
    result, comment = harness.server.requests[-1].body["messages"][-2:]
    assert "2 of 3 hunks" in result["content"]
    assert "not in the middle" in comment["content"]


async def test_a_command_changed_by_the_user_is_the_one_that_runs(harness: Harness) -> None:
    harness.server.script(answer(Call("bash", {"command": "touch one"})), answer(Text("k")))
    session = await harness.session()
    await harness.send(session, "run it")
    request = await harness.permission_request()
    edited = PermissionReply("once", edited_command="touch two")
    assert harness.runtime.permissions.reply(request.id, edited)
    await harness.idle(session)
    assert sum(isinstance(e, PermissionAsked) for e in harness.events) == 1
    assert sorted(path.name for path in harness.folder.iterdir()) == ["two"]
    assert "This ran instead: touch two" in str(harness.server.requests[-1].body["messages"][-1])


async def test_reject_without_a_comment_stops_the_turn(harness: Harness) -> None:
    harness.server.script(answer(Call("bash", {"command": "touch x"})))
    session = await harness.session()
    await harness.send(session, "go")
    harness.answer(await harness.permission_request(), "reject")
    assert (await harness.idle(session)).outcome == "rejected"
    (tool,) = await harness.tools(session)
    assert isinstance(tool.state, Failed)
    assert tool.state.kind == "denied"
    assert not (harness.folder / "x").exists()
    harness.server.script(answer(Text("sorry")))
    assert (await harness.turn(session, "again")).outcome == "completed"


async def test_reject_with_a_comment_continues_and_the_model_reads_it(harness: Harness) -> None:
    harness.server.script(answer(Call("bash", {"command": "touch x"})), answer(Text("I see")))
    session = await harness.session()
    await harness.send(session, "go")
    harness.answer(await harness.permission_request(), "reject", "use y instead")
    assert (await harness.idle(session)).outcome == "completed"
    assert "use y instead" in harness.server.requests[1].body["messages"][-1]["content"]


async def test_cancel_in_mid_stream_keeps_the_text_and_the_next_prompt_works(
    harness: Harness,
) -> None:
    hold = Hold()
    harness.server.script(answer(Text("half an ans"), hold), answer(Text("whole")))
    session = await harness.session()
    await harness.send(session, "go")
    await hold.reached.wait()
    await harness.until(lambda e: getattr(e, "delta", "") == "half an ans")
    assert await harness.runtime.sessions.cancel(session.id)
    assert (await harness.idle(session)).outcome == "cancelled"
    assistant = (await harness.messages(session))[-1]
    assert assistant.message.interrupted
    (text,) = [p for p in assistant.parts if isinstance(p, TextPart)]
    assert (text.text, text.interrupted) == ("half an ans", True)
    await asyncio.wait_for(harness.server.requests[0].closed.wait(), 30)
    assert (await harness.turn(session, "and now")).outcome == "completed"


async def test_cancel_during_a_command_ends_it(harness: Harness) -> None:
    harness.server.script(answer(Call("bash", {"command": "echo begun; sleep 60"})))
    session = await harness.session()
    await harness.send(session, "go")
    await harness.printed("begun")
    await harness.runtime.sessions.cancel(session.id)
    cancelling = await harness.until(
        lambda e: (
            isinstance(e, SessionStatusChanged)
            and isinstance(e.status, Busy)
            and e.status.cancelling
        )
    )
    assert cancelling
    assert (await harness.idle(session)).outcome == "cancelled"
    (tool,) = await harness.tools(session)
    assert isinstance(tool.state, Failed)
    assert tool.state.kind == "aborted"
    assert "begun" in tool.state.output


async def test_cancel_while_a_question_is_open_withdraws_it(harness: Harness) -> None:
    harness.server.script(answer(Call("bash", {"command": "touch x"})))
    session = await harness.session()
    await harness.send(session, "go")
    request = await harness.permission_request()
    await harness.runtime.sessions.cancel(session.id)
    assert (await harness.idle(session)).outcome == "cancelled"
    assert harness.runtime.permissions.pending() == ()
    assert not harness.answer(request, "once")
    (tool,) = await harness.tools(session)
    assert isinstance(tool.state, Failed)
    assert tool.state.kind == "aborted"


async def test_a_message_sent_in_mid_turn_is_picked_up_at_the_next_step(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(answer(hold, Call("list", {})), answer(Text("I will.")))
    session = await harness.session()
    await harness.send(session, "first")
    await hold.reached.wait()
    await harness.send(session, "second")
    snapshot = await harness.runtime.sessions.snapshot(session.id)
    assert len(snapshot.queued) == 1
    hold.gate.set()
    await harness.idle(session)
    second = harness.server.requests[1].body["messages"][-1]
    assert second["role"] == "user"
    assert "second" in json_text(second)
    assert "<system-reminder>" in json_text(second)
    users = [
        m.message for m in await harness.messages(session) if isinstance(m.message, UserMessage)
    ]
    assert [u.steered for u in users] == [False, True]
    assert sum(isinstance(e, SessionIdle) for e in harness.events) == 1


async def test_a_follow_up_waits_for_the_end(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(hold, Call("list", {})), answer(Text("listed")), answer(Text("followed"))
    )
    session = await harness.session()
    await harness.send(session, "first")
    await hold.reached.wait()
    await harness.send(session, "later", delivery="follow_up")
    hold.gate.set()
    await harness.idle(session)
    assert "later" not in json_text(harness.server.requests[1].body["messages"])
    assert "later" in json_text(harness.server.requests[2].body["messages"][-1])


async def test_between_a_turn_and_the_one_that_follows_the_program_is_busy(
    harness: Harness,
) -> None:
    """Code that waits for the end of all work must not mistake the moment between them for it."""
    hold = Hold()
    harness.server.script(answer(Text("one")), answer(hold, Text("a summary")), answer(Text("two")))
    session = await harness.session()
    await harness.turn(session, "first")
    sessions = harness.runtime.sessions
    with harness.runtime.bus.subscribe() as events:
        await sessions.compaction.start(session.id)
        await hold.reached.wait()
        await harness.send(session, "later")
        hold.gate.set()
        ends: list[bool] = []
        async with asyncio.timeout(GUARD):
            async for event in events:
                if isinstance(event, SessionIdle):
                    ends.append(sessions.busy)
                    if len(ends) == 2:
                        break
    assert ends == [True, False]


async def test_a_broken_stream_before_any_call_is_tried_again(harness: Harness) -> None:
    harness.server.script(answer(Text("part one"), Cut()), answer(Text("whole")))
    session = await harness.session()
    idle = await harness.turn(session, "go")
    assert idle.outcome == "completed"
    texts = [p.text for p in await harness.parts(session) if isinstance(p, TextPart)]
    assert texts == ["go", "whole"]
    assert any(
        isinstance(e, SessionStatusChanged) and isinstance(e.status, Retry) for e in harness.events
    )


async def test_a_stream_that_breaks_after_a_call_keeps_its_result(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(Call("list", {}), Call("glob", {"pattern": "*"}), hold, Cut()), answer(Text("ok"))
    )
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(
        lambda e: (
            isinstance(e, PartUpdated)
            and isinstance(e.part, ToolPart)
            and isinstance(e.part.state, Completed)
        )
    )
    hold.gate.set()
    assert (await harness.idle(session)).outcome == "completed"
    first, second = await harness.tools(session)
    assert isinstance(first.state, Completed)
    assert isinstance(second.state, Failed)
    assert len(harness.server.requests) == 2


async def test_output_limit_escalates_once_per_session_then_resumes(tmp_path: Path) -> None:
    cut = answer(Text("and so on"), Finish("limit"))
    large = {"limit": {"context": 200_000, "output": 64_000}}
    async with open_harness(tmp_path, abilities=large) as harness:
        harness.server.script(cut, cut, answer(Text(" to the end")), answer(Text("more")))
        session = await harness.session()
        assert (await harness.turn(session, "write much")).outcome == "completed"
        assert (await harness.turn(session, "write more")).outcome == "completed"
        first, second, third, fourth = (r.body for r in harness.server.requests)
        caps = [body["max_tokens"] for body in (first, second, third, fourth)]
        assert caps == [32_000, 64_000, 64_000, 64_000]
        assert first["messages"] == second["messages"]
        assert third["messages"][-2]["content"] == "and so on"
        assert "cut off" in json_text(third["messages"][-1])


async def test_a_response_at_the_models_own_limit_is_continued(harness: Harness) -> None:
    harness.server.script(answer(Text("and so on"), Finish("limit")), answer(Text(" to the end")))
    session = await harness.session()
    assert (await harness.turn(session, "write much")).outcome == "completed"
    first, second = (r.body for r in harness.server.requests)
    assert first["max_tokens"] == second["max_tokens"] == 32_000
    assert second["messages"][-2]["content"] == "and so on"


async def test_a_call_cut_by_the_output_limit_is_never_run(harness: Harness) -> None:
    harness.server.always(
        answer(Call("write", '{"file_path": "a.txt", "content": "aaa'), Finish("limit"))
    )
    session = await harness.session()
    idle = await harness.turn(session, "write")
    assert idle.outcome == "limit_reached"
    assert not (harness.folder / "a.txt").exists()
    assert len(harness.server.requests) <= 5
    tools = await harness.tools(session)
    assert all(isinstance(t.state, Failed) and "output limit" in t.state.error for t in tools)


async def test_a_refused_key_fails_at_once_with_the_servers_message(harness: Harness) -> None:
    harness.server.script(Failure(401, '{"error": {"message": "bad key"}}'))
    idle = await harness.turn(await harness.session(), "go")
    assert idle.outcome == "failed"
    assert idle.error is not None
    assert idle.error.kind == "auth"
    assert "bad key" in idle.error.message
    assert len(harness.server.requests) == 1


async def test_cancel_during_a_retry_wait(harness: Harness) -> None:
    harness.server.always(
        Failure(429, '{"error": {"message": "slow down"}}', (("retry-after", "300"),))
    )
    session = await harness.session()
    await harness.send(session, "go")
    await harness.until(
        lambda e: isinstance(e, SessionStatusChanged) and isinstance(e.status, Retry)
    )
    await harness.runtime.sessions.cancel(session.id)
    assert (await harness.idle(session)).outcome == "cancelled"
    assert len(harness.server.requests) == 1


async def test_a_repeated_call_needs_permission(harness: Harness) -> None:
    harness.server.always(answer(Call("list", {})))
    session = await harness.session()
    await harness.send(session, "go")
    request = await harness.permission_request()
    assert [j.need.permission for j in request.needs] == ["doom_loop"]
    harness.answer(request, "reject")
    assert (await harness.idle(session)).outcome == "rejected"
    assert len(harness.server.requests) == 3


@pytest.mark.parametrize(("repeats", "requests"), [(2, 2), (5, 5)])
async def test_how_many_are_too_many_is_a_setting(
    tmp_path: Path, repeats: int, requests: int
) -> None:
    async with open_harness(tmp_path, limits={"repeats": repeats}) as harness:
        harness.server.always(answer(Call("list", {})))
        session = await harness.session()
        await harness.send(session, "go")
        harness.answer(await harness.permission_request(), "reject")
        await harness.idle(session)
        assert len(harness.server.requests) == requests


async def test_sessions_run_side_by_side(harness: Harness) -> None:
    first_hold = Hold()
    harness.server.script(answer(Text("a"), first_hold), answer(Text("b")))
    first, second = await harness.session(), await harness.session()
    await harness.send(first, "one")
    await first_hold.reached.wait()
    assert (await harness.turn(second, "two")).outcome == "completed"
    first_hold.gate.set()
    assert (await harness.idle(first)).outcome == "completed"


async def test_queued_messages_are_sent_after_a_failed_turn(harness: Harness) -> None:
    hold = Hold()
    harness.server.script(
        answer(Text("x"), hold, Done()),
        Failure(400, '{"error": {"message": "no"}}'),
        answer(Text("ok")),
    )
    session = await harness.session()
    await harness.send(session, "one")
    await hold.reached.wait()
    await harness.send(session, "two", delivery="follow_up")
    await harness.send(session, "three", delivery="follow_up")
    hold.gate.set()
    await harness.until(lambda e: isinstance(e, SessionIdle))
    users = [m for m in await harness.messages(session) if isinstance(m.message, UserMessage)]
    assert [u.parts[0].text for u in users] == ["one", "two", "three"]


async def test_usage_and_turns_are_kept_with_the_session(harness: Harness) -> None:
    harness.server.script(
        answer(Call("list", {}), Tokens(200, 20)), answer(Text("x"), Tokens(300, 30))
    )
    session = await harness.session()
    await harness.turn(session, "count the files")
    stored = await harness.runtime.store.session(session.id)
    assert (stored.usage.input, stored.usage.output) == (500, 50)
    assert (stored.turns, stored.title) == (1, "count the files")


def json_text(value: object) -> str:
    import json

    return json.dumps(value)
