"""The lines of ``run --format opencode`` and ``--format claude``, as readers of both parse them."""

import json
import subprocess

import pytest

from tests.app.cli.run.process import run
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Call, Cut, Failure, Reason, Text, Tokens, answer

PART_FIELDS = {"id", "sessionID", "messageID", "type"}


def lines(done: subprocess.CompletedProcess[bytes]) -> list[dict]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def work(scripted: ServerThread) -> None:
    scripted.server.script(
        answer(
            Reason("hm"),
            Text("I look."),
            Call("read", {"file_path": "calc.py"}),
            Call("bash", {"command": "touch made"}),
            Tokens(100, 10),
        ),
        answer(Text("Done."), Tokens(200, 20)),
    )


def test_opencodes_lines_have_a_part_each(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    work(scripted)
    events = lines(run(installed, "go", "--format", "opencode"))
    assert [event["type"] for event in events] == [
        "step_start", "text", "tool_use", "tool_use", "step_finish",
        "step_start", "text", "step_finish",
    ]  # fmt: skip
    (session,) = {event["sessionID"] for event in events}
    for event in events:
        assert {"type", "timestamp", "sessionID", "part"} == event.keys()
        assert isinstance(event["timestamp"], int)
        assert event["timestamp"] > 1_600_000_000_000, "milliseconds"
        assert event["part"].keys() >= PART_FIELDS
        assert event["part"]["sessionID"] == session
    types = {"step_start": "step-start", "tool_use": "tool", "step_finish": "step-finish"}
    assert all(e["part"]["type"] == types.get(e["type"], e["type"]) for e in events)
    assert len({event["part"]["messageID"] for event in events}) == 2


def test_opencodes_tool_calls_are_complete(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    work(scripted)
    done = run(installed, "go", "--format", "opencode")
    calls = [event["part"] for event in lines(done) if event["type"] == "tool_use"]
    read, refused = sorted((call["state"] for call in calls), key=lambda state: state["status"])
    assert {call["tool"] for call in calls} == {"read", "bash"}
    assert (read["status"], read["input"]) == ("completed", {"filePath": "calc.py"})
    assert "return a - b" in read["output"]
    assert isinstance(read["title"], str)
    assert isinstance(read["metadata"], dict)
    assert read["time"]["start"] <= read["time"]["end"]
    assert (refused["status"], refused["input"]) == ("error", {"command": "touch made"})
    assert "No one is available" in refused["error"]
    assert done.returncode == 3


def test_opencodes_steps_end_with_reason_tokens_and_cost(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    work(scripted)
    done = run(installed, "go", "--format", "opencode")
    first, last = (event["part"] for event in lines(done) if event["type"] == "step_finish")
    assert (first["reason"], last["reason"]) == ("tool-calls", "stop")
    assert isinstance(first["cost"], int | float)
    assert isinstance(first["snapshot"], str)
    assert first["tokens"] == {
        "total": 110,
        "input": 100,
        "output": 10,
        "reasoning": 0,
        "cache": {"read": 0, "write": 0},
    }


def test_opencodes_reasoning_comes_on_request(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    work(scripted)
    events = lines(run(installed, "go", "--format", "opencode", "--thinking"))
    (reasoning,) = (event["part"] for event in events if event["type"] == "reasoning")
    assert reasoning["text"] == "hm"
    assert reasoning["time"].keys() == {"start", "end"}


@pytest.mark.parametrize(
    ("failure", "name"),
    [
        (Failure(401, '{"error": {"message": "bad key"}}'), "ProviderAuthError"),
        (Failure(400, '{"error": {"message": "bad key"}}'), "APIError"),
    ],
)
def test_opencodes_error_has_a_name_and_a_message(
    installed: InstalledProgram, scripted: ServerThread, failure: Failure, name: str
) -> None:
    scripted.server.always(failure)
    done = run(installed, "go", "--format", "opencode")
    assert done.returncode == 1
    (error,) = (event for event in lines(done) if event["type"] == "error")
    assert error["error"]["name"] == name
    assert "bad key" in error["error"]["data"]["message"]


def test_claudes_lines_are_init_messages_and_a_result(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    work(scripted)
    events = lines(run(installed, "go", "--format", "claude"))
    first, *messages, result = events
    assert (first["type"], first["subtype"]) == ("system", "init")
    assert first["cwd"] == str(installed.project)
    assert {"Read", "Bash", "Edit", "Task"} <= set(first["tools"])
    assert first["model"]
    assert (first["permissionMode"], first["mcp_servers"]) == ("default", [])
    (session,) = {event["session_id"] for event in events}
    assert session.startswith("ses_")
    assert len({event["uuid"] for event in events}) == len(events)
    blocks = [(m["type"], block) for m in messages for block in m["message"]["content"]]
    kinds = [(kind, block["type"]) for kind, block in blocks]
    assert kinds[:2] == [("assistant", "thinking"), ("assistant", "text")]
    assert sorted(kinds[2:-1]) == [("assistant", "tool_use")] * 2 + [("user", "tool_result")] * 2
    assert blocks[-1][1] == {"type": "text", "text": "Done."}
    for message in messages:
        assert message["parent_tool_use_id"] is None
        if message["type"] == "assistant":
            assert {"id", "model", "role", "content", "usage"} <= message["message"].keys()
    assert result["type"] == "result"


def test_claudes_lines_have_the_usage_of_their_response(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    work(scripted)
    events = lines(run(installed, "go", "--format", "claude"))
    messages = [event["message"] for event in events if event["type"] == "assistant"]
    used = {each["id"]: each["usage"] for each in messages}
    assert [(one["input_tokens"], one["output_tokens"]) for one in used.values()] == [
        (100, 10),
        (200, 20),
    ]
    assert all(each["usage"] == used[each["id"]] for each in messages)


def test_claudes_lines_leave_out_a_discarded_attempt(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script((Reason("lost"), Text("lost"), Cut()), answer(Text("whole")))
    events = lines(run(installed, "go", "--format", "claude"))
    blocks = [b for e in events if e["type"] == "assistant" for b in e["message"]["content"]]
    assert blocks == [{"type": "text", "text": "whole"}]


def test_claudes_calls_have_its_names_and_their_results(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    work(scripted)
    events = lines(run(installed, "go", "--format", "claude"))
    blocks = [b for e in events if "message" in e for b in e["message"]["content"]]
    calls = {block["id"]: block for block in blocks if block["type"] == "tool_use"}
    results = {b["tool_use_id"]: b for b in blocks if b["type"] == "tool_result"}
    assert calls.keys() == results.keys()
    by_name = {call["name"]: (call["input"], results[id_]) for id_, call in calls.items()}
    assert by_name["Read"][0] == {"file_path": "calc.py"}
    assert by_name["Read"][1]["is_error"] is False
    assert "return a - b" in by_name["Read"][1]["content"]
    assert by_name["Bash"][1]["is_error"] is True
    (denied,) = events[-1]["permission_denials"]
    assert (denied["tool_name"], denied["tool_input"]) == ("Bash", {"command": "touch made"})
    assert denied["tool_use_id"] in calls


def test_claudes_result_sums_up(installed: InstalledProgram, scripted: ServerThread) -> None:
    work(scripted)
    result = lines(run(installed, "go", "--format", "claude"))[-1]
    assert (result["subtype"], result["is_error"], result["result"]) == ("success", False, "Done.")
    assert (result["num_turns"], result["stop_reason"]) == (2, "end_turn")
    assert result["usage"] == {
        "input_tokens": 300,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 30,
    }
    assert isinstance(result["total_cost_usd"], int | float)
    (used,) = result["modelUsage"].values()
    assert (used["inputTokens"], used["outputTokens"]) == (300, 30)
    assert 0 <= result["duration_api_ms"] <= result["duration_ms"]


@pytest.mark.parametrize(
    ("words", "code", "subtype"),
    [
        ((), 1, "error_during_execution"),
        (("--max-steps", "1"), 4, "error_max_turns"),
    ],
)
def test_claudes_result_of_a_failed_run_is_an_error(
    installed: InstalledProgram,
    scripted: ServerThread,
    words: tuple[str, ...],
    code: int,
    subtype: str,
) -> None:
    look = answer(Call("list", {}))
    scripted.server.always(look if words else Failure(400, '{"error": {"message": "no"}}'))
    done = run(installed, "go", "--format", "claude", *words)
    result = lines(done)[-1]
    assert (done.returncode, result["subtype"], result["is_error"]) == (code, subtype, True)
    assert result["result"] == result["errors"][0] != ""


def test_claudes_result_alone(installed: InstalledProgram, scripted: ServerThread) -> None:
    work(scripted)
    (result,) = lines(run(installed, "go", "--output-format", "json"))
    assert (result["type"], result["result"]) == ("result", "Done.")


def streamed(events: list[dict]) -> list[list[dict]]:
    """Return the events of each streamed message, which begin and end as they should."""
    found: list[list[dict]] = []
    for event in (e["event"] for e in events if e["type"] == "stream_event"):
        if event["type"] == "message_start":
            found.append([])
        found[-1].append(event)
    for message in found:
        assert [event["type"] for event in message[-2:]] == ["message_delta", "message_stop"]
    return found


def blocks_of(message: list[dict]) -> list[dict]:
    """Return the blocks of a streamed message, assembled as readers of the API do."""
    blocks: list[dict] = []
    is_open = False
    for event in message[1:-2]:
        kind = event["type"].removeprefix("content_block_")
        assert event["index"] == len(blocks) - is_open, "blocks are counted from 0"
        assert is_open == (kind != "start"), "one block is open at a time"
        if kind == "start":
            blocks.append({**event["content_block"], "json": ""})
        elif kind == "delta":
            delta = event["delta"]
            name = delta["type"].removesuffix("_delta")
            key, value = ("json", "partial_json") if name == "input_json" else (name, name)
            blocks[-1][key] += delta[value]
        is_open = kind != "stop"
    return blocks


def test_claudes_partial_messages(installed: InstalledProgram, scripted: ServerThread) -> None:
    work(scripted)
    events = lines(run(installed, "go", "--format", "claude", "--deltas"))
    first, last = streamed(events)
    thinking, text, *calls = blocks_of(first)
    assert thinking == {"type": "thinking", "thinking": "hm", "signature": "", "json": ""}
    assert text == {"type": "text", "text": "I look.", "json": ""}
    said = [b for e in events if e["type"] == "assistant" for b in e["message"]["content"]]
    whole = {block["id"]: block for block in said if block["type"] == "tool_use"}
    assert [json.loads(call["json"]) for call in calls] == [
        whole[call["id"]]["input"] for call in calls
    ]
    assert [call["name"] for call in calls] == ["Read", "Bash"]
    assert [block["text"] for block in blocks_of(last)] == ["Done."]
    assert [each[-2]["delta"]["stop_reason"] for each in (first, last)] == ["tool_use", "end_turn"]
    assert [each[-2]["usage"]["output_tokens"] for each in (first, last)] == [10, 20]
    begun = [each[0]["message"] for each in (first, last)]
    assert [each["id"] for each in begun] == list(
        dict.fromkeys(e["message"]["id"] for e in events if e["type"] == "assistant")
    )
    assert all(each["content"] == [] and each["model"] for each in begun)
    # The complete lines of a response come before its end.
    kinds = [e["event"]["type"] if e["type"] == "stream_event" else e["type"] for e in events]
    assert kinds.index("assistant") < kinds.index("message_stop") < kinds.index("user")


def test_a_discarded_attempt_begins_its_streamed_message_anew(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script((Reason("lost"), Text("lost"), Cut()), answer(Text("whole")))
    events = lines(run(installed, "go", "--format", "claude", "--deltas"))
    parts = [e["event"] for e in events if e["type"] == "stream_event"]
    starts = [at for at, event in enumerate(parts) if event["type"] == "message_start"]
    assert len(starts) == 2
    assert [block["text"] for block in blocks_of(parts[starts[-1] :])] == ["whole"]


def test_a_sub_agent_is_part_of_claudes_lines_only(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    task = answer(Call("task", {"description": "d", "prompt": "p"}))
    script = (task, answer(Text("from the child")), answer(Text("end")))
    scripted.server.script(*script)
    events = lines(run(installed, "go", "--format", "claude"))
    blocks = [(e, b) for e in events if "message" in e for b in e["message"]["content"]]
    (call,) = (b["id"] for _, b in blocks if b["type"] == "tool_use")
    (child,) = (e for e, b in blocks if b.get("text") == "from the child")
    assert child["parent_tool_use_id"] == call
    scripted.server.script(*script)
    events = lines(run(installed, "go", "--format", "opencode"))
    assert [e["part"]["text"] for e in events if e["type"] == "text"] == ["end"]
    (tool,) = (e["part"] for e in events if e["type"] == "tool_use")
    assert tool["state"]["metadata"]["sessionId"].startswith("ses_")


@pytest.mark.parametrize("words", [("-m", "nowhere/x"), ("-s", "ses_nothing")])
def test_a_run_that_cannot_begin_is_an_error_in_every_format(
    installed: InstalledProgram, scripted: ServerThread, words: tuple[str, ...]
) -> None:
    (end,) = lines(done := run(installed, "go", *words, "--format", "json"))
    assert (end["type"], end["outcome"], end["code"]) == ("end", "failed", 1)
    assert end["error"]["message"] in done.stderr.decode()
    (error,) = lines(run(installed, "go", *words, "--format", "opencode"))
    assert error["error"]["data"]["message"] == end["error"]["message"]
    (result,) = lines(run(installed, "go", *words, "--format", "claude"))
    assert (result["type"], result["is_error"]) == ("result", True)
    assert result["result"] == end["error"]["message"]
