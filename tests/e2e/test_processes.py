"""Processes that the program starts, and keys typed meanwhile. Every test also checks that nothing
is left running (``conftest.py``)."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.e2e.conftest import COMMAND, InstalledProgram, Runner, ServerThread
from tests.e2e.program import (
    BUSY,
    ESC,
    LANGUAGE_SERVER,
    MCP_SERVER,
    allow_everything,
    run_turn,
    tool_results,
)
from tests.support.installed import started_in
from tests.support.mute_sse import mute_sse
from tests.support.script import Call, Failure, Text, answer
from tests.support.terminal import Terminal, processes_with

pytestmark = pytest.mark.e2e


def test_background_processes_end_with_the_program(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    commands = (
        "sleep 600 & echo done",
        "(while :; do echo x; sleep 0.1; done) & echo done",
        "nohup sleep 600 >/dev/null 2>&1 & echo done",
        "setsid sleep 600 & disown; echo done",
    )
    # In a sandbox they end with their command.
    allow_everything(installed, scripted, bash={"sandbox": "off"})
    scripted.server.script(
        *(answer(Call("bash", {"command": command})) for command in commands),
        answer(Text("all done")),
    )
    with run() as terminal:
        terminal.wait(r"model-1")
        run_turn(terminal, "go", r"all done")
        for told in tool_results(scripted):
            assert "done" in told
            assert "background process of this command still runs" in told
        assert len([line for line in started_in(installed.home) if "sleep 600" in line]) >= 3
        terminal.enter("/exit")
        assert terminal.exit_code() == 0


def test_no_command_waits_for_input_a_pager_or_an_editor(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    commands = {
        'read -p "ok? " x; echo rc=$?': "rc=1",
        'python3 -c "input()" 2>&1 | tail -1': "EOFError",
        "read x </dev/tty; echo rc=$?": "rc=1",
        "for n in $(seq 300); do git commit -q --allow-empty -m c$n; done; git log": "c299",
        "echo x >> calc.py; git commit -a": "empty commit message",
        "git rebase -i HEAD~2; echo rc=$?": "rc=",
        "man ls 2>&1; echo rc=$?": "rc=",
    }
    allow_everything(installed, scripted)
    scripted.server.script(
        *(answer(Call("bash", {"command": command})) for command in commands),
        answer(Text("all done")),
    )
    names = {"PAGER": "less", "GIT_PAGER": "less", "EDITOR": "vi", "GIT_EDITOR": "vi"}
    author = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    committer = {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    with run(env=names | author | committer) as terminal:
        terminal.wait(r"model-1")
        run_turn(terminal, "go", r"all done")
    for (command, said), told in zip(commands.items(), tool_results(scripted), strict=True):
        assert said in told, command


@pytest.mark.parametrize("way", ["timeout", "esc"])
def test_the_whole_process_tree_of_a_command_ends(
    run: Runner, installed: InstalledProgram, scripted: ServerThread, way: str
) -> None:
    mark = f"sleep 300.{os.getpid() % 10_000:04}"
    command = f"echo before; (trap '' TERM HUP; {mark}) & sh -c '{mark}; true'; true"
    allow_everything(installed, scripted)
    call = {"command": command, **({"timeout": 2_000} if way == "timeout" else {})}
    scripted.server.script(answer(Call("bash", call)))
    scripted.server.always(answer(Text("all done")))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.until(lambda: len(processes_with(mark)) >= 2, "the command never ran")
        if way == "esc":
            terminal.wait(r"before")
            terminal.send(ESC)
            terminal.wait(r"Interrupted")
            terminal.wait(BUSY, gone=True)
        else:
            terminal.wait(r"all done")
        terminal.until(lambda: not processes_with(mark), "the command lives on")
        if way == "esc":
            run_turn(terminal, "and now?", r"all done")
    (told,) = tool_results(scripted)
    assert "before" in told
    assert {"timeout": "Timed out after 2.0s", "esc": "canceled by the user"}[way] in told


def test_exit_ends_every_language_server(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    servers = {
        name: {"command": [sys.executable, LANGUAGE_SERVER, "good"], "extensions": [f".{name}"]}
        for name in ("one", "two")
    }
    scripted.server.script(
        *(
            answer(Call("write", {"file_path": f"a.{name}", "content": "fine\n"}))
            for name in servers
        ),
        answer(Text("written")),
    )
    allow_everything(installed, scripted, lsp=servers)
    with run() as terminal:
        terminal.wait(r"model-1")
        run_turn(terminal, "go", r"written")
        assert len([line for line in started_in(installed.home) if LANGUAGE_SERVER in line]) == 2
        terminal.enter("/exit")
        assert terminal.exit_code() == 0


def test_no_language_server_delays_an_edit(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    """Servers that never start, that crash, and that report 10,000 diagnostics."""
    names = ("mute", "dies", "flood")
    servers = {
        name: {"command": [sys.executable, LANGUAGE_SERVER, name], "extensions": [f".{name}"]}
        for name in names
    }
    scripted.server.script(
        *(answer(Call("write", {"file_path": f"a.{name}", "content": "fine\n"})) for name in names),
        answer(Text("written")),
        answer(Call("lsp", {"operation": "diagnostics", "file_path": "a.flood"})),
        answer(Text("all seen")),
    )
    allow_everything(installed, scripted, lsp=servers)
    with run(rows=40) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.send("my draft")
        terminal.wait(r"▌ my draft")
        terminal.wait(r"written")
        terminal.wait(BUSY, gone=True)
        terminal.send("\x15")
        terminal.wait(r"▌ my draft", gone=True)
        while not re.search(r"(?s)◐ mute.*✕ dies.*● flood.*10,?000 errors", terminal.screen):
            terminal.again(ESC, r"Language servers and", gone=True)
            terminal.enter("/lsp")  # the page does not refresh by itself
            terminal.wait(r"(?s)Language servers and.* mute.* flood")
        terminal.again(ESC, r"Language servers and", gone=True)
        run_turn(terminal, "and now?", r"all seen")
        terminal.enter("/exit")
        assert terminal.exit_code() == 0
    assert all(told.startswith("Created a.") for told in tool_results(scripted)[:3])
    assert "… and 9,800 more." in tool_results(scripted)[3]
    assert len(tool_results(scripted)[3]) < 60_000


def test_bad_mcp_servers_delay_neither_start_nor_exit(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    def raw(kind: str) -> dict[str, object]:
        return {"type": "local", "command": [sys.executable, MCP_SERVER, kind]}

    servers = {
        "chats": raw("chats"), "silent": raw("silent"), "exits": raw("exits"),
        "missing": {"type": "local", "command": ["no-such-program-here"]},
        "off": {**raw("chats"), "enabled": False},
    }  # fmt: skip
    scripted.server.script(answer(Call("chats_good", {})), answer(Text("all done")))
    with mute_sse() as (url, _):
        allow_everything(
            installed, scripted, mcp={**servers, "mute": {"type": "remote", "url": url}}
        )
        with run(rows=40) as terminal:
            terminal.wait(r"model-1")
            terminal.enter("/mcp")
            terminal.wait(r"(?s)● chats +1 tool.*✕ missing +failed.*◐ mute.*○ off +off.*◐ silent")
            terminal.again(ESC, r"MCP servers", gone=True)
            run_turn(terminal, "go", r"all done")
            terminal.enter("/exit")
            assert terminal.exit_code() == 0
    assert len(tool_results(scripted)) == 1


def test_text_that_arrives_with_enter_is_the_next_message(
    run: Runner, scripted: ServerThread
) -> None:
    """On a slow line, Enter and the next text arrive in one read, before the prompt is sent."""
    scripted.server.always(answer(Text("as you wish")))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.send("first")
        terminal.wait(r"▌ first")
        terminal.send("\rsecond")
        terminal.wait(r"(?s)as you wish.*▌ second")
        terminal.wait(BUSY, gone=True)
        terminal.send("\r")
        terminal.wait(r"(?s)▌ second.*as you wish")
        terminal.wait(BUSY, gone=True)
    sent = [request.body["messages"][-1]["content"] for request in scripted.server.requests]
    assert sent == ["first", "second"]


def test_a_model_server_that_always_fails_is_given_up_with_the_reason(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    allow_everything(installed, scripted, retry={"attempts": 3, "delay": 900})
    scripted.server.always(Failure(500, '{"error": {"message": "the backend is on fire"}}'))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"Retry \d")
        terminal.send("my draft")
        terminal.wait(r"the backend is on fire\. Gave up after\s+3\s+tries")
        terminal.wait(BUSY, gone=True)
        terminal.wait(r"▌ my draft")
    assert len(scripted.server.requests) == 3


def test_programs_started_together_lose_no_turn(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    allow_everything(installed, scripted, limits={"repeats": 0})
    scripted.server.always(
        lambda body: (
            answer(Text("done"))
            if sum(message["role"] == "tool" for message in body["messages"]) == 5
            else answer(Call("bash", {"command": "head -c 200000 /dev/zero | tr '\\0' x"}))
        )
    )

    def one(number: int) -> int:
        words = [COMMAND, "run", f"prompt {number}"]
        done = subprocess.run(
            words,
            cwd=installed.project,
            env=installed.env,
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert done.stdout == b"done\n", done
        return done.returncode

    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(one, range(10))) == [0] * 10
    with closing(sqlite3.connect(installed.home / "data" / "sessions.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT count(*) FROM session").fetchone() == (10,)
        assert database.execute("SELECT count(*) FROM message WHERE open").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM message").fetchone() == (70,)


@pytest.mark.parametrize("way", ["SIGTERM", "SIGKILL"])
def test_no_language_server_outlives_the_program(
    run: Runner, installed: InstalledProgram, scripted: ServerThread, way: str
) -> None:
    mark = f"mark-{installed.project.parent.name}"
    server = {"command": [sys.executable, LANGUAGE_SERVER, "good", mark], "extensions": [".tiny"]}
    write = Call("write", {"file_path": "a.tiny", "content": "fine\n"})
    scripted.server.script(answer(write), answer(Text("written")))
    allow_everything(installed, scripted, lsp={"tiny": server})
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"written")
        terminal.until(lambda: bool(processes_with(mark)), "the server never ran")
        terminal.signal(getattr(signal, way))
        terminal.exit_code()


PLACES = ("command", "in a sandbox", "background", "own command", "hook", "mcp", "check")


@pytest.mark.parametrize("place", PLACES)
def test_nothing_outlives_a_killed_program(
    run: Runner, installed: InstalledProgram, scripted: ServerThread, place: str
) -> None:
    mark = f"600.{os.getpid() % 10_000:04}"
    line = f"trap '' TERM; echo begun; sleep {mark}; true"
    more: dict[str, object] = {"bash": {"sandbox": "auto" if place == "in a sandbox" else "off"}}
    if place == "hook":
        more["hooks"] = {"PreToolUse": [{"hooks": [{"type": "command", "command": line}]}]}
    if place == "mcp":
        deaf = {"type": "local", "command": ["bash", "-c", line]}
        more["mcp"] = {"deaf": deaf}
    allow_everything(installed, scripted, **more)
    background = {"run_in_background": True} if place == "background" else {}
    scripted.server.script(answer(Call("bash", {"command": line, **background})))
    scripted.server.always(answer(Text("all done")))
    words = {"own command": f"!{line}", "check": f'/goal it ends --check "{line}"', "mcp": ""}
    with run() as terminal:
        terminal.wait(r"model-1")
        if said := words.get(place, "go"):
            terminal.enter(said)
        terminal.until(lambda: bool(processes_with(f"sleep {mark}")), "the command never ran")
        terminal.signal(signal.SIGKILL)
        terminal.exit_code()


def test_a_redirected_response_is_plain_text(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    """With output redirected to a file, only the text is written."""
    scripted.server.script(answer(Text("**bold** `code`")))
    script = f"{COMMAND} run go > out.txt"
    with Terminal(["sh", "-c", script], cwd=installed.project, env=installed.env) as terminal:
        assert terminal.exit_code() == 0
    assert (installed.project / "out.txt").read_bytes() == b"**bold** `code`\n"
