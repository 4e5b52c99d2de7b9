"""The benchmark of other agents: its proxy reads all protocols alike."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bench import testbed
from bench.__main__ import measured
from bench.peers import processes
from bench.peers.__main__ import main
from bench.peers.agents import AGENTS, Agent
from bench.server import read_call, requested_work
from bench.sizes import request_size
from bench.table import Row, p95, show, table, to_loop, verdict

URL = "http://127.0.0.1:1/v1"
CHAT = [
    {"role": "user", "content": "an old wish: loop 7"},
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": [{"type": "text", "text": "loop 3"}]},
    {"role": "assistant", "tool_calls": [{"id": "a"}]},
    {"role": "tool", "tool_call_id": "a", "content": "text"},
]
MESSAGES = [
    {"role": "user", "content": "loop 3"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
]
RESPONSES = [
    {"role": "user", "content": [{"type": "input_text", "text": "loop 3"}]},
    {"type": "function_call", "call_id": "a"},
    {"type": "function_call_output", "call_id": "a", "output": "text"},
]


TOOL = {"name": "read", "description": "Read a file.", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    "body",
    [
        {
            "messages": [{"role": "system", "content": "Be brief."}, *CHAT],
            "tools": [{"type": "function", "function": TOOL}],
        },
        {
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": MESSAGES,
            "tools": [{**TOOL, "parameters": None, "input_schema": TOOL["parameters"]}],
        },
        {"instructions": "Be brief.", "input": RESPONSES, "tools": [{"type": "function", **TOOL}]},
        {
            "input": [
                {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}
            ],
            "tools": [TOOL],
        },
        {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [],
            "tools": [{"functionDeclarations": [TOOL]}],
        },
    ],
)
def test_sizes_of_requests_are_read_in_every_protocol(body: dict) -> None:
    size = request_size(body)
    assert size.number == 1
    assert size.system == request_size({"system": "Be brief."}).system > 0
    assert size.tools == request_size({"tools": [TOOL]}).tools > 0


@pytest.mark.parametrize("body", [{"messages": CHAT}, {"messages": MESSAGES}, {"input": RESPONSES}])
def test_a_request_is_recognized_in_every_protocol(body: dict) -> None:
    assert requested_work(body) == ("loop", 3, 1)


def test_text_that_is_no_request() -> None:
    assert requested_work({"messages": [*CHAT, {"role": "user", "content": "hello"}]}) == ("", 0, 0)
    assert requested_work({}) == ("", 0, 0)


@pytest.mark.parametrize(
    ("tool", "argument"),
    [
        ({"function": {"name": "read", "parameters": {"properties": {"path": {}}}}}, "path"),
        ({"name": "read_file", "input_schema": {"properties": {"path": {}}}}, "path"),
        ({"name": "read", "parameters": {"properties": {"filePath": {}}}}, "filePath"),
    ],
)
def test_a_file_is_read_with_the_tool_that_is_offered(tool: dict, argument: str) -> None:
    call = read_call({"tools": [{"name": "bash"}, tool]}, 2)
    assert isinstance(call.args, dict)
    assert call.args[argument] == "file2.txt"


def test_a_command_reads_it_for_agents_without_such_a_tool() -> None:
    call = read_call({"tools": [{"name": "exec_command", "parameters": {}}]}, 2)
    assert call.args == {"cmd": "tail -n +3 file2.txt"}


def test_without_such_a_tool_it_is_reported() -> None:
    with pytest.raises(LookupError, match="reads a file"):
        read_call({"tools": [{"name": "bash"}]}, 0)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_peer_settings_are_well_formed_and_name_the_server(agent: Agent, tmp_path: Path) -> None:
    files = agent.settings(URL, tmp_path)
    for name, text in files.items():
        loads = json.loads if name.endswith(".json") else tomllib.loads
        assert loads(text)
    assert any(URL in text for text in files.values()) or "{URL}" in agent.arguments


def test_a_process_family_is_found_after_its_parent_exits() -> None:
    """A waiting shell, its child, and a process that a double fork detached."""
    mark = f"test-{os.getpid()}"
    script = "sleep 60 & (setsid sleep 60 &) ; echo started; wait"
    shell = subprocess.Popen(
        ["/bin/sh", "-c", script],
        env={**os.environ, processes.MARK: mark},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert shell.stdout is not None
    assert shell.stdout.readline() == "started\n"
    found = processes.family(shell.pid, mark)
    assert len(found) >= 3
    assert processes.resident_memory(found) > 0
    assert processes.cpu(found) >= 0
    processes.end(shell.pid, mark)
    shell.wait()
    assert processes.family(shell.pid, mark) == [shell.pid]


def test_missing_programs_are_reported_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["pi"]) == 0
    assert "tmux, which is not installed" in capsys.readouterr().out
    (tmp_path / "tmux").symlink_to(sys.executable)
    assert main(["nobody"]) == 2
    assert "There is no entry nobody" in capsys.readouterr().out


def test_figures() -> None:
    assert p95([n / 100 for n in range(100)]) == 0.95
    assert (verdict(1.0, 1.0), verdict(1.1, 1.0)) == ("within", "OVER")
    assert table([("a", "bb"), ("ccc", "d")]) == "a    bb\nccc  d"
    assert Row("a figure", "3 ms", "empty app 2 ms", 1.5, 1.4).verdict == "OVER"
    assert Row("a figure", "3 ms").verdict == ""


def test_a_row_that_fails_leaves_the_others(tmp_path: Path) -> None:
    def fails(_: testbed.Testbed) -> list[Row]:
        raise TimeoutError("no prompt\nand a screen")

    good = Row("good", "1 ms")
    bed = testbed.Testbed(tmp_path, tmp_path, URL, tmp_path / "log")
    rows, failed = measured({"bad": fails, "good": lambda _: [good]}, bed)
    assert failed
    assert rows == [Row("bad", "failed: TimeoutError", "no prompt"), good]


def test_every_limit_of_the_table_is_a_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    show([Row("start", "0.2 s", "empty app 0.1 s", 2.0, 1.5), to_loop("keys", "4 ms", 0.0, 1)])
    printed = capsys.readouterr().out
    assert "2.00 ×  ≤ 1.5 ×  OVER" in printed
    assert "0.00 ×  ≤ 1 ×    within" in printed
