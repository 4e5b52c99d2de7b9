"""Hooks of Claude Code's settings: what they are told, its newer events, and addresses."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.hooks.execution import payload
from agent.hooks.records import Hook, HookCall
from agent.records.events import Notice
from agent.records.messages import Completed, ToolPart
from agent.records.requests import CLAUDE_MODES, PermissionMode
from tests.agent.hooks.conftest import hook_inputs
from tests.support.effects import plain
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

FREE = {"permission": {"bash": "allow", "edit": "allow"}}


def claude_hooks(tmp_path: Path, hooks: dict[str, object]) -> None:
    path = tmp_path / "home/.claude/settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": hooks}))


def private_lines(name: str) -> list[dict]:
    """Return the lines of JSON in a file that others cannot read."""
    assert Path(name).stat().st_mode & 0o077 == 0
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


async def test_a_hook_reads_the_conversation_and_absolute_paths(tmp_path, script) -> None:
    hooks = {"PreToolUse": [script("exit 0", name="pre", matcher="Write")]}
    hooks["Stop"] = [script("exit 0", name="stop")]
    claude_hooks(tmp_path, hooks)
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(
            answer(Call("write", {"file_path": "sub/a.txt", "content": "x"})), answer(Text("Done."))
        )
        session = await harness.session()
        await harness.turn(session, "write it")
        (before,) = hook_inputs(tmp_path, "pre")
        assert before["tool_input"]["file_path"] == str(harness.folder / "sub/a.txt")
        assert before["permission_mode"] == "default"
        (stop,) = hook_inputs(tmp_path, "stop")
        assert stop["transcript_path"] == before["transcript_path"]
        lines = private_lines(stop["transcript_path"])
    roles = [(line["type"], line["message"]["content"][0]["type"]) for line in lines]
    assert roles == [
        ("user", "text"),
        ("assistant", "tool_use"),
        ("user", "tool_result"),
        ("assistant", "text"),
    ]
    call, result = lines[1]["message"]["content"][0], lines[2]["message"]["content"][0]
    assert (call["name"], call["id"]) == ("Write", result["tool_use_id"])
    assert lines[3]["message"]["content"][0]["text"] == "Done."


@pytest.mark.parametrize("mode", CLAUDE_MODES)
async def test_a_hook_reads_the_permission_mode(
    tmp_path: Path, script, mode: PermissionMode
) -> None:
    claude_hooks(tmp_path, {"UserPromptSubmit": [script("exit 0", name="asked")]})
    async with open_harness(tmp_path) as harness:
        harness.server.always(answer(Text("Done.")))
        harness.runtime.permissions.mode = mode
        session = await harness.session()
        await harness.turn(session, "go")
        await harness.runtime.sessions.repository.set_agent(session.id, "plan")
        await harness.turn(session, "plan")
    told = [each["permission_mode"] for each in hook_inputs(tmp_path, "asked")]
    assert told == [CLAUDE_MODES[mode], "plan"]


def test_own_hooks_get_the_arguments_as_the_model_wrote_them() -> None:
    given = {"tool_name": "read", "tool_input": {"file_path": "a", "x": 1}}
    call = HookCall(event="PreToolUse", session_id="s", directory="/p", details=given)
    own = payload(Hook(event="PreToolUse", source="x", command="c"), call)
    assert own["tool_input"] == {"file_path": "a", "x": 1}
    other = payload(Hook(event="PreToolUse", source="x", command="c", uses_claude_names=True), call)
    assert (other["tool_name"], other["tool_input"]) == ("Read", {"file_path": "/p/a", "x": 1})


async def test_the_start_of_a_sub_agent_and_a_completed_task_run_hooks(tmp_path, script) -> None:
    word = {"hookSpecificOutput": {"additionalContext": "Only look at src."}}
    claude_hooks(
        tmp_path,
        {
            "SubagentStart": [
                script(f"echo '{json.dumps(word)}'", name="start", matcher="explore"),
                script("exit 0", name="other", matcher="general"),
            ],
            "TaskCompleted": [script("exit 0", name="task")],
        },
    )
    todo = {"content": "build", "status": "in_progress", "priority": "high"}
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(
            answer(Call("todowrite", {"todos": [todo]})),
            answer(Call("todowrite", {"todos": [{**todo, "status": "completed"}]})),
            answer(Call("task", {"description": "d", "prompt": "p", "subagent_type": "explore"})),
            answer(Text("found")),
            answer(Text("Done.")),
        )
        await harness.turn(await harness.session(), "go")
        assert "Only look at src." in json.dumps(harness.server.requests[3].body["messages"])
    (start,) = hook_inputs(tmp_path, "start")
    assert start["agent_type"] == "explore"
    (task,) = hook_inputs(tmp_path, "task")
    assert task["task_subject"] == "build"
    assert not (tmp_path / "other.inputs").exists()


@asynccontextmanager
async def address(status: int, body: str) -> AsyncIterator[tuple[str, list[str]]]:
    """Yield the address of a server that gives one response, and the requests that it got."""
    seen: list[str] = []

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(x for x in head.lower().splitlines() if x.startswith("content-length"))
        content = (await reader.readexactly(int(length.split(":")[1]))).decode()
        seen.append(f"{head}{content}")
        text = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        writer.write(text.encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1")
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook", seen


async def test_an_address_can_refuse_a_call(tmp_path) -> None:
    word = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}
    async with address(200, json.dumps(word)) as (url, seen):
        hook = {"type": "http", "url": url, "headers": {"X-A": "a $HOME ${SHELL}"}}
        hook["allowedEnvVars"] = ["HOME"]
        claude_hooks(tmp_path, {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]})
        async with open_harness(tmp_path, **FREE) as harness:
            harness.server.script(answer(Call("bash", {"command": "ls"})), answer(Text("Done.")))
            session = await harness.session()
            await harness.turn(session, "go")
            (call,) = [p for p in await harness.parts(session) if isinstance(p, ToolPart)]
    assert call.state.status == "failed"
    (request,) = seen
    assert json.loads(request.partition("\r\n\r\n")[2])["tool_input"]["command"] == "ls"
    assert "x-a: a /" in request.lower()


async def test_an_address_that_fails_is_reported(tmp_path) -> None:
    async with address(500, "oops") as (url, _):
        claude_hooks(tmp_path, {"Stop": [{"hooks": [{"type": "http", "url": url}]}]})
        async with open_harness(tmp_path, **FREE) as harness:
            harness.server.script(answer(Text("Done.")))
            assert (await harness.turn(await harness.session(), "go")).outcome == "completed"
            said = [getattr(event, "message", "") for event in harness.events]
    assert any("status 500" in str(each) for each in said)


async def test_forms_of_hooks_in_a_projects_file(tmp_path: Path) -> None:
    """A program with arguments, one in the background, one that cannot start, and one whose
    condition is not met: none of them refuses the call."""
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    plain(folder, "init", "-q")
    write = 'echo "$1" > "$2"'
    forms = [
        {"command": "sh", "args": ["-c", write, "x", "one two", "${CLAUDE_PROJECT_DIR}/args"]},
        {"command": 'echo "$CLAUDE_PROJECT_DIR" > "$CLAUDE_PROJECT_DIR/root"'},
        {"command": 'exit 2; echo > "$CLAUDE_PROJECT_DIR/late"', "async": True},
        {"command": "no-such-program"},
        {"command": "exit 2", "if": "Bash(rm *)"},
    ]
    hooks = [{"matcher": "Bash", "hooks": [{"type": "command", **each} for each in forms]}]
    (folder / ".claude").mkdir()
    (folder / ".claude/settings.json").write_text(json.dumps({"hooks": {"PreToolUse": hooks}}))
    async with open_harness(tmp_path, opened="sub", trust_once=True, **FREE) as harness:
        harness.server.script(answer(Call("bash", {"command": "pwd"})), answer(Text("Done.")))
        session = await harness.session()
        await harness.turn(session, "go")
        (part,) = await harness.tools(session)
        notices = [event.message for event in harness.events if isinstance(event, Notice)]
    assert isinstance(part.state, Completed)
    assert (folder / "args").read_text() == "one two\n"
    assert (folder / "root").read_text() == f"{folder}\n"
    assert ["no-such-program" in notice for notice in notices] == [True]
