"""Background sub-agents: reported once, followed, stopped, interrupted by a crash."""

from itertools import count
from pathlib import Path

import pytest

from agent.records.blocks import SubtaskBlock
from agent.records.context_parts import ReportPart
from agent.records.errors import SessionBusy
from agent.records.events import (
    MessageUpdated,
    PartUpdated,
    QueueChanged,
    SessionIdle,
    SessionUpdated,
)
from agent.records.messages import Completed, Failed, Idle, Session, TextPart, ToolPart
from agent.runtime.runtime import open_runtime
from agent.session.review.timeline import timeline
from tests.support.after_turn import assert_left_clean, marked_processes
from tests.support.harness import APIS, Harness, environment, open_harness
from tests.support.script import Answer, Call, Failure, Hold, Text, Tokens, answer
from tests.support.subagents import Script, children, output, task


async def reports(harness: Harness, session: Session) -> list[ReportPart]:
    return [p for p in await harness.parts(session) if isinstance(p, ReportPart)]


async def session_with_task(harness: Harness, *parent: Answer, **child: list[Answer]) -> Session:
    """Return a session whose first turn starts *child* (a word of its prompt, and its response) in
    the background; *parent* is the response of the turn itself."""
    (word,) = child
    harness.server.always(Script(answer(task(word, background=True)), *parent, **child))
    session = await harness.session()
    await harness.send(session, "go")
    return session


async def stored_report(harness: Harness, session: Session) -> ReportPart:
    """Return the report once it is stored in the session."""
    event = await harness.until(
        lambda e: (
            isinstance(e, PartUpdated)
            and isinstance(e.part, ReportPart)
            and e.part.session_id == session.id
        )
    )
    assert isinstance(event, PartUpdated)
    assert isinstance(event.part, ReportPart)
    return event.part


async def ended(harness: Harness, state: str) -> Session:
    """Return the sub-agent whose background task ended with this status."""
    event = await harness.until(
        lambda e: (
            isinstance(e, SessionUpdated)
            and e.session.background_task is not None
            and e.session.background_task.state == state
        )
    )
    assert isinstance(event, SessionUpdated)
    return event.session


def idles(harness: Harness, session: Session) -> list[SessionIdle]:
    return [e for e in harness.events if isinstance(e, SessionIdle) and e.session_id == session.id]


def request_text(harness: Harness, index: int = -1) -> str:
    return str(harness.server.requests[index].body)


@pytest.mark.parametrize("api", APIS)
async def test_a_report_starts_a_turn_of_an_idle_session_once(tmp_path: Path, api: str) -> None:
    hold = Hold()
    async with open_harness(tmp_path, api=api, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("I will tell you.")),
            answer(Text("It found three files.")),
            look=[answer(Call("list", {})), answer(hold, Text("Three files."))],
        )
        assert (await harness.idle(session)).outcome == "completed"
        (call,) = await harness.tools(session)
        (child,) = await children(harness, session)
        assert isinstance(call.state, Completed)
        assert child.id in call.state.output
        assert call.state.blocks == (SubtaskBlock(child.id, "general", "<look>", background=True),)
        assert child.background_task is not None
        assert child.background_task.state == "running"
        assert harness.runtime.sessions.subagents.background_tasks.running(session.id) == (
            child.id,
        )
        before = len(harness.events)
        hold.gate.set()
        assert (await harness.idle(session, after=before)).outcome == "completed"
        (report,) = await reports(harness, session)
        assert (report.child_id, report.outcome, report.text) == (
            child.id,
            "completed",
            "Three files.",
        )
        assert request_text(harness).count("Three files.") == 1
        assert child.id in request_text(harness)
        (child,) = await children(harness, session)
        assert child.background_task is not None
        assert child.background_task.state == "completed"
        assert "1 tool call" in child.background_task.facts
        assert len(idles(harness, session)) == 2
        # The next prompt does not report it again.
        harness.server.always(Script(answer(Text("ok"))))
        before = len(harness.events)
        await harness.turn(session, "thanks")
        assert request_text(harness).count("Three files.") == 1
        await assert_left_clean(harness, session, before, "background task: idle")


async def test_a_running_turn_receives_the_report_at_its_next_step(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(hold, Call("list", {})),
            answer(Text("done")),
            look=[answer(Text("Three files."))],
        )
        await hold.reached.wait()
        await stored_report(harness, session)
        hold.gate.set()
        await harness.idle(session)
        assert "Three files." in request_text(harness)
        assert len(idles(harness, session)) == 1
        await assert_left_clean(harness, session, 0, "background task: mid turn")


@pytest.mark.parametrize("api", APIS)
async def test_an_unattended_turn_ends_after_its_reports(tmp_path: Path, api: str) -> None:
    holds = [Hold(), Hold()]
    async with open_harness(tmp_path, api=api) as harness:
        harness.server.always(
            Script(
                answer(task("alpha", background=True), task("beta", background=True)),
                answer(Text("I wait.")),
                answer(Text("One of two.")),
                answer(Text("Both.")),
                alpha=[answer(holds[0], Text("report alpha"))],
                beta=[answer(holds[1], Text("report beta"))],
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        for hold, word in zip(holds, ("alpha", "beta"), strict=True):
            await hold.reached.wait()
            hold.gate.set()
            await harness.until(
                lambda e, word=word: (
                    isinstance(e, PartUpdated)
                    and isinstance(e.part, ReportPart)
                    and e.part.text == f"report {word}"
                )
            )
        await harness.idle(session)
        assert len(idles(harness, session)) == 1
        assert (
            request_text(harness).count("report alpha")
            == request_text(harness).count("report beta")
            == 1
        )
        await assert_left_clean(harness, session, 0, "background task: held")


async def test_a_sub_agent_waits_for_its_background_tasks(tmp_path: Path) -> None:
    """Its last response contains their results, so no report is lost."""
    agent = {"helper": {"mode": "subagent", "description": "x", "permission": {"task": "allow"}}}
    async with open_harness(tmp_path, holds=False, agent=agent) as harness:

        def by_prompt(body: dict) -> object:
            text = str(body["messages"])
            if "<deep>" in text and "<outer>" not in text:
                return answer(Text("from the deep"))
            if "<outer>" in text and "go now" not in text:
                if "from the deep" in text:
                    return answer(Text("The deep says: found."))
                if "works in the background" in text:
                    return answer(Text("I wait."))
                return answer(task("deep", background=True))
            if "The deep says" in text:
                return answer(Text("all done"))
            return answer(task("outer", "helper"))

        harness.server.always(by_prompt)
        session = await harness.session()
        assert (await harness.turn(session, "go now")).outcome == "completed"
        (call,) = await harness.tools(session)
        assert output(call).startswith("The deep says: found.")
        (outer,) = await children(harness, session)
        assert [r.text for r in await reports(harness, outer)] == ["from the deep"]
        await assert_left_clean(harness, session, 0, "background task: below a sub-agent")


async def test_a_full_cancel_stops_the_background_tasks_too(tmp_path: Path) -> None:
    run = Call("bash", {"command": "trap '' TERM; echo begun; sleep 60"})
    hold = Hold()
    async with open_harness(tmp_path, holds=False, permission={"bash": "allow"}) as harness:
        session = await session_with_task(
            harness,
            answer(hold),
            one=[answer(run)],
        )
        await hold.reached.wait()
        await harness.printed("begun")
        await harness.runtime.sessions.cancel(session.id)
        hold.gate.set()
        assert (await harness.idle(session)).outcome == "cancelled"
        child = await ended(harness, "cancelled")
        assert harness.runtime.sessions.status(child.id) == Idle()
        assert marked_processes() == []
        assert len(idles(harness, session)) == 1
        # No turn was started for it, and the next prompt reports that it was stopped.
        harness.server.always(Script(answer(Text("ok"))))
        before = len(harness.events)
        await harness.send(session, "and now?")
        await harness.idle(session, after=before)
        assert "was stopped by the user" in request_text(harness)
        await assert_left_clean(harness, session, before, "background task: cancelled")


async def test_a_cancel_of_the_turn_alone_leaves_tasks_running_and_queues_their_report(
    tmp_path: Path,
) -> None:
    """The user stopped the turn: no turn starts by itself, and the next prompt sends the report."""
    holds = [Hold(), Hold()]
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(holds[0]),
            answer(Text("I see.")),
            one=[answer(holds[1], Text("the late report"))],
        )
        await holds[0].reached.wait()
        await holds[1].reached.wait()
        await harness.runtime.sessions.cancel(session.id, background=False)
        holds[0].gate.set()
        assert (await harness.idle(session)).outcome == "cancelled"
        before = len(harness.events)
        holds[1].gate.set()
        await harness.until(lambda e: isinstance(e, QueueChanged), after=before)
        assert len(harness.runtime.queues.ids(session.id)) == 1
        before = len(harness.events)
        await harness.send(session, "onward then")
        await harness.idle(session, after=before)
        assert len(idles(harness, session)) == 2
        assert request_text(harness).count("the late report") == 1
        assert request_text(harness).index("the late report") < request_text(harness).index(
            "onward then"
        )


async def test_a_child_that_the_user_stops_starts_no_turn(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            one=[answer(Text("half"), hold)],
        )
        await harness.idle(session)
        await hold.reached.wait()
        (child,) = await children(harness, session)
        await harness.runtime.sessions.cancel(child.id)
        await ended(harness, "cancelled")
        hold.gate.set()
        assert harness.runtime.sessions.status(session.id) == Idle()
        (report,) = await reports(harness, session)
        assert (report.outcome, report.text) == ("cancelled", "half")
        assert len(idles(harness, session)) == 1


async def test_a_failed_task_is_reported_as_failed(tmp_path: Path) -> None:
    async with open_harness(tmp_path, retry={"attempts": 1}, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            answer(Text("It is broken.")),
            beta=[Failure(400, '{"error": {"message": "beta is broken"}}')],
        )
        await ended(harness, "failed")
        await harness.until(lambda _: "beta is broken" in request_text(harness))
        await harness.idle(session, after=len(harness.events) - 1)
        assert harness.runtime.sessions.status(session.id) == Idle()


async def test_task_output_waits_and_returns_the_report_once(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:

        def parent(body: dict) -> object:
            text = str(body)
            if "<look>" in text and "go now" not in text:
                return answer(hold, Text("Three files."))
            if "Three files." in text:
                return answer(Text("I have it."))
            found = [s for s in text.replace("'", " ").replace('"', " ").split() if "ses_" in s]
            if not found:
                return answer(task("look", background=True))
            child = found[0].strip(".,;:)\\")
            return answer(Call("task_output", {"session_id": child, "wait": 60_000}))

        harness.server.always(parent)
        session = await harness.session()
        await harness.send(session, "go now")
        await harness.until(
            lambda e: (
                isinstance(e, PartUpdated)
                and isinstance(e.part, ToolPart)
                and e.part.tool == "task_output"
                and e.part.state.status == "running"
            )
        )
        hold.gate.set()
        assert (await harness.idle(session)).outcome == "completed"
        _, look = await harness.tools(session)
        assert output(look).startswith("Three files.")
        assert await reports(harness, session) == []
        assert len(idles(harness, session)) == 1
        assert request_text(harness).count("Three files.") == 1
        await assert_left_clean(harness, session, 0, "background task: waited for")


async def test_task_output_checks_and_stops_a_task(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            one=[answer(Text("half"), Call("list", {})), answer(hold)],
        )
        await harness.idle(session)
        await hold.reached.wait()
        (child,) = await children(harness, session)
        look = {"session_id": child.id}
        harness.server.always(
            Script(
                answer(Call("task_output", look)),
                answer(Call("bash_output", {"id": child.id, "kill": True})),
                answer(Call("bash_output", {"id": "ses_none"})),
                answer(Text("stopped")),
            )
        )
        before = len(harness.events)
        await harness.turn(session, "stop it")
        hold.gate.set()
        _, looked, stopped, unknown = await harness.tools(session)
        assert "is working: one" in output(looked)
        assert "1 tool call" in output(looked)
        assert output(stopped).startswith("Stopped. half")
        assert "No sub-agent of this session" in output(unknown)
        assert await reports(harness, session) == []
        (child,) = await children(harness, session)
        assert child.background_task is not None
        assert child.background_task.state == "cancelled"
        assert len(idles(harness, session)) == 2
        await assert_left_clean(harness, session, before, "background task: stopped by the model")


async def test_a_running_task_reads_further_prompts_and_can_be_resumed(
    tmp_path: Path,
) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            one=[answer(hold, Call("list", {})), answer(Text("first"))],
        )
        await harness.idle(session)
        await hold.reached.wait()
        (child,) = await children(harness, session)
        harness.server.always(
            Script(
                answer(task("more", session_id=child.id)),
                answer(Text("told")),
                answer(Text("seen")),
                one=[answer(Text("both"))],
            )
        )
        before = len(harness.events)
        await harness.send(session, "tell it more")
        await harness.idle(session, after=before)
        before = len(harness.events)
        hold.gate.set()
        await harness.idle(session, after=before)
        assert "at its next step" in output((await harness.tools(session))[-1])
        assert [r.text for r in await reports(harness, session)] == ["both"]
        harness.server.always(
            Script(
                answer(task("again", session_id=child.id, background=True)),
                answer(Text("ok")),
                answer(Text("seen")),
                again=[answer(Text("the second report"))],
            )
        )
        await harness.send(session, "again")
        await harness.until(
            lambda e: (
                isinstance(e, PartUpdated)
                and isinstance(e.part, ReportPart)
                and e.part.text == "the second report"
            )
        )
        assert len(await children(harness, session)) == 1


async def test_the_user_moves_a_sub_agent_to_the_background(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        harness.server.always(
            Script(
                answer(task("one")),
                answer(Text("Meanwhile.")),
                answer(Text("There it is.")),
                one=[answer(hold, Text("the late report"))],
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        await hold.reached.wait()
        assert harness.runtime.sessions.subagents.detach(session.id) == 1
        await harness.idle(session)
        (call,) = await harness.tools(session)
        assert "moved the sub-agent to the background" in output(call)
        before = len(harness.events)
        hold.gate.set()
        await harness.idle(session, after=before)
        assert [r.text for r in await reports(harness, session)] == ["the late report"]
        assert harness.runtime.sessions.subagents.detach(session.id) == 0


async def test_limits_apply_across_turns_started_by_reports(tmp_path: Path) -> None:
    """Tasks that start the next one forever, with a turn for each report, are stopped."""
    async with open_harness(tmp_path, holds=False, limits={"tokens": 3_000}) as harness:

        def endless(body: dict) -> object:
            text = str(body["messages"])
            if "go now" not in text:
                return answer(Text("done"), Tokens(400, 10))
            if text.rfind("works in the background") > text.rfind("</system-reminder>"):
                return answer(Text("I wait."), Tokens(400, 10))
            return answer(task(f"part {next(numbers)}", background=True), Tokens(400, 10))

        numbers = count()
        harness.server.always(endless)
        session = await harness.session()
        await harness.send(session, "go now")
        end = await harness.until(
            lambda e: (
                isinstance(e, SessionIdle)
                and e.session_id == session.id
                and e.outcome == "limit_reached"
            )
        )
        assert isinstance(end, SessionIdle)
        assert end.error is not None
        assert len(harness.server.requests) < 20


async def test_no_more_than_ten_background_tasks_run(tmp_path: Path) -> None:
    held = {f"part{number:02}": Hold() for number in range(11)}
    async with open_harness(tmp_path, holds=False) as harness:
        work = {word: [answer(hold, Text(word))] for word, hold in held.items()}
        calls = [task(word, background=True) for word in held]
        harness.server.always(Script(answer(*calls), answer(Text("ok")), **work))
        session = await harness.session()
        await harness.turn(session, "go")
        outputs = [output(part) for part in await harness.tools(session)]
        assert sum("10 sub-agents are already working" in o for o in outputs) == 1
        assert len(await children(harness, session)) == 10
        await harness.runtime.sessions.cancel(session.id)


async def test_undo_waits_for_background_tasks_and_reverts_their_changes(
    tmp_path: Path,
) -> None:
    hold = Hold()
    write = Call("write", {"file_path": "late.txt", "content": "x"})
    settings = {"permission": {"edit": "allow"}}
    async with open_harness(tmp_path, holds=False, **settings) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            answer(Text("seen")),
            one=[answer(hold, write), answer(Text("written"))],
        )
        await harness.idle(session)
        undo = harness.runtime.sessions.undo
        with pytest.raises(SessionBusy, match="Sub-agents are working in the background"):
            await undo.plan(session.id)
        before = len(harness.events)
        hold.gate.set()
        await harness.idle(session, after=before)
        assert (harness.folder / "late.txt").exists()
        plan = await undo.plan(session.id)
        assert plan is not None
        assert [file.path for file in plan.files] == ["late.txt"]
        await undo.undo(plan, files=True, conversation=True)
        assert not (harness.folder / "late.txt").exists()
        await undo.redo(session.id)
        assert (harness.folder / "late.txt").exists()


async def test_changes_of_a_turn_include_those_of_its_background_tasks(tmp_path: Path) -> None:
    """Also those of a task that a later turn resumed: each turn has its own changes."""

    def write(name: str) -> Call:
        return Call("write", {"file_path": name, "content": "x\n"})

    settings = {"permission": {"edit": "allow"}}
    async with open_harness(tmp_path, holds=False, **settings) as harness:
        session = await harness.session()
        more: dict[str, object] = {}
        for name in ("first.txt", "second.txt"):
            hold = Hold()
            harness.server.always(
                Script(
                    answer(task("one", background=True, **more)),
                    answer(Text("ok")),
                    answer(Text("seen")),
                    one=[answer(hold, write(name)), answer(Text("written"))],
                )
            )
            await harness.turn(session, "go")
            before = len(harness.events)
            hold.gate.set()
            await harness.idle(session, after=before)
            (child,) = await children(harness, session)
            more = {"session_id": child.id}
        changes, messages = harness.runtime.sessions.undo.changes, await harness.messages(session)
        first, _, second, _ = timeline(messages)
        of_first = await changes.diffs(first.messages, second.first_id)
        assert [b.path for b in of_first] == ["first.txt"]
        assert [b.path for b in await changes.diffs(second.messages)] == ["second.txt"]
        assert [b.path for b in await changes.diffs(messages)] == ["first.txt", "second.txt"]


async def test_a_fork_learns_that_the_report_goes_to_the_original(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            answer(Text("seen")),
            one=[answer(hold, Text("the late report"))],
        )
        await harness.idle(session)
        copy = await harness.runtime.sessions.repository.fork(session.id)
        (report,) = await reports(harness, copy)
        assert report.outcome == "interrupted"
        before = len(harness.events)
        hold.gate.set()
        await harness.idle(session, after=before)
        harness.server.always(Script(answer(Text("fine"))))
        await harness.turn(copy, "hello")
        assert "its report goes to the original" in request_text(harness)
        later = await harness.runtime.sessions.repository.fork(session.id)
        assert [r.text for r in await reports(harness, later)] == ["the late report"]


async def test_a_compaction_during_a_background_task_loses_nothing(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            answer(Text("the summary of it")),
            answer(Text("seen")),
            one=[answer(hold, Text("the late report"))],
        )
        await harness.idle(session)
        before = len(harness.events)
        await harness.runtime.sessions.compaction.start(session.id, "")
        await harness.idle(session, after=before)
        before = len(harness.events)
        hold.gate.set()
        await harness.idle(session, after=before)
        assert "the summary of it" in request_text(harness)
        assert request_text(harness).count("the late report") == 1


async def test_closing_the_program_ends_the_task_and_reports_it(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            one=[answer(Text("half"), hold)],
        )
        await harness.idle(session)
        await hold.reached.wait()
        await harness.runtime.close()
        hold.gate.set()
        again = await open_runtime(harness.folder, env=environment(harness.home))
        try:
            (child,) = await again.store.children(session.id)
            assert child.background_task is not None
            assert child.background_task.state == "interrupted"
            snapshot = await again.sessions.snapshot(session.id)
            assert len(snapshot.queued) == 1
            last = snapshot.messages[-1].parts
            assert any(isinstance(p, TextPart) and "was interrupted" in p.text for p in last)
        finally:
            await again.close()


async def test_deleting_the_session_ends_the_task(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            one=[answer(Text("half"), hold)],
        )
        await harness.idle(session)
        await hold.reached.wait()
        await harness.runtime.sessions.delete(session.id)
        hold.gate.set()
        assert harness.runtime.sessions.subagents.background_tasks.running(session.id) == ()
        assert not harness.runtime.sessions.busy
        assert await harness.runtime.sessions.repository.list() == []


async def test_another_program_does_not_treat_the_task_as_dead(tmp_path: Path) -> None:
    hold = Hold()
    async with open_harness(tmp_path, holds=False) as harness:
        session = await session_with_task(
            harness,
            answer(Text("ok")),
            answer(Text("seen")),
            one=[answer(hold, Text("the late report"))],
        )
        await harness.idle(session)
        other = await open_runtime(harness.folder, env=environment(harness.home))
        try:
            (child,) = await other.store.children(session.id)
            assert child.background_task is not None
            assert child.background_task.state == "running"
            assert await other.store.foreign_lease(session.id)
            before = len(harness.events)
            hold.gate.set()
            await harness.idle(session, after=before)
            await harness.until(
                lambda e: isinstance(e, MessageUpdated) and e.message.role == "assistant"
            )
        finally:
            await other.close()
        assert isinstance((await harness.tools(session))[0].state, Completed | Failed)
