"""``opencode-py run`` as scripts use it: processes, pipes, exit codes."""

import json
import os
import re
import signal
import subprocess

import pytest

from tests.app.cli.run.process import GUARD, LAUNCHER, more_settings, run, start
from tests.support.harness import tool_names
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.processes import gone, pids_in
from tests.support.script import Call, Failure, Finish, Hold, Reason, Text, Tokens, answer


def lines(done: subprocess.CompletedProcess[bytes]) -> list[dict]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def sent(scripted: ServerThread) -> str:
    """Return the requests for a response as JSON: those that offer tools; a title's request does
    not."""
    requests = [r.body["messages"] for r in scripted.server.requests if r.body.get("tools")]
    return json.dumps(requests)


def test_only_the_response_is_on_standard_output(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(
        answer(Reason("hm"), Text("I look."), Call("list", {})), answer(Text("Two \x1b[31mfiles."))
    )
    done = run(installed, "what", "is", "here?")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == "Two \u241b[31mfiles.\n"
    assert "what is here?" in str(scripted.server.requests[0].body["messages"][-1])


def test_piped_input_is_added(installed: InstalledProgram, scripted: ServerThread) -> None:
    scripted.server.script(answer(Text("ok")), answer(Text("ok")))
    assert run(installed, "explain", given="Traceback: é\n").returncode == 0
    assert run(installed, given=b"only \xff this\n").returncode == 0
    first, second = (str(r.body["messages"][-1]["content"]) for r in scripted.server.requests)
    assert "explain\\n\\nTraceback: é" in first.replace("\n", "\\n")
    assert "only \ufffd this" in second


def test_files_are_attached_and_count_as_read(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    edit = Call("edit", {"file_path": "calc.py", "old_string": "a - b", "new_string": "a + b"})
    scripted.server.script(answer(edit), answer(Text("mended")))
    done = run(installed, "mend it", "-f", "calc.py", "--auto-approve", "edit:calc.py")
    assert done.returncode == 0, done.stderr
    assert "return a - b" in str(scripted.server.requests[0].body["messages"])
    assert "a + b" in (installed.project / "calc.py").read_text()


def test_json_reports_each_thing_once(installed: InstalledProgram, scripted: ServerThread) -> None:
    scripted.server.script(
        answer(Reason("hm"), Call("list", {}), Call("nope", {}), Tokens(100, 10)),
        answer(Text("done"), Tokens(200, 20)),
    )
    done = run(installed, "go", "--format", "json")
    events = lines(done)
    assert {line["v"] for line in events} == {1}
    kinds = [line["type"] for line in events]
    assert (kinds[0], kinds[-1]) == ("start", "end")
    assert (kinds.count("reasoning"), kinds.count("text"), kinds.count("step")) == (1, 1, 2)
    states = [(line["tool"], line["state"]) for line in events if line["type"] == "tool"]
    assert sorted(states) == [("list", "completed"), ("list", "running"), ("nope", "failed")]
    end = events[-1]
    assert (end["outcome"], end["answer"], end["code"]) == ("completed", "done", 0)
    assert (end["usage"]["input"], end["usage"]["output"]) == (300, 30)


def test_deltas_are_reported_on_request(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("one "), Text("two")))
    events = lines(run(installed, "go", "--format", "json", "--deltas"))
    assert "".join(line["text"] for line in events if line["type"] == "delta") == "one two"


def test_sessions_are_continued_and_forked(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.always(answer(Text("ok")))
    first = lines(run(installed, "the first words", "--format", "json"))[0]["session"]
    again = lines(run(installed, "-c", "more", "--format", "json"))[0]["session"]
    copied = lines(run(installed, "-s", first, "--fork", "else", "--format", "json"))[0]["session"]
    assert again == first != copied
    assert "the first words" in str(scripted.server.requests[-1].body["messages"])


@pytest.mark.parametrize("words", [(), ("--auto",), ("--auto-approve", "*")])
def test_a_repeating_tool_call_is_refused(
    installed: InstalledProgram, scripted: ServerThread, words: tuple[str, ...]
) -> None:
    scripted.server.always(answer(Call("list", {})))
    done = run(installed, "go", *words)
    assert done.returncode == 3
    assert len(scripted.server.requests) == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "Nothing to do"),
        (("x", "-c", "-s", "ses_1"), 2, "Use either"),
        (("x", "--fork"), 2, "--fork needs"),
        (("x", "-f", "nothing.txt"), 2, "There is no file"),
        (("x", "-C", "nowhere"), 2, "There is no folder"),
        (("x", "--max-steps", "0"), 2, "at least 1"),
        (("x", "--max-cost", "0"), 2, "must be an amount above 0"),
        (("x", "--max-cost", "nan"), 2, "must be an amount above 0"),
        (("x", "--nonsense"), 2, "unrecognized"),
        (("x", "-m", "nowhere/nothing"), 1, "nowhere"),
        (("x", "-s", "ses_nothing"), 1, "ses_nothing"),
        (("x", "-c"), 1, "no session in this folder"),
        (("x", "--agent", "nobody"), 1, "no agent named nobody"),
    ],
)
def test_wrong_usage_is_a_sentence_and_a_code(
    installed: InstalledProgram,
    scripted: ServerThread,
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    done = run(installed, *words)
    assert (done.returncode, done.stdout) == (code, b"")
    assert message in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert scripted.server.requests == []


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        (Failure(401, '{"error": {"message": "bad key"}}'), 1, "bad key"),
        (Failure(500), 1, "scripted failure"),
        (answer(Finish("end")), 1, "empty response"),
        (answer(Reason("only thoughts")), 1, "after its reasoning"),
        (answer(Reason("only thoughts"), Finish("limit")), 4, "for reasoning and gave no answer"),
    ],
)
def test_a_failed_run_reports_its_failure(
    installed: InstalledProgram, scripted: ServerThread, script: object, code: int, message: str
) -> None:
    settings = json.loads((installed.home / "config" / "config.json").read_text())
    settings["retry"] = {"attempts": 2, "delay": 5}
    (installed.home / "config" / "config.json").write_text(json.dumps(settings))
    scripted.server.always(script)
    done = run(installed, "go")
    assert (done.returncode, done.stdout) == (code, b"")
    assert message in done.stderr.decode()


def test_a_failed_tool_call_does_not_fail_the_run(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Call("read", {"file_path": "no.txt"})), answer(Text("fine")))
    assert run(installed, "go").returncode == 0


def test_requests_that_no_user_can_approve_are_refused_and_reported(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(
        answer(Call("bash", {"command": "touch made"})), answer(Text("not done"))
    )
    done = run(installed, "go")
    assert (done.returncode, done.stdout) == (3, b"not done\n")
    assert b"touch made" in done.stderr
    assert "No one is available to approve" in str(scripted.server.requests[-1].body["messages"])
    assert not (installed.project / "made").exists()


@pytest.mark.parametrize(
    ("approved", "made"),
    [
        (("--auto-approve", "bash"), True),
        (("--auto-approve", "bash:touch *"), True),
        (("--auto-approve", "edit", "--auto-approve", "bash:touch made"), True),
        (("--auto",), True),
        (("--auto-approve", "bash:git *"), False),
        (("--auto-approve", "edit"), False),
    ],
)
def test_an_auto_approved_command_runs(
    installed: InstalledProgram, scripted: ServerThread, approved: tuple[str, ...], *, made: bool
) -> None:
    scripted.server.script(answer(Call("bash", {"command": "touch made"})), answer(Text("end")))
    done = run(installed, "go", *approved)
    assert (installed.project / "made").exists() == made
    assert done.returncode == (0 if made else 3)


def test_no_approval_overrides_a_deny(installed: InstalledProgram, scripted: ServerThread) -> None:
    settings = json.loads((installed.home / "config" / "config.json").read_text())
    settings["permission"] = {"bash": {"touch *": "deny"}}
    (installed.home / "config" / "config.json").write_text(json.dumps(settings))
    scripted.server.script(answer(Call("bash", {"command": "touch made"})), answer(Text("end")))
    run(installed, "go", "--auto-approve", "bash", "--auto")
    assert not (installed.project / "made").exists()


def test_a_sub_agents_request_follows_the_same_policy(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(
        answer(Call("task", {"description": "d", "prompt": "p"})),
        answer(Call("bash", {"command": "touch made"})),
        answer(Text("I could not")),
        answer(Text("it could not")),
    )
    done = run(installed, "go", "--format", "json")
    events = lines(done)
    assert done.returncode == 3
    child = next(line["session"] for line in events if line["type"] == "permission")
    assert child != events[0]["session"]
    assert events[-1]["answer"] == "it could not"
    assert not (installed.project / "made").exists()
    (refused,) = (m for m in scripted.server.requests[2].body["messages"] if m["role"] == "tool")
    assert "No one is available" in refused["content"], "the child gets the reason"


def test_a_limit_has_its_own_exit_code(installed: InstalledProgram, scripted: ServerThread) -> None:
    scripted.server.always(answer(Call("list", {}), Tokens(900, 200)))
    done = run(installed, "go", "--max-tokens", "1000")
    assert done.returncode == 4
    assert b"of 1.0k tokens" in done.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_exits_cleanly(
    installed: InstalledProgram, scripted: ServerThread, number: int, code: int
) -> None:
    hold = Hold()
    scripted.server.script(answer(Text("half"), hold))
    process = start(installed, "go", "--format", "json")
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["type"] != "start":
        pass
    while not hold.reached.is_set():
        assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=GUARD)
    assert process.returncode == code
    assert json.loads(out.splitlines()[-1])["outcome"] == "cancelled"
    assert b"Traceback" not in err
    scripted.server.replace((answer(Text("and on")),))
    assert run(installed, "-c", "go on").stdout == b"and on\n"


SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize("loaded", ["app.cli.main", "argparse", "asyncio", "agent.records.events"])
def test_a_signal_while_it_loads_exits_with_a_sentence(
    installed: InstalledProgram, scripted: ServerThread, loaded: str, number: int, code: int
) -> None:
    """From the first line of the launcher on: no traceback of the imports, no silent death."""
    process = start(installed, "go", python=("-X", "importtime"))
    assert process.stderr is not None
    while process.stderr.readline().split()[-1:] != [loaded.encode()]:
        assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=GUARD)
    assert (process.returncode, out) == (code, b"")
    first, *rest = err.splitlines()  # part of the first line can have been read above
    errors = [line for line in rest or [first] if not line.startswith(b"import time:")]
    assert errors == [b"Stopped. Nothing was sent."]
    assert not scripted.server.requests


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_while_servers_connect_exits(
    installed: InstalledProgram, scripted: ServerThread, number: int, code: int
) -> None:
    mute = ["sh", "-c", "echo $$ > pids; exec sleep 1000"]
    more_settings(installed, mcp={"mute": {"type": "local", "command": mute}})
    process = start(installed, "go")
    while not (pids := pids_in(installed.project / "pids", 1)):
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=GUARD)
    assert (process.returncode, err) == (code, b"Stopped. Nothing was sent.\n")
    assert all(map(gone, pids))
    assert not scripted.server.requests


@pytest.mark.parametrize("name", ["INT", "HUP"])
def test_an_ignored_signal_stays_ignored(
    installed: InstalledProgram, scripted: ServerThread, name: str
) -> None:
    """As with ``nohup``, and in background jobs of scripts."""
    hold = Hold()
    scripted.server.script(answer(Text("whole"), hold))
    process = subprocess.Popen(
        ["sh", "-c", f'trap "" {name}; exec "$@"', "sh", *LAUNCHER, "go"],
        cwd=installed.project, env=installed.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not hold.reached.is_set():
        assert process.poll() is None
    process.send_signal(getattr(signal, f"SIG{name}"))
    scripted.set(hold.gate)
    out, err = process.communicate(timeout=GUARD)
    assert (process.returncode, out, err) == (0, b"whole\n", b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_processes_of_a_command(
    installed: InstalledProgram, scripted: ServerThread, number: int, code: int
) -> None:
    folder = installed.home / "config/commands"
    folder.mkdir(parents=True)
    (folder / "slow.md").write_text("!`sleep 1000 & echo $$ $! > pids; wait`")
    # In a sandbox the ids of the processes would be other ones.
    more_settings(installed, permission={"bash": "allow", "edit": "allow"}, bash={"sandbox": "off"})
    process = start(installed, "--command", "slow")
    while not (pids := pids_in(installed.project / "pids", 2)):
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=GUARD)
    assert process.returncode == code
    assert err == b"Stopped. Nothing was sent.\n"
    assert all(map(gone, pids))
    assert not scripted.server.requests


def test_a_closed_pipe_exits_cleanly(installed: InstalledProgram, scripted: ServerThread) -> None:
    scripted.server.always(answer(*(Text("x" * 5_000) for _ in range(40))))
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [*LAUNCHER, "go", "--format", "json", "--deltas"], cwd=installed.project, env=installed.env,
        stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(writing)
    os.read(reading, 10)
    os.close(reading)
    _, err = process.communicate(timeout=GUARD)
    assert process.returncode == 141
    assert err == b""


def test_a_question_is_declined_with_a_sentence(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    ask = {"questions": [{"question": "Which way?", "options": [{"label": "left"}]}]}
    scripted.server.script(answer(Call("question", ask)), answer(Text("I took left.")))
    done = run(installed, "go")
    assert (done.returncode, done.stdout) == (0, b"I took left.\n")
    content = str(scripted.server.requests[-1].body["messages"][-1]["content"])
    assert "No one is available to answer questions" in content
    assert "question" not in tool_names(scripted.server.requests[0].body)


def test_a_console_exporter_leaves_standard_output_alone(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("ok")))
    done = subprocess.run(
        [*LAUNCHER, "go", "--format", "json"],
        cwd=installed.project, env={**installed.env, "OTEL_TRACES_EXPORTER": "console"},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=GUARD, check=False,
    )  # fmt: skip
    assert lines(done)[-1]["type"] == "end"
    assert b'"name": "invoke_agent"' in done.stderr


@pytest.mark.parametrize(
    "words", [("/greet Ann",), ("/greet", "Ann"), ("--command", "greet", "Ann")]
)
def test_a_users_slash_command_is_sent(
    installed: InstalledProgram, scripted: ServerThread, words: tuple[str, ...]
) -> None:
    folder = installed.home / "config/commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("Say hello to $ARGUMENTS, !`printf 'so %s' kindly`.")
    scripted.server.script(answer(Text("Hello, Ann.")))
    done = run(installed, *words, "-f", "calc.py", "--auto-approve", "bash:printf *", given="piped")
    assert (done.returncode, done.stdout) == (0, b"Hello, Ann.\n"), done.stderr
    assert "Say hello to Ann\\n\\npiped, so kindly" in sent(scripted)
    assert "return a - b" in sent(scripted)


def test_built_in_slash_commands_work_too(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("ok")), answer(Text("ok")))
    assert run(installed, "/review", "the", "last", "commit").returncode == 0
    assert "What to look at: the last commit" in sent(scripted)
    assert run(installed, "/init").returncode == 0
    assert "AGENTS.md" in sent(scripted)


@pytest.mark.parametrize("name", ["git/pr", "git:pr", "pr"])
def test_commands_in_folders_work_too(
    installed: InstalledProgram, scripted: ServerThread, name: str
) -> None:
    path = installed.home / "config/commands/git/pr.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("Open pull request $1")
    scripted.server.script(answer(Text("ok")))
    assert run(installed, f"/{name} 12").returncode == 0
    assert "Open pull request 12" in sent(scripted)


def test_an_unknown_command_is_reported_and_a_path_is_text(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    done = run(installed, "/grete Ann")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"There is no command /grete here. The commands are: /init, /review" in done.stderr
    assert scripted.server.requests == []
    scripted.server.script(*(answer(Text("ok")) for _ in range(3)))
    for path in ("/tmp is full", "/usr/no/such is missing"):
        assert run(installed, path).returncode == 0
        assert path in sent(scripted)
    assert run(installed, given="/grete Ann").returncode == 0  # piped input is text
    assert "/grete Ann" in sent(scripted)


def test_files_that_the_message_mentions_are_attached(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("ok")))
    assert run(installed, "explain @calc.py", given="and not @README.md").returncode == 0
    assert "return a - b" in sent(scripted)
    assert "It sells things" not in sent(scripted)


@pytest.mark.parametrize("approve", [(), ("--auto-approve", "read")])
def test_a_secret_file_that_the_prompt_names_is_refused_or_approved_without_waiting(
    installed: InstalledProgram, scripted: ServerThread, approve: tuple[str, ...]
) -> None:
    """Permission for it is asked before the turn, when no turn answers yet."""
    (installed.project / ".env").write_text("KEY=value-1\n")
    scripted.server.script(answer(Text("looked")))
    done = run(installed, *approve, "look at @.env")
    sent = [json.dumps(request.body["messages"]) for request in scripted.server.requests]
    assert ("value-1" in "".join(sent)) is bool(approve)
    if approve:
        assert (done.returncode, done.stdout) == (0, b"looked\n")
    else:
        assert (done.returncode, sent) == (1, [])
        assert b".env is not attached" in done.stderr


def test_a_check_decides_whether_the_work_is_done(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    write = Call("write", {"file_path": "done.txt", "content": "yes"})
    scripted.server.script(answer(Text("It is done!")), answer(write), answer(Text("Now it is.")))
    words = ("Write the file", "--check", "test -f done.txt", "--auto-approve", "edit")
    done = run(installed, *words)
    assert done.returncode == 0, done.stderr
    told = done.stderr.decode()
    assert "Round 1: the check fails with exit code 1." in told
    assert "Round 2: the check passes." in told
    assert "Continue with the goal:\n\nWrite the file" in str(
        scripted.server.requests[1].body["messages"][-1]
    ).replace("\\n", "\n")


def test_a_check_that_never_passes_ends_with_the_code_of_a_limit(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.always(answer(Text("It is done!")))
    done = run(installed, "go", "--check", "no-such-check", "--max-rounds", "2")
    assert done.returncode == 4
    told = done.stderr.decode()
    assert "Round 2: the check fails with exit code 127 (a command was not found)." in told
    assert len([r for r in scripted.server.requests if r.body.get("tools")]) == 2


def test_a_session_of_a_worktree_is_continued_in_its_folder(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "--allow-empty", "-m", "one")):
        names = ("-c", "user.name=Me", "-c", "user.email=me@example.org")
        subprocess.run(["git", *names, *words], cwd=installed.project, check=True)
    scripted.server.always(answer(Text("Here.")))
    first = run(installed, "--format", "json", "-w", "fix", "go")
    session_id = json.loads(first.stdout.splitlines()[0])["session"]
    again = run(installed, "-s", session_id, "again")
    assert again.returncode == 0
    told = again.stderr.decode()
    assert re.search(r"Working in .*/worktrees/.*/fix\.", told)
    assert "/fix" in str(scripted.server.requests[-1].body["messages"])
