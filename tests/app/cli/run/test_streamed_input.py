"""``run --input-format stream-json``, driven as Claude Code's SDKs drive their program."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.cli.run.process import GUARD, LAUNCHER, run
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Call, Text, answer

SDK = (
    "--output-format", "stream-json", "--verbose", "--system-prompt", "",
    "--permission-prompt-tool", "stdio", "--input-format", "stream-json",
)  # fmt: skip
"""The options that the SDK for Python passes: neither a command nor -p."""

Line = dict[str, Any]


class Caller:
    """The program at the other end of standard input and output."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._requests = 0
        self._passed: list[Line] = []
        """Lines that came before the response to a control request."""

    def send(self, **line: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def prompt(self, content: Any) -> None:
        self.send(type="user", message={"role": "user", "content": content})

    def lines(self) -> Iterator[Line]:
        while self._passed:
            yield self._passed.pop(0)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def until(self, kind: str) -> list[Line]:
        """Return the lines up to the first of the *kind*."""
        found: list[Line] = []
        for line in self.lines():
            found.append(line)
            if line["type"] == kind:
                return found
            assert kind != "result" or line["type"] != "control_request", "nobody answers it"
        raise AssertionError(found)

    def turn(self, content: Any) -> list[Line]:
        self.prompt(content)
        return self.until("result")

    def control(self, subtype: str, **fields: Any) -> Line:
        """Send a control request and return its response."""
        self._requests += 1
        request_id = f"req_{self._requests}"
        request = {"subtype": subtype, **fields}
        self.send(type="control_request", request_id=request_id, request=request)
        *self._passed, last = self.until("control_response")
        response = last["response"]
        assert response["request_id"] == request_id
        return response

    def asked(self) -> Line:
        return self.until("control_request")[-1]

    def reply(self, request: Line, **answer: Any) -> None:
        response = {"subtype": "success", "request_id": request["request_id"], "response": answer}
        self.send(type="control_response", response=response)

    def allow(self, request: Line, **changes: Any) -> None:
        given = {**request["request"]["input"], **changes.pop("input", {})}
        self.reply(request, behavior="allow", updatedInput=given, **changes)

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(GUARD)


@pytest.fixture
def caller(installed: InstalledProgram, scripted: ServerThread) -> Iterator[Caller]:
    del scripted
    with subprocess.Popen(
        [*LAUNCHER[:-1], *SDK], cwd=installed.project, env=installed.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        yield Caller(process)
        process.kill()


def said(lines: list[Line]) -> list[str]:
    blocks = [b for one in lines if one["type"] == "assistant" for b in one["message"]["content"]]
    return [block["text"] for block in blocks if block["type"] == "text"]


def test_each_message_is_a_turn_of_one_session(caller: Caller, scripted: ServerThread) -> None:
    scripted.server.script(answer(Text("first")), answer(Text("second")))
    assert caller.control("initialize", hooks=None)["subtype"] == "success"
    one, two = caller.turn("one"), caller.turn([{"type": "text", "text": "two"}])
    assert (said(one), said(two)) == (["first"], ["second"])
    assert one[-1]["session_id"] == two[-1]["session_id"]
    assert (two[-1]["num_turns"], two[-1]["result"]) == (1, "second")
    assert "first" in str(scripted.server.requests[1].body["messages"])
    assert caller.end() == 0


def test_lines_of_a_file_are_prompts_too(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("one")), answer(Text("two")))
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "go"}})
    words = ("-p", "--output-format", "stream-json", "--input-format", "stream-json")
    done = run(installed, *words, given=f"{line}\n\nno JSON\n{line}")
    results = [json.loads(each) for each in done.stdout.splitlines()]
    assert [each["result"] for each in results if each["type"] == "result"] == ["one", "two"]
    assert b"is not a JSON object" in done.stderr
    assert done.returncode == 0


def test_the_caller_allows_a_call(
    caller: Caller, scripted: ServerThread, installed: InstalledProgram
) -> None:
    command = answer(Call("bash", {"command": "touch made"}))
    scripted.server.script(command, answer(Text("done")))
    caller.prompt("go")
    request = caller.asked()
    asked = request["request"]
    assert (asked["subtype"], asked["tool_name"]) == ("can_use_tool", "Bash")
    assert asked["input"]["command"] == "touch made"
    caller.allow(request)
    rest = caller.until("result")
    assert rest[-1]["permission_denials"] == []
    assert (installed.project / "made").exists()
    assert caller.end() == 0


def test_the_caller_denies_a_call_with_a_reason(
    caller: Caller, scripted: ServerThread, installed: InstalledProgram
) -> None:
    scripted.server.script(answer(Call("bash", {"command": "touch made"})), answer(Text("done")))
    caller.prompt("go")
    caller.reply(caller.asked(), behavior="deny", message="use a branch")
    (denied,) = caller.until("result")[-1]["permission_denials"]
    assert denied["tool_name"] == "Bash"
    assert not (installed.project / "made").exists()
    assert "use a branch" in str(scripted.server.requests[1].body["messages"])
    assert caller.end() == 0


def test_the_caller_changes_a_command(
    caller: Caller, scripted: ServerThread, installed: InstalledProgram
) -> None:
    scripted.server.script(answer(Call("bash", {"command": "touch made"})), answer(Text("done")))
    caller.prompt("go")
    caller.allow(caller.asked(), input={"command": "touch other"})
    caller.until("result")
    assert (installed.project / "other").exists()
    assert not (installed.project / "made").exists()


def test_changed_arguments_of_another_tool_are_refused(
    caller: Caller, scripted: ServerThread, installed: InstalledProgram
) -> None:
    call = Call("write", {"file_path": "made", "content": "a"})
    scripted.server.script(answer(call), answer(Text("done")))
    caller.prompt("go")
    caller.allow(caller.asked(), input={"content": "b"})
    caller.until("result")
    assert not (installed.project / "made").exists()
    assert "changed the arguments" in str(scripted.server.requests[1].body["messages"])


def test_always_is_taken_from_the_suggestion(caller: Caller, scripted: ServerThread) -> None:
    write = Call("write", {"file_path": "made", "content": "a"})
    again = Call("write", {"file_path": "made", "content": "b"})
    scripted.server.script(answer(write), answer(again), answer(Text("done")))
    caller.prompt("go")
    request = caller.asked()
    (suggestion,) = request["request"]["permission_suggestions"]
    assert (suggestion["type"], suggestion["behavior"]) == ("addRules", "allow")
    caller.allow(request, updatedPermissions=[suggestion])
    assert caller.until("result")[-1]["result"] == "done"


def test_the_caller_answers_a_question(caller: Caller, scripted: ServerThread) -> None:
    options = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
    question = {"question": "Color?", "header": "Color", "options": options}
    call = Call("question", {"questions": [question]})
    scripted.server.script(answer(call), answer(Text("done")))
    caller.prompt("go")
    request = caller.asked()
    asked = request["request"]
    assert (asked["tool_name"], asked["input"]["questions"][0]["question"]) == (
        "AskUserQuestion",
        "Color?",
    )
    caller.allow(request, input={"answers": {"Color?": "Blue"}})
    caller.until("result")
    assert "Blue" in str(scripted.server.requests[1].body["messages"][-1])


def test_an_interrupt_ends_the_turn_and_withdraws_its_request(
    caller: Caller, scripted: ServerThread
) -> None:
    command = answer(Call("bash", {"command": "touch made"}))
    scripted.server.script(command, answer(Text("next")))
    caller.prompt("go")
    request = caller.asked()
    assert caller.control("interrupt")["subtype"] == "success"
    rest = caller.until("result")
    withdrawn = [one["request_id"] for one in rest if one["type"] == "control_cancel_request"]
    assert withdrawn == [request["request_id"]]
    assert rest[-1]["subtype"] == "error_during_execution"
    assert said(caller.turn("more")) == ["next"]
    assert caller.end() == 0


def test_a_request_that_waits_is_refused_at_the_end_of_the_input(
    caller: Caller, scripted: ServerThread, installed: InstalledProgram
) -> None:
    scripted.server.script(answer(Call("bash", {"command": "touch made"})), answer(Text("done")))
    caller.prompt("go")
    caller.asked()
    assert caller.process.stdin is not None
    caller.process.stdin.close()
    assert said(caller.until("result")) == ["done"]
    assert caller.process.wait(GUARD) == 0
    assert not (installed.project / "made").exists()


def test_the_mode_and_the_model_can_be_set(
    caller: Caller, scripted: ServerThread, installed: InstalledProgram
) -> None:
    scripted.server.script(
        answer(Call("write", {"file_path": "made", "content": "a"})), answer(Text("done"))
    )
    assert caller.control("set_permission_mode", mode="acceptEdits")["subtype"] == "success"
    assert caller.control("set_model", model="scripted/model-1")["subtype"] == "success"
    assert "nowhere" in caller.control("set_model", model="nowhere/x")["error"]
    assert "no permission mode odd" in caller.control("set_permission_mode", mode="odd")["error"]
    assert caller.turn("go")[-1]["result"] == "done"
    assert (installed.project / "made").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [("hooks", {"PreToolUse": []}), ("agents", {"a": {}}), ("appendSystemPrompt", "Be brief.")],
)
def test_what_the_sdk_cannot_have_here_is_refused_with_the_reason(
    caller: Caller, field: str, value: object
) -> None:
    response = caller.control("initialize", **{field: value})
    assert response["error"].startswith(f"{field} cannot be passed to opencode-py: write ")
    assert "no control request rewind_files" in caller.control("rewind_files")["error"]
    assert caller.end() == 0


def test_an_unknown_command_is_the_result_of_its_turn(
    caller: Caller, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("next")))
    result = caller.turn("/nothing")[-1]
    assert result["is_error"] is True
    assert "There is no command /nothing here." in result["result"]
    assert said(caller.turn("go")) == ["next"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--input-format", "stream-json"), b"needs --format claude"),
        (("--input-format", "stream-json", "--format", "claude", "go"), b"pass no message"),
        (("--permission-prompt-tool", "stdio", "go"), b"needs --input-format stream-json"),
    ],
)
def test_options_that_do_not_go_together_are_named(
    installed: InstalledProgram, words: tuple[str, ...], reason: bytes
) -> None:
    done = run(installed, *words)
    assert done.returncode == 2
    assert reason in done.stderr
