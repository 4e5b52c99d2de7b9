"""``opencode-py acp`` as an editor drives it, through the official SDK's client."""

import asyncio
import base64
import json
from typing import Any

import pytest
from acp.schema import (
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextResourceContents,
)

from agent.tools.files.diffs import make_diff
from app.acp.tool_content import content_of
from tests.agent.tools.pictures import png
from tests.app.acp.conftest import Desk, Editor, Home, RequestError
from tests.support.harness import GUARD, tool_names
from tests.support.script import Call, Failure, Hold, Reason, Text, Tokens, answer

EDIT = Call("edit", {"file_path": "calc.py", "old_string": "a - b", "new_string": "a + b"})
TOUCH = Call("bash", {"command": "touch made"})
ASKS = {
    "questions": [{"question": "Which way?", "options": [{"label": "left"}, {"label": "right"}]}]
}


async def test_initialize_reports_the_capabilities(home: Home) -> None:
    async with home.desk() as desk:
        result = await desk.agent.initialize(protocol_version=99)
        assert result.protocol_version == 1
        assert result.agent_info is not None
        assert result.agent_info.name == "opencode-py"
        can = result.agent_capabilities
        assert can is not None
        assert can.load_session
        assert can.prompt_capabilities is not None
        assert (can.prompt_capabilities.image, can.prompt_capabilities.audio) == (True, False)
        assert can.session_capabilities is not None
        assert can.session_capabilities.list is not None
        assert result.auth_methods


async def test_text_and_thoughts_stream_before_the_response(desk: Desk) -> None:
    session = await desk.new()
    hold = Hold()
    desk.server.script(answer(Reason("hm"), Text("I lo"), hold, Text("ok \x1b[31mthere.")))
    asking = asyncio.create_task(desk.prompt(session.session_id, "look"))
    await desk.editor.until(lambda editor: editor.text() == "I lo")
    assert not asking.done()
    hold.gate.set()
    done = await asking
    assert done.stop_reason == "end_turn"
    assert desk.editor.text() == "I look ␛[31mthere."
    assert desk.editor.text("agent_thought_chunk") == "hm"
    assert desk.editor.text("user_message_chunk") == ""
    assert [update.title for update in desk.editor.of("session_info_update")] == ["look"]


async def test_an_edit_is_approved_with_its_diff_and_reported_to_its_end(desk: Desk) -> None:
    session = await desk.new()
    desk.server.script(
        answer(Call("read", {"file_path": "calc.py"})), answer(EDIT), answer(Text("Mended."))
    )
    desk.editor.answers = ["once"]
    done = await desk.prompt(session.session_id, "mend it")
    assert done.stop_reason == "end_turn"
    assert "a + b" in (desk.project / "calc.py").read_text()
    call, offered = desk.editor.permission_requests[0]
    assert offered == ["once", "always", "reject"]
    diff = next(content for content in call.content or [] if content.type == "diff")
    path = str(desk.project / "calc.py")
    assert (diff.path, "a - b" in diff.old_text, "a + b" in diff.new_text) == (path, True, True)
    assert [(place.path, place.line) for place in call.locations or []] == [(path, 1)]
    states = desk.editor.states()
    assert ("read", "completed") in states
    assert states[-1] == ("edit", "completed")
    result = {update.tool_call_id for update in desk.editor.of("tool_call")}
    assert call.tool_call_id in result
    assert len(result) == len(desk.editor.of("tool_call")) == 2


@pytest.mark.parametrize(
    ("answers", "made"),
    [
        (["always", "once"], True),
        (["reject"], False),
        ([""], False),
        (["nonsense"], False),
    ],
)
async def test_the_users_reply_decides_a_permission(
    desk: Desk, answers: list[str], *, made: bool
) -> None:
    session = await desk.new()
    desk.server.script(answer(TOUCH), answer(TOUCH), answer(Text("done")))
    desk.editor.answers = list(answers)
    await desk.prompt(session.session_id, "go")
    assert (desk.project / "made").exists() == made
    assert len(desk.editor.permission_requests) == 1  # always covers the second call
    texts = [c.content.text for c in desk.editor.permission_requests[0][0].content or []]
    assert any("touch made" in text for text in texts)


async def test_a_request_that_the_client_cannot_show_is_refused_and_the_turn_continues(
    desk: Desk,
) -> None:
    session = await desk.new()
    desk.server.script(answer(TOUCH), answer(Call("question", ASKS)), answer(Text("left out")))
    unknown = RequestError.method_not_found("session/request_permission")
    desk.editor.answers = [unknown, unknown]
    done = await desk.prompt(session.session_id, "go")
    assert (done.stop_reason, desk.editor.text()) == ("end_turn", "left out")
    assert not (desk.project / "made").exists()
    result = str(desk.server.requests[-1].body["messages"])
    assert "could not ask the user" in result
    assert "Put the question into your answer" in result


async def test_a_cancel_stops_the_turn_and_withdraws_its_request(desk: Desk) -> None:
    session = await desk.new()
    desk.server.script(answer(Text("first"), TOUCH), answer(Text("and on")))
    asking = asyncio.create_task(desk.prompt(session.session_id, "go"))
    await asyncio.wait_for(desk.editor.open_dialogs.wait(), GUARD)
    await desk.agent.cancel(session_id=session.session_id)
    assert (await asking).stop_reason == "cancelled"
    assert not (desk.project / "made").exists()
    done = await desk.prompt(session.session_id, "go on")
    assert (done.stop_reason, desk.editor.text().endswith("and on")) == ("end_turn", True)


async def test_a_cancel_directly_after_the_prompt_cancels_it(desk: Desk) -> None:
    session = await desk.new()
    desk.server.always(answer(Text("never"), Hold()))
    asking = asyncio.create_task(desk.prompt(session.session_id, "go"))
    await asyncio.sleep(0)  # the prompt is sent first
    await desk.agent.cancel(session_id=session.session_id)
    assert (await asyncio.wait_for(asking, GUARD)).stop_reason == "cancelled"


async def test_a_prompt_during_a_turn_steers_it_and_both_get_a_response(desk: Desk) -> None:
    session = await desk.new()
    hold = Hold()
    desk.server.script(
        answer(Text("a"), hold, Call("list", {})), answer(Text("b")), answer(Text("c"))
    )
    first = asyncio.create_task(desk.prompt(session.session_id, "go"))
    await desk.editor.until(lambda editor: editor.text() == "a")
    second = asyncio.create_task(desk.prompt(session.session_id, "and mind this"))
    hold.gate.set()  # whether it comes before or after the end of the turn, it is answered
    done = await asyncio.wait_for(asyncio.gather(first, second), GUARD)
    assert [each.stop_reason for each in done] == ["end_turn", "end_turn"]
    assert "and mind this" in str([request.body for request in desk.server.requests])


async def test_a_sub_agents_request_reaches_the_client(desk: Desk) -> None:
    session = await desk.new()
    desk.server.script(
        answer(Call("task", {"description": "d", "prompt": "p"})),
        answer(TOUCH),
        answer(Text("I did")),
        answer(Text("it did")),
    )
    desk.editor.answers = ["once"]
    await desk.prompt(session.session_id, "go")
    assert (desk.project / "made").exists()
    call = desk.editor.permission_requests[0][0]
    result = [u for u in desk.editor.updates if getattr(u, "tool_call_id", "") == call.tool_call_id]
    assert [update.status for update in result][-1] == "completed"
    assert desk.editor.text() == "it did"


async def test_the_todo_list_is_sent_as_a_plan(desk: Desk) -> None:
    session = await desk.new()
    todos = [
        {"content": "look", "status": "completed", "priority": "high"},
        {"content": "mend", "status": "in_progress", "priority": "low"},
        {"content": "sing", "status": "cancelled", "priority": "low"},
    ]
    desk.server.script(answer(Call("todowrite", {"todos": todos})), answer(Text("ok")))
    await desk.prompt(session.session_id, "go")
    entries = desk.editor.of("plan")[-1].entries
    assert [(e.content, e.status, e.priority) for e in entries] == [
        ("look", "completed", "high"),
        ("mend", "in_progress", "low"),
    ]


@pytest.mark.parametrize(("chosen", "expected"), [("1", "right"), ("skip", ""), ("", "")])
async def test_the_models_question_has_buttons(desk: Desk, chosen: str, expected: str) -> None:
    session = await desk.new()
    desk.server.script(answer(Call("question", ASKS)), answer(Text("on")))
    desk.editor.answers = [chosen]
    await desk.prompt(session.session_id, "go")
    assert desk.editor.permission_requests[0][1] == ["0", "1", "skip"]
    if expected:
        assert "right" in str(desk.server.requests[-1].body["messages"][-1]["content"])
    else:
        assert len(desk.server.requests) == 1
    # Buttons leave no room for an answer in the user's own words.
    assert "question" not in tool_names(desk.server.requests[0].body)


async def test_modes_are_agents_and_models_can_be_chosen(home: Home) -> None:
    home.settings(model="scripted/model-1")
    async with home.desk() as desk:
        session = await desk.new()
        assert session.modes is not None
        assert session.modes.current_mode_id == "build"
        assert {"build", "plan"} <= {mode.id for mode in session.modes.available_modes}
        await desk.agent.set_session_mode(session_id=session.session_id, mode_id="plan")
        await desk.editor.until(lambda e: bool(e.of("current_mode_update")))
        assert desk.editor.of("current_mode_update")[-1].current_mode_id == "plan"
        desk.server.script(answer(EDIT), answer(Text("no")))
        await desk.prompt(session.session_id, "edit")
        assert "a - b" in (home.project / "calc.py").read_text()
        changed = await desk.agent.set_config_option(
            config_id="model", session_id=session.session_id, value="demo/offline"
        )
        assert changed is not None
        values = {option.id: option.current_value for option in changed.config_options}
        assert (values["mode"], values["model"]) == ("plan", "demo/offline")
        with pytest.raises(RequestError, match="no model nowhere"):
            await desk.agent.set_config_option(
                config_id="model", session_id=session.session_id, value="nowhere"
            )
        with pytest.raises(RequestError, match="no agent named nobody"):
            await desk.agent.set_session_mode(session_id=session.session_id, mode_id="nobody")


async def test_the_judge_can_be_chosen_and_its_verdicts_are_sent(home: Home) -> None:
    home.settings(model="scripted/model-1", judge_model="scripted/model-1")
    verdicts = [("allow", "it was asked for"), ("ask", "it was not")]
    commands = ["mkdir one", "mkdir two"]

    def script(body: dict[str, Any]):
        if "You judge one tool call" in str(body["messages"][0]):
            word, reason = verdicts.pop(0)
            return answer(Text(json.dumps({"verdict": word, "reason": reason})))
        if commands:
            return answer(Call("bash", {"command": commands.pop(0)}))
        return answer(Text("done"))

    async with home.desk(Editor(answers=["once"])) as desk:
        session = await desk.new()
        desk.server.always(script)
        changed = await desk.agent.set_config_option(
            config_id="permission_mode", session_id=session.session_id, value="judge"
        )
        assert changed is not None
        values = {option.id: option.current_value for option in changed.config_options}
        assert values["permission_mode"] == "judge"
        await desk.prompt(session.session_id, "make a folder")
        assert (home.project / "one").is_dir()
        assert (home.project / "two").is_dir()
        ((asked, _),) = desk.editor.permission_requests
        assert "Judge: model-1 suggests asking: it was not" in str(asked.content)
        sent = str(desk.editor.of("tool_call_update"))
        assert "allowed by model-1: it was asked for" in sent
        with pytest.raises(RequestError, match="no option permission_mode"):
            await desk.agent.set_config_option(
                config_id="permission_mode", session_id=session.session_id, value="auto"
            )


async def test_an_approved_plan_is_sent_with_the_next_agents_model(home: Home) -> None:
    home.settings(model="scripted/model-1", agent={"build": {"model": "scripted/worker"}})
    async with home.desk() as desk:
        session = await desk.new()
        await desk.agent.set_session_mode(session_id=session.session_id, mode_id="plan")
        desk.server.script(answer(Call("plan_exit", {})), answer(Text("Done.")))
        desk.editor.answers = ["0"]
        await desk.prompt(session.session_id, "plan it")
        assert [r.body["model"] for r in desk.server.requests] == ["model-1", "worker"]

        def result(editor: Editor) -> bool:
            options = [u.config_options for u in editor.of("config_option_update")]
            values = {option.id: option.current_value for option in options[-1]} if options else {}
            return (values.get("mode"), values.get("model")) == ("build", "scripted/worker")

        await desk.editor.until(result)
        assert desk.editor.of("current_mode_update")[-1].current_mode_id == "build"


async def test_past_sessions_are_listed_and_replayed(home: Home) -> None:
    async with home.desk() as desk:
        session = await desk.new()
        home.server.script(
            answer(Reason("hm"), Call("read", {"file_path": "calc.py"})), answer(Text("It adds."))
        )
        await desk.prompt(session.session_id, "what does it do?")
    async with home.desk() as desk:
        listed = await desk.agent.list_sessions(cwd=str(home.project))
        assert [(s.session_id, s.title) for s in listed.sessions] == [
            (session.session_id, "what does it do?")
        ]
        assert (await desk.agent.list_sessions()).sessions == listed.sessions
        await desk.agent.load_session(
            cwd=str(home.project), session_id=session.session_id, mcp_servers=[]
        )
        assert desk.editor.text("user_message_chunk") == "what does it do?"
        assert desk.editor.text("agent_thought_chunk") == "hm"
        assert desk.editor.states() == [("read", "completed")]
        assert desk.editor.text() == "It adds."
        home.server.script(answer(Text(" More.")))
        await desk.prompt(session.session_id, "and?")
        assert desk.editor.text() == "It adds. More."
        assert "what does it do?" in str(home.server.requests[-1].body["messages"])


async def test_resuming_sends_nothing_twice_and_forking_copies(home: Home) -> None:
    async with home.desk() as desk:
        first = (await desk.new()).session_id
        home.server.always(answer(Text("one")))
        await desk.prompt(first, "go")
        where = {"cwd": str(home.project), "session_id": first, "mcp_servers": []}
        copy = await desk.agent.fork_session(**where)
        assert copy.session_id != first
        desk.editor.updates.clear()
        await desk.agent.resume_session(**where)
        await desk.prompt(first, "again")
        assert desk.editor.text() == "one"
        await desk.agent.close_session(session_id=first)
        with pytest.raises(RequestError, match="is not open"):
            await desk.prompt(first, "again")


async def test_content_other_than_text_reaches_the_model(home: Home) -> None:
    vision = {"modalities": {"input": ["text", "image"]}}
    limit = {"context": 100_000, "output": 32_000}
    settings = {"models": {"model-1": {"limit": limit, **vision}}}
    provider = {
        "scripted": {
            "api": "openai-chat",
            "options": {"baseURL": home.server.url, "apiKey": "sk-scripted-0001"},
            **settings,
        }
    }
    home.settings(provider=provider)
    async with home.desk() as desk:
        session = await desk.new()
        home.server.script(answer(Text("seen")))
        uri = (home.project / "calc.py").as_uri()
        await desk.prompt(
            session.session_id,
            "compare ",
            ResourceContentBlock(type="resource_link", name="calc.py", uri=f"{uri}#L1-1"),
            " with ",
            EmbeddedResourceContentBlock(
                type="resource",
                resource=TextResourceContents(uri=uri + ".new", text="not saved yet"),
            ),
            ImageContentBlock(
                type="image", data=base64.b64encode(png(2, 2)).decode(), mime_type="image/png"
            ),
        )
        sent = str(home.server.requests[-1].body["messages"][-1]["content"])
        assert "compare @calc.py#L1-1 with `calc.py.new`" in sent
        assert "1: def add" in sent
        assert "2:     return" not in sent
        assert "not saved yet" in sent
        assert "data:image/png;base64," in sent


async def test_slash_commands_are_offered_and_run(desk: Desk) -> None:
    session = await desk.new()
    await desk.editor.until(lambda editor: bool(editor.of("available_commands_update")))
    offered = desk.editor.of("available_commands_update")[0].available_commands
    assert {"compact", "init"} <= {command.name for command in offered}
    with pytest.raises(RequestError, match="Nothing to compact"):
        await desk.prompt(session.session_id, "/compact")
    desk.server.script(answer(Text("one")), answer(Text("the summary")))
    await desk.prompt(session.session_id, "/usr/bin is full")
    assert "/usr/bin is full" in str(desk.server.requests[0].body["messages"])
    done = await desk.prompt(session.session_id, "/compact the names")
    assert done.stop_reason == "end_turn"
    assert "the names" in str(desk.server.requests[-1].body["messages"])


async def test_the_users_slash_commands_ask_and_are_sent(home: Home) -> None:
    template = "Say what !`touch made` did to $ARGUMENTS."
    home.settings(command={"look": {"template": template, "description": "Look\nclosely"}})
    async with home.desk() as desk:
        session = await desk.new()
        await desk.editor.until(lambda editor: bool(editor.of("available_commands_update")))
        offered = desk.editor.of("available_commands_update")[0].available_commands
        assert ("look", "Look closely") in [(each.name, each.description) for each in offered]
        desk.editor.answers = ["reject", "once"]
        with pytest.raises(RequestError, match="/look was not sent"):
            await desk.prompt(session.session_id, "/look here")
        home.server.script(answer(Text("made it")))
        await desk.prompt(session.session_id, "/look there")
        assert (home.project / "made").exists()
        assert "did to there" in str(home.server.requests[-1].body["messages"])
        result = {update.tool_call_id for update in desk.editor.of("tool_call")}
        assert {call.tool_call_id for call, _ in desk.editor.permission_requests} <= result


async def test_a_cancel_withdraws_the_request_of_a_command(home: Home) -> None:
    home.settings(command={"look": {"template": "Say !`touch made`."}})
    async with home.desk() as desk:
        session = await desk.new()
        asking = asyncio.create_task(desk.prompt(session.session_id, "/look"))
        await asyncio.wait_for(desk.editor.open_dialogs.wait(), GUARD)
        await desk.agent.cancel(session_id=session.session_id)
        assert (await asyncio.wait_for(asking, GUARD)).stop_reason == "cancelled"


async def test_errors_are_sentences(home: Home) -> None:
    home.settings(retry={"attempts": 1, "delay": 1})
    async with home.desk() as desk:
        with pytest.raises(RequestError, match="not absolute"):
            await desk.agent.new_session(cwd="here", mcp_servers=[])
        with pytest.raises(RequestError, match="cannot be opened"):
            await desk.agent.new_session(cwd=str(home.project / "no"), mcp_servers=[])
        with pytest.raises(RequestError, match="ses_none"):
            await desk.agent.load_session(
                cwd=str(home.project), session_id="ses_none", mcp_servers=[]
            )
        with pytest.raises(RequestError, match="not open"):
            await desk.prompt("ses_none", "go")
        session = await desk.new()
        home.server.script(Failure(401, '{"error": {"message": "bad key"}}'))
        with pytest.raises(RequestError, match="bad key") as failed:
            await desk.prompt(session.session_id, "go")
        assert failed.value.code == -32000
        home.server.script(Failure(500))
        with pytest.raises(RequestError, match="scripted failure"):
            await desk.prompt(session.session_id, "go")


async def test_a_limit_is_a_stop_reason(home: Home) -> None:
    home.settings(limits={"tokens": 1000})
    async with home.desk() as desk:
        session = await desk.new()
        home.server.always(answer(Call("list", {}), Tokens(900, 200)))
        done = await desk.prompt(session.session_id, "go")
        assert done.stop_reason == "max_turn_requests"
        used = desk.editor.of("usage_update")[-1]
        assert (used.used, used.size) == (1100, 100_000)


async def test_the_same_usage_is_sent_once(desk: Desk) -> None:
    session = await desk.new()
    desk.server.script(answer(Call("list", {})), answer(Text("done")))
    await desk.prompt(session.session_id, "go")
    assert len(desk.editor.of("usage_update")) == 1


async def test_an_untrusted_folder_is_reported(home: Home) -> None:
    (home.project / "AGENTS.md").write_text("Be brief.\n")
    async with home.desk(Editor()) as desk:
        await desk.new()
        await desk.editor.until(lambda editor: "not trusted" in editor.text())


async def test_a_prompt_is_cancelled_by_the_number_of_its_request(desk: Desk) -> None:
    session = await desk.new()
    hold = Hold()
    desk.server.script(answer(Text("begin"), hold, Text("end")))
    sent: list[object] = []
    connection = desk.agent._conn
    connection.add_observer(lambda event: sent.append(event.message))
    asking = asyncio.create_task(desk.prompt(session.session_id, "go"))
    await desk.editor.until(lambda editor: editor.text() == "begin")
    number = next(m["id"] for m in sent if m.get("method") == "session/prompt")
    await connection.send_notification("$/cancel_request", {"requestId": "unknown"})
    await connection.send_notification("$/cancel_request", {"requestId": number})
    async with asyncio.timeout(GUARD):
        assert (await asking).stop_reason == "cancelled"


async def test_the_model_is_set_by_the_older_method_too(desk: Desk) -> None:
    session = await desk.new()
    connection = desk.agent._conn
    params = {"sessionId": session.session_id, "modelId": "demo/offline"}
    changed = await connection.send_request("session/set_model", params)
    current = {each["id"]: each["currentValue"] for each in changed["configOptions"]}
    assert current["model"] == "demo/offline"
    with pytest.raises(RequestError):
        await connection.send_request("session/set_model", {**params, "modelId": "no/such"})


@pytest.mark.parametrize("content", [b"a\nb", b"a\r\nb\r\n", b"a\r\nb", b"a\nb\n"])
def test_old_text_is_exactly_that_of_the_file(tmp_path, content: bytes) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(content)
    old = content.decode()
    block = make_diff("f.txt", old, old.replace("b", "c"), "modify").block
    (shown,) = content_of([block], str(tmp_path))
    assert (shown.old_text, shown.new_text) == (old, old.replace("b", "c"))


async def test_servers_that_fail_are_named(home: Home) -> None:
    broken = {"type": "local", "command": ["/nowhere/server"]}
    home.settings(mcp={"broken": broken})
    async with home.desk() as desk:
        session = await desk.new()
        desk.server.script(answer(Text("Done.")))
        await desk.prompt(session.session_id, "go")
        assert "The MCP server broken failed" in desk.editor.text("agent_thought_chunk")
