"""The source of each approval and rejection is stored with the call."""

from pathlib import Path

from agent.records.decisions import Decision
from agent.records.messages import Completed
from agent.records.requests import PermissionReply
from agent.runtime.headless import HeadlessRun
from agent.session.api import PromptInput
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Text, answer

TOUCH = Call("bash", {"command": "touch made"})
ASKED = "Run this command?"


def facts(decision: Decision) -> tuple[str, str, str, str]:
    assert decision.at > 0
    return decision.answer, decision.by, decision.comment, decision.reason


async def decisions_of(harness: Harness, session) -> list[tuple[str, str, str, str]]:
    return [facts(c) for part in await harness.tools(session) for c in part.decisions]


async def test_the_users_answer_is_stored_with_the_call(harness: Harness) -> None:
    harness.server.script(
        answer(Call("write", {"file_path": "new.txt", "content": "hello\n"})),
        answer(TOUCH),
        answer(Call("bash", {"command": "mkdir other"})),
        answer(Text("ok")),
    )
    session = await harness.session()
    await harness.send(session, "go")
    first = await harness.permission_request()
    seen = len(harness.events)
    harness.answer(first, "once")
    second = await harness.permission_request(after=seen)
    seen = len(harness.events)
    harness.runtime.permissions.reply(
        second.id, PermissionReply("always", "fine", edited_command="touch better")
    )
    harness.answer(await harness.permission_request(after=seen), "reject", "use y instead")
    await harness.idle(session)
    assert await decisions_of(harness, session) == [
        ("once", "person", "", ""),
        ("always", "person", "fine", "bash `touch *`; with an edited command"),
        ("reject", "person", "use y instead", ""),
    ]
    parts = await harness.tools(session)
    assert [part.decisions[0].question for part in parts] == [first.heading, ASKED, ASKED]
    assert [part.decisions[0].refused for part in parts] == ["", "touch made", ""]


async def test_an_allowed_or_denied_call_names_the_rule(tmp_path: Path) -> None:
    rules = {"bash": {"touch *": "allow", "rm *": "deny"}}
    async with open_harness(tmp_path, permission=rules) as harness:
        harness.server.script(
            answer(TOUCH),
            answer(Call("bash", {"command": "rm made"})),
            answer(Call("list", {"path": "."})),
            answer(Text("ok")),
        )
        session = await harness.session()
        await harness.turn(session, "go")
        allowed, denied = await decisions_of(harness, session)  # a list needs no permission
        assert allowed[:2] == ("allow", "rule")
        assert "bash `touch *`" in allowed[3]
        assert denied[:2] == ("reject", "rule")
        assert "bash `rm *`" in denied[3]


async def test_the_auto_mode_answers_by_itself_and_is_shown(harness: Harness) -> None:
    harness.runtime.permissions.mode = "auto"
    harness.server.script(answer(TOUCH), answer(Text("ok")))
    session = await harness.session()
    await harness.turn(session, "go")
    (part,) = await harness.tools(session)
    assert isinstance(part.state, Completed)
    assert [facts(c) for c in part.decisions] == [("once", "mode", "", "")]
    assert part.decisions[0].question == ASKED


async def test_an_unattended_run_answers_by_policy(harness: Harness) -> None:
    harness.server.script(answer(TOUCH), answer(Text("ok")))
    session = await harness.session()
    async for _ in HeadlessRun(harness.runtime).run(session, PromptInput(text="go")):
        pass
    ((answered, by, comment, _),) = await decisions_of(harness, session)
    assert (answered, by) == ("reject", "policy")
    assert "No one is available to approve bash of `touch made`" in comment


async def test_always_approves_a_waiting_call_by_the_new_rule(harness: Harness) -> None:
    harness.server.script(
        answer(TOUCH),
        answer(Call("bash", {"command": "touch again"})),
        answer(Text("ok")),
    )
    session = await harness.session()
    await harness.send(session, "go")
    harness.answer(await harness.permission_request(), "always")
    await harness.idle(session)
    kept = await decisions_of(harness, session)
    assert [one[:2] for one in kept] == [("always", "person"), ("allow", "rule")]
    assert "this session" in kept[1][3]


async def test_the_answer_about_a_repeated_call_is_kept_too(harness: Harness) -> None:
    harness.server.script(*[answer(Call("list", {"path": "."}))] * 3, answer(Text("ok")))
    session = await harness.session()
    await harness.send(session, "go")
    harness.answer(await harness.permission_request(), "once")
    await harness.idle(session)
    last = (await harness.tools(session))[-1]
    assert [(c.answer, c.by) for c in last.decisions] == [("once", "person")]
    assert "repeated" in last.decisions[0].question
