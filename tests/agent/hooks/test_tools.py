"""Hooks on tool calls, run for real through the pipeline."""

import json

import pytest

from agent.hooks.execution import as_named, payload
from agent.hooks.records import Hook, HookCall
from agent.records.messages import Completed, Failed
from tests.agent.hooks.conftest import hook_inputs
from tests.agent.hooks.tool_runs import ECHO, run
from tests.support.processes import gone, pids_in
from tests.support.script import Call, answer

WRITE = answer(Call("write", {"file_path": "a.txt", "content": "x\n"}))


async def test_hooks_receive_a_call_and_its_result(tmp_path, script):
    hooks = {
        "PreToolUse": [script("exit 0", name="pre", matcher="Bash")],
        "PostToolUse": [script("exit 0", name="post", matcher="bash|write")],
    }
    _, (part,), _, notices = await run(tmp_path, hooks, ECHO)
    assert isinstance(part.state, Completed)
    assert not notices
    (pre,), (post,) = hook_inputs(tmp_path, "pre"), hook_inputs(tmp_path, "post")
    assert (pre["hook_event_name"], pre["tool_name"]) == ("PreToolUse", "bash")
    assert pre["tool_input"] == {"command": "echo one"}
    assert pre["cwd"] == str(tmp_path / "project")
    assert post["tool_response"]["output"].startswith("one")
    assert post["tool_response"]["exit_code"] == 0


@pytest.mark.parametrize(
    ("matcher", "known_as"),
    [("MultiEdit", "multiedit"), ("multi_?edit", "multiedit"), ("Edit", "edit"), ("", "edit")],
)
async def test_hooks_know_a_list_of_edits_by_its_former_tool(tmp_path, script, matcher, known_as):
    hooks = {"PreToolUse": [script("echo no >&2; exit 2", matcher=matcher)]}
    edits = [{"old_string": "", "new_string": "x"}]
    many = answer(Call("edit", {"file_path": "a.txt", "edits": edits}))
    _, (part,), _, _ = await run(tmp_path, hooks, many)
    assert isinstance(part.state, Failed)
    (seen,) = hook_inputs(tmp_path)
    assert (seen["tool_name"], seen["tool_input"]["edits"]) == (known_as, edits)


async def test_a_single_edit_is_no_call_of_the_former_tool(tmp_path, script):
    hooks = {"PreToolUse": [script("exit 2", matcher="MultiEdit")]}
    single = {"file_path": "a.txt", "old_string": "", "new_string": "x"}
    _, (part,), _, _ = await run(
        tmp_path, hooks, answer(Call("edit", single)), permission={"edit": "allow"}
    )
    assert isinstance(part.state, Completed)


@pytest.mark.parametrize(
    ("matcher", "known_as"),
    [("MultiEdit", "MultiEdit"), ("Edit", "Edit"), ("Edit|MultiEdit|Write", "MultiEdit")],
)
def test_hooks_of_claude_code_get_the_name_that_they_match(matcher, known_as):
    hook = Hook(
        event="PreToolUse", source="x", command="x", matcher=matcher, uses_claude_names=True
    )
    call = HookCall(
        event="PreToolUse",
        session_id="s",
        directory="/",
        about="edit",
        former="multiedit",
        details={"tool_name": "edit"},
    )
    assert payload(hook, as_named(hook, call))["tool_name"] == known_as


async def test_exit_code_two_blocks_with_standard_error_as_the_reason(tmp_path, script):
    hooks = {"PreToolUse": [script("echo 'not on a Friday' >&2; exit 2")]}
    end, (part,), _, _ = await run(tmp_path, hooks, ECHO)
    assert end.outcome == "completed"
    assert isinstance(part.state, Failed)
    assert part.state.kind == "denied"
    assert part.state.error == "A hook refused this call: not on a Friday"


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("echo oops >&2; exit 1", "failed (exit code 1): oops"),
        ("kill -9 $$", "SIGKILL"),
        ("echo '{broken'", "begins like JSON but is not"),
        ("exec sleep 30", "took longer than 0.2 seconds"),
    ],
)
async def test_a_failing_hook_blocks_before_a_call_and_is_only_reported_after_it(
    tmp_path, script, body, word
):
    before = {"PreToolUse": [script(body, timeout=0.2 if "sleep" in body else 0)]}
    (tmp_path / "a").mkdir()
    _, (part,), _, notices = await run(tmp_path / "a", before, ECHO)
    assert isinstance(part.state, Failed)
    assert word in part.state.error
    assert word in notices[0]
    after = {"PostToolUse": [script(body, timeout=0.2 if "sleep" in body else 0)]}
    (tmp_path / "b").mkdir()
    _, (part,), _, notices = await run(tmp_path / "b", after, ECHO)
    assert isinstance(part.state, Completed)
    assert word in notices[0]


async def test_rewritten_arguments_are_checked_again_and_run(tmp_path, script):
    changed = json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "echo two"}}})
    hooks = {"PreToolUse": [script(f"echo '{changed}'")]}
    _, (part,), _, _ = await run(tmp_path, hooks, ECHO)
    assert isinstance(part.state, Completed)
    assert part.state.output.startswith("two")
    assert part.state.input == {"command": "echo two"}


async def test_rewritten_arguments_that_do_not_fit_fail(tmp_path, script):
    hooks = {"PreToolUse": [script("""echo '{"input": {"comand": "x"}}'""")]}
    _, (part,), _, _ = await run(tmp_path, hooks, ECHO)
    assert isinstance(part.state, Failed)
    assert part.state.kind == "invalid"


async def test_a_rewritten_command_meets_the_rules(tmp_path, script):
    hooks = {"PreToolUse": [script("""echo '{"input": {"command": "rm x"}}'""")]}
    rules = {"bash": {"rm *": "deny"}}
    _, (part,), _, _ = await run(tmp_path, hooks, ECHO, permission=rules)
    assert isinstance(part.state, Failed)
    assert part.state.kind == "denied"


async def test_allow_saves_a_question_that_no_rule_asks(tmp_path, script):
    hooks = {"PreToolUse": [script("""echo '{"decision": "allow"}'""", matcher="Write")]}
    _, (part,), asked, _ = await run(tmp_path, hooks, WRITE)
    assert isinstance(part.state, Completed)
    assert not asked


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("action", ["ask", "deny"])
async def test_allow_never_overrides_a_rule(tmp_path, script, event, action):
    hooks = {event: [script("""echo '{"decision": "allow"}'""")]}
    reply = "reject" if action == "ask" else None
    _, (part,), asked, _ = await run(
        tmp_path, hooks, WRITE, reply=reply, permission={"edit": action}
    )
    assert isinstance(part.state, Failed)
    assert bool(asked) == (action == "ask")


async def test_deny_of_a_hook_overrides_an_allow_rule(tmp_path, script):
    hooks = {"PreToolUse": [script("""echo '{"decision": "block", "reason": "no"}'""")]}
    _, (part,), asked, _ = await run(tmp_path, hooks, WRITE, permission={"*": "allow"})
    assert isinstance(part.state, Failed)
    assert not asked


async def test_ask_of_a_hook_overrides_an_allow_rule(tmp_path, script):
    word = json.dumps({"decision": "ask", "reason": "look twice"})
    hooks = {"PreToolUse": [script(f"echo '{word}'")]}
    _, (part,), (asked,), _ = await run(
        tmp_path, hooks, WRITE, reply="once", permission={"*": "allow"}
    )
    assert isinstance(part.state, Completed)
    assert [n.reason for n in asked.request.needs if n.action == "ask"] == ["look twice"]


async def test_a_permission_hook_answers_before_the_user_is_asked(tmp_path, script):
    word = {"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "ask me later"}}}
    hooks = {"PermissionRequest": [script(f"echo '{json.dumps(word)}'", matcher="write")]}
    _, (part,), asked, _ = await run(tmp_path, hooks, WRITE)
    assert isinstance(part.state, Failed)
    assert part.state.error == "A hook refused this call: ask me later"
    assert not asked


async def test_the_strictest_of_several_hooks_counts_with_its_reason(tmp_path, script):
    hooks = {
        "PreToolUse": [
            script("""echo '{"decision": "allow"}'""", name="one"),
            script("echo never >&2; exit 2", name="two"),
        ]
    }
    _, (part,), _, _ = await run(tmp_path, hooks, WRITE)
    assert isinstance(part.state, Failed)
    assert part.state.error.endswith("never")


async def test_a_hook_after_a_call_can_add_context_replace_output_and_end_the_turn(
    tmp_path, script
):
    word = {
        "context": "mind the gap",
        "output": "hidden",
        "continue": False,
        "stopReason": "enough",
    }
    hooks = {"PostToolUse": [script(f"echo '{json.dumps(word)}'")]}
    end, (part,), _, _ = await run(tmp_path, hooks, ECHO)
    assert end.outcome == "rejected"
    assert isinstance(part.state, Completed)
    assert part.state.output == "hidden"
    assert part.state.reminders == (
        "A hook that the user configured objects to the bash call: enough",
        "A hook that the user configured adds to the bash call: mind the gap",
    )


async def test_hooks_receive_a_failed_call(tmp_path, script):
    hooks = {"PostToolUseFailure": [script("""echo '{"context": "try b.txt"}'""")]}
    missing = answer(Call("read", {"file_path": "a.txt"}))
    _, (part,), _, _ = await run(tmp_path, hooks, missing)
    assert isinstance(part.state, Failed)
    assert part.state.reminders == (
        "A hook that the user configured adds to the read call: try b.txt",
    )
    assert "a.txt" in hook_inputs(tmp_path)[0]["error"]


async def test_later_hooks_receive_the_rewritten_arguments(tmp_path, script):
    rewritten = {"file_path": "b.txt"}
    hooks = {
        "PreToolUse": [script(f"""echo '{json.dumps({"input": rewritten})}'""", name="pre")],
        "PermissionRequest": [script("""echo '{"decision": "allow"}'""", name="ask")],
        "PostToolUseFailure": [script("exit 0", name="failed")],
    }
    read = answer(Call("read", {"file_path": "a.txt"}))
    _, (part,), _, _ = await run(tmp_path, hooks, read)
    assert isinstance(part.state, Failed)
    assert part.state.input == rewritten
    assert [sent["tool_input"] for sent in hook_inputs(tmp_path, "failed")] == [rewritten]

    (tmp_path / "ask").mkdir()
    changed = {"file_path": "b.txt", "content": "y"}
    hooks["PreToolUse"] = [script(f"""echo '{json.dumps({"input": changed})}'""", name="pre")]
    _, (part,), asked, _ = await run(tmp_path / "ask", hooks, WRITE)
    assert isinstance(part.state, Completed)
    assert not asked
    assert [sent["tool_input"] for sent in hook_inputs(tmp_path, "ask")] == [changed]


async def test_a_hook_sees_no_api_key_and_runs_in_the_folder(tmp_path, script):
    body = f"env > '{tmp_path}/env'; pwd > '{tmp_path}/pwd'"
    await run(tmp_path, {"PreToolUse": [script(body)]}, ECHO)
    variables = (tmp_path / "env").read_text()
    assert "CLAUDE_PROJECT_DIR" in variables
    assert "PAGER=cat" in variables
    assert (tmp_path / "pwd").read_text().strip() == str(tmp_path / "project")


async def test_processes_of_a_late_hook_end_with_it(tmp_path, script):
    pids = tmp_path / "pids"
    body = f"sleep 1000 & echo $$ $! > '{pids}'; wait"
    hooks = {"PostToolUse": [script(body, timeout=1)]}
    await run(tmp_path, hooks, ECHO)
    assert len(pids_in(pids, 2)) == 2
    assert all(map(gone, pids_in(pids, 2)))
