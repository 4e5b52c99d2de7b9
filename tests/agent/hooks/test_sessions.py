"""Hooks on sessions, prompts, stops and summaries."""

import json

import pytest

from agent.records.errors import PromptRefused
from agent.records.events import Notice
from agent.records.messages import TextPart
from tests.agent.hooks.conftest import hook_inputs
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer


async def test_hooks_run_at_the_start_and_end_of_a_session(tmp_path, script):
    hooks = {
        "SessionStart": [script("echo 'The build is red.'", name="start")],
        "SessionEnd": [script("exit 0", name="end")],
    }
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(answer(Text("Hello.")), answer(Text("Again.")))
        session = await harness.session()
        await harness.turn(session, "Hi")
        await harness.turn(session, "Hi again")
        sent = json.dumps(harness.server.requests[0].body["messages"])
        assert sent.count("The build is red.") == 1
        (start,) = hook_inputs(tmp_path, "start")
        assert (start["source"], start["session_id"]) == ("startup", session.id)
        shown = [p for p in await harness.parts(session) if isinstance(p, TextPart)]
        assert not [p for p in shown if "red" in p.text and not p.synthetic]
    (end,) = hook_inputs(tmp_path, "end")
    assert end["reason"] == "exit"


async def test_an_objection_to_what_has_happened_is_reported(tmp_path, script):
    """A script that Python cannot open ends with the same exit code as an objection."""
    hooks = {"SessionStart": [script("echo 'no such file' >&2; exit 2", name="start")]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(answer(Text("Hello.")))
        await harness.turn(await harness.session(), "Hi")
        (notice,) = (e.message for e in harness.events if isinstance(e, Notice))
        assert "(SessionStart, " in notice
        assert notice.endswith("objects, which has no effect here: no such file.")


async def test_a_prompt_is_refused_before_it_is_stored(tmp_path, script):
    hooks = {"UserPromptSubmit": [script("echo 'holds a key' >&2; exit 2")]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        session = await harness.session()
        with pytest.raises(PromptRefused, match="holds a key"):
            await harness.send(session, "my key is 1")
        assert not await harness.messages(session)
        assert hook_inputs(tmp_path)[0]["prompt"] == "my key is 1"


async def test_a_prompt_gets_context_from_a_hook(tmp_path, script):
    word = {"hookSpecificOutput": {"additionalContext": "Branch: main"}}
    hooks = {"UserPromptSubmit": [script(f"echo '{json.dumps(word)}'")]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(answer(Text("Fine.")))
        await harness.turn(await harness.session(), "Where are we?")
        assert "Branch: main" in json.dumps(harness.server.requests[0].body["messages"])


async def test_a_stop_hook_continues_the_turn_and_knows_that_it_did(tmp_path, script):
    body = """grep -q '"stop_hook_active": true' "$0.seen" 2>/dev/null && exit 0
tail -n 2 "${0%.sh}.inputs" > "$0.seen"
grep -q '"stop_hook_active": true' "$0.seen" && exit 0
echo 'the tests are red' >&2; exit 2"""
    hooks = {"Stop": [script(body)]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(answer(Text("Done.")), answer(Text("Now it is.")))
        end = await harness.turn(await harness.session(), "Go.")
        assert end.outcome == "completed"
        assert len(harness.server.requests) == 2
        assert "the tests are red" in json.dumps(harness.server.requests[1].body["messages"])
    assert [each["stop_hook_active"] for each in hook_inputs(tmp_path)] == [False, True]


async def test_a_sub_agents_stop_is_an_event_of_its_own(tmp_path, script):
    hooks = {
        "SubagentStop": [script("exit 0", name="sub")],
        "Stop": [script("exit 0", name="stop")],
        "UserPromptSubmit": [script("exit 0", name="prompt")],
    }
    task = {"description": "look", "prompt": "Look.", "subagent_type": "explore"}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(
            answer(Call("task", task)), answer(Text("Seen.")), answer(Text("Done."))
        )
        await harness.turn(await harness.session(), "Go.")
    assert [each["agent"] for each in hook_inputs(tmp_path, "sub")] == ["explore"]
    assert len(hook_inputs(tmp_path, "stop")) == len(hook_inputs(tmp_path, "prompt")) == 1


async def test_hooks_extend_or_refuse_a_summary(tmp_path, script):
    refusing = f"test -e '{tmp_path}/no' && exit 2; echo '{{\"context\": \"keep the port\"}}'"
    hooks = {"PreCompact": [script(refusing, matcher="manual")]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(answer(Text("Hello.")), answer(Text("# Summary")))
        session = await harness.session()
        await harness.turn(session, "Hi")
        (tmp_path / "no").touch()
        before = len(harness.events)
        await harness.runtime.sessions.compaction.start(session.id)
        end = await harness.idle(session, after=before)
        assert end.error is not None
        assert "A hook refused the summary" in end.error.message
        assert len(harness.server.requests) == 1
        (tmp_path / "no").unlink()
        before = len(harness.events)
        await harness.runtime.sessions.compaction.start(session.id, "the names")
        assert (await harness.idle(session, after=before)).outcome == "completed"
        sent = json.dumps(harness.server.requests[1].body["messages"])
        assert "the names" in sent
        assert "keep the port" in sent
    assert hook_inputs(tmp_path)[0]["trigger"] == "manual"


async def test_a_question_runs_notification_hooks(tmp_path, script):
    word = """echo '{"systemMessage": "told you"}'"""
    hooks = {"Notification": [script(word, matcher="permission_prompt")]}
    async with open_harness(tmp_path, hooks=hooks) as harness:
        harness.server.script(
            answer(Call("write", {"file_path": "a", "content": "x"})), answer(Text("Ok."))
        )
        session = await harness.session()
        before = len(harness.events)
        await harness.send(session, "Go.")
        request = await harness.permission_request()
        await harness.until(lambda e: isinstance(e, Notice) and e.message == "told you")
        harness.answer(request, "once")
        await harness.idle(session, after=before)
    assert hook_inputs(tmp_path)[0]["message"].startswith("opencode-py asks about write")
