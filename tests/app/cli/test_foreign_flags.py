"""Options that scripts for opencode, Claude Code and Codex pass."""

import subprocess

import pytest

from app.cli.foreign_flags import REJECTED, ForeignOption, command_first, own_words, resumed
from tests.app.cli.run.process import LAUNCHER, run
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Call, Text, answer


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("--dir /w go", "--directory /w go"),
        ("--dir=/w go", "--directory /w go"),
        ("--variant high --thinking go", "--effort high --thinking go"),
        ("--dangerously-skip-permissions go", "--auto go"),
        ("-p go --verbose", "go"),
        ("--print=true go", "go"),
        ("--log-level DEBUG go", "go"),
        ("--output-format stream-json go", "--format claude go"),
        ("--output-format=text go", "--format text go"),
        ("--format default go", "--format text go"),
        ("--format json go", "--format json go"),
        ("--resume ses_1 --fork-session go", "--session ses_1 --fork go"),
        ("--max-turns 3 --max-budget-usd 1.5 go", "--max-steps 3 --max-cost 1.5 go"),
        ("--permission-mode bypassPermissions go", "--auto go"),
        ("--permission-mode acceptEdits go", "--auto-approve edit go"),
        ("--permission-mode default go", "go"),
        ("--permission-mode auto go", "--permission-mode judge go"),
        ("--permission-mode accept-edits go", "--permission-mode accept-edits go"),
        ("--sandbox workspace-write -a never go", "--sandbox auto go"),
        ("-s danger-full-access go", "--sandbox off go"),
        ("-s ses_1 go", "-s ses_1 go"),
        ("--sandbox required go", "--sandbox required go"),
        ("--add-dir /data/ go", "--auto-approve external_directory:/data/* go"),
        ("--allowedTools Read,Edit go", "--auto-approve read:* --auto-approve edit:* go"),
        ("--disallowed-tools WebFetch Task go", "--deny webfetch:* --deny task:* go"),
        ("--allowedTools=mcp__web__get go", "--auto-approve web_get:* go"),
        ("--input-format stream-json", "--input-format stream-json"),
        ("--system-prompt= --tools default --thinking=adaptive go", "go"),
        ("--thinking disabled --thinking-display omitted go", "--effort none go"),
        ("go -- --dir -p", "go -- --dir -p"),
    ],
)
def test_they_become_own_options(given: str, expected: str) -> None:
    assert own_words(given.split()) == expected.split()


def test_rules_of_claude_code_can_have_blanks() -> None:
    words = own_words(["--allowedTools", "Bash(git log:*) Bash(npm test)", "fix it"])
    approved = ["--auto-approve", "bash:git log *", "--auto-approve", "bash:npm test"]
    assert words == [*approved, "fix it"]


@pytest.mark.parametrize("given", [*REJECTED, "--input-format=xml", "--allowedTools=Nope"])
def test_what_cannot_work_is_rejected_with_the_reason(given: str) -> None:
    with pytest.raises(ForeignOption) as raised:
        own_words([given, "x"])
    assert str(raised.value).endswith(".")


def test_general_options_can_come_before_the_command() -> None:
    assert command_first(["--print-logs", "run", "x"]) == ["run", "--print-logs", "x"]
    assert command_first(["--log-level", "INFO", "run"]) == ["run", "--log-level", "INFO"]
    assert command_first(["--print-logs"]) == ["--print-logs"]


@pytest.mark.parametrize(
    "words",
    [
        ("-p", "say it"),
        ("say it", "-p"),
        ("--print", "--verbose", "say it"),
        ("exec", "--skip-git-repo-check", "say it"),
        ("--print-logs", "run", "say it"),
        ("run", "-p", "say it"),
        ("run", "--title", "T", "--variant", "low", "--print-logs", "say it"),
    ],
)
def test_forms_of_other_programs_send_a_prompt(
    installed: InstalledProgram, scripted: ServerThread, words: tuple[str, ...]
) -> None:
    scripted.server.script(answer(Text("said")))
    done = subprocess.run(
        [*LAUNCHER[:-1], *words],
        cwd=installed.project, env=installed.env, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"said\n"), done.stderr
    assert "say it" in str(scripted.server.requests[0].body["messages"][-1])


@pytest.mark.parametrize(
    ("words", "own"),
    [
        ("resume ses_1 go", "--session ses_1 go"),
        ("--json resume ses_1 go", "--json --session ses_1 go"),
        ("resume --full-auto ses_1 go", "--session ses_1 --full-auto go"),
        ("resume --last go", "--continue go"),
        ("--yolo go", "--yolo go"),
        ("go resume", "go resume"),
    ],
)
def test_codex_resumes_a_session(words: str, own: str) -> None:
    assert resumed(words.split()) == own.split()


def test_a_session_is_resumed_as_codex_does(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(*[answer(Text("said"))] * 2)
    assert run(installed, "first").returncode == 0
    program = [*LAUNCHER[:-1], "exec", "resume"]
    how = {"cwd": installed.project, "env": installed.env, "stdin": subprocess.DEVNULL}
    done = subprocess.run(
        [*program, "--last", "second"], **how, capture_output=True, timeout=60, check=True
    )
    assert done.stdout == b"said\n"
    assert "first" in str(scripted.server.requests[-1].body["messages"])
    lost = subprocess.run(program, **how, capture_output=True, timeout=60, check=False)
    assert lost.returncode == 2
    assert lost.stderr.startswith(b"exec resume needs the id of a session, or --last.")


def test_a_rejected_option_is_a_sentence(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    done = run(installed, "--attach", "http://localhost:4096", "go")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"--attach does not work here. Only opencode-py serve")
    assert scripted.server.requests == []


def test_the_title_is_the_sessions(installed: InstalledProgram, scripted: ServerThread) -> None:
    scripted.server.script(answer(Text("ok")))
    assert run(installed, "--title", "Nightly check", "go").returncode == 0
    listed = subprocess.run(
        [*LAUNCHER[:-1], "session", "list"],
        cwd=installed.project, env=installed.env, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert b"Nightly check" in listed.stdout


def test_a_denied_call_is_refused_whatever_is_approved(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Call("bash", {"command": "touch made"})), answer(Text("end")))
    run(installed, "go", "--auto", "--disallowedTools", "Bash(touch:*)")
    assert not (installed.project / "made").exists()


def test_the_folder_is_chosen_as_elsewhere(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    (installed.project / "sub").mkdir()
    scripted.server.script(answer(Call("list", {})), answer(Text("ok")))
    done = run(installed, "--dir", "sub", "--format", "json", "go")
    assert f'"directory": "{installed.project / "sub"}"'.encode() in done.stdout
