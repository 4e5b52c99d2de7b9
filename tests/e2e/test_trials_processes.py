"""Faults of what the program starts and of what is typed meanwhile, against the installed program
on a pty. That nothing is left afterwards is checked for every trial (``conftest.py``)."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Place, Runner, ServerThread
from tests.support.harness import config_for, write_config
from tests.support.installed import started_in
from tests.support.mute_sse import mute_sse
from tests.support.script import Call, Failure, Text, answer
from tests.support.terminal import Terminal, processes_with

pytestmark = pytest.mark.e2e

BUSY = r"esc to interrupt|Stopping"
ESC = "\x1b"
MCP = str(Path(__file__).parents[1] / "agent" / "mcp" / "servers" / "raw.py")
LANGUAGE_SERVER = str(Path(__file__).parents[1] / "support" / "language_server.py")


def allow(place: Place, scripted: ServerThread, **more: object) -> None:
    write_config(place.home, config_for(scripted.server, permission="allow", **more))


def asks(terminal: Terminal, text: str, ending: str) -> None:
    terminal.enter(text)
    terminal.wait(ending)
    terminal.wait(BUSY, gone=True)


def results(scripted: ServerThread) -> list[str]:
    messages = scripted.server.requests[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_b01_what_goes_on_in_the_background_ends_with_the_program(
    run: Runner, place: Place, scripted: ServerThread
) -> None:
    commands = (
        "sleep 600 & echo done",
        "(while :; do echo x; sleep 0.1; done) & echo done",
        "nohup sleep 600 >/dev/null 2>&1 & echo done",
        "setsid sleep 600 & disown; echo done",
    )
    allow(place, scripted)
    scripted.server.script(
        *(answer(Call("bash", {"command": command})) for command in commands),
        answer(Text("all done")),
    )
    with run() as terminal:
        terminal.wait(r"model-1")
        asks(terminal, "go", r"all done")
        for told in results(scripted):
            assert "done" in told
            assert "background process of this command still runs" in told
        assert len([line for line in started_in(place.home) if "sleep 600" in line]) >= 3
        terminal.enter("/exit")
        assert terminal.exit_code() == 0


def test_b04_b06_nothing_asks_pages_or_edits(
    run: Runner, place: Place, scripted: ServerThread
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
    allow(place, scripted)
    scripted.server.script(
        *(answer(Call("bash", {"command": command})) for command in commands),
        answer(Text("all done")),
    )
    names = {"PAGER": "less", "GIT_PAGER": "less", "EDITOR": "vi", "GIT_EDITOR": "vi"}
    author = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    committer = {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    with run(env=names | author | committer) as terminal:
        terminal.wait(r"model-1")
        asks(terminal, "go", r"all done")
    for (command, said), told in zip(commands.items(), results(scripted), strict=True):
        assert said in told, command


@pytest.mark.parametrize("way", ["timeout", "esc"])
def test_b08_the_whole_tree_of_a_command_ends(
    run: Runner, place: Place, scripted: ServerThread, way: str
) -> None:
    mark = f"sleep 300.{os.getpid() % 10_000:04}"
    command = f"echo before; (trap '' TERM HUP; {mark}) & sh -c '{mark}; true'; true"
    allow(place, scripted)
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
            asks(terminal, "and now?", r"all done")
    (told,) = results(scripted)
    assert "before" in told
    assert {"timeout": "Timed out after 2.0s", "esc": "cancelled by the user"}[way] in told


def test_l03_quitting_ends_every_language_server(
    run: Runner, place: Place, scripted: ServerThread
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
    allow(place, scripted, lsp=servers)
    with run() as terminal:
        terminal.wait(r"model-1")
        asks(terminal, "go", r"written")
        assert len([line for line in started_in(place.home) if LANGUAGE_SERVER in line]) == 2
        terminal.enter("/exit")
        assert terminal.exit_code() == 0


def test_l01_no_language_server_holds_up_an_edit(
    run: Runner, place: Place, scripted: ServerThread
) -> None:
    """One that never comes up, one that dies, one that says 10,000 things."""
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
    allow(place, scripted, lsp=servers)
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
            terminal.enter("/lsp")  # a look, which does not follow
            terminal.wait(r"(?s)Language servers and.* mute.* flood")
        terminal.again(ESC, r"Language servers and", gone=True)
        asks(terminal, "and now?", r"all seen")
        terminal.enter("/exit")
        assert terminal.exit_code() == 0
    assert all(told.startswith("Created a.") for told in results(scripted)[:3])
    assert "… and 9,800 more." in results(scripted)[3]
    assert len(results(scripted)[3]) < 60_000


def test_n01_n03_bad_servers_hold_up_neither_the_start_nor_the_end(
    run: Runner, place: Place, scripted: ServerThread
) -> None:
    def raw(kind: str) -> dict[str, object]:
        return {"type": "local", "command": [sys.executable, MCP, kind]}

    servers = {
        "chats": raw("chats"), "silent": raw("silent"), "exits": raw("exits"),
        "missing": {"type": "local", "command": ["no-such-program-here"]},
        "off": {**raw("chats"), "enabled": False},
    }  # fmt: skip
    scripted.server.script(answer(Call("chats_good", {})), answer(Text("all done")))
    with mute_sse() as (url, _):
        allow(place, scripted, mcp={**servers, "mute": {"type": "remote", "url": url}})
        with run(rows=40) as terminal:
            terminal.wait(r"model-1")
            terminal.enter("/mcp")
            terminal.wait(r"(?s)● chats +1 tool.*✕ missing +failed.*◐ mute.*○ off +off.*◐ silent")
            terminal.again(ESC, r"MCP servers", gone=True)
            asks(terminal, "go", r"all done")
            terminal.enter("/exit")
            assert terminal.exit_code() == 0
    assert len(results(scripted)) == 1


def test_q01_what_is_typed_with_enter_is_the_next_message(
    run: Runner, scripted: ServerThread
) -> None:
    """Over a slow line Enter and what follows come in one read, before the prompt was sent."""
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


def test_t01_a_server_that_always_fails_is_given_up_and_says_why(
    run: Runner, place: Place, scripted: ServerThread
) -> None:
    allow(place, scripted, retry={"attempts": 3, "delay": 900})
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
