"""Commands of the model in the sandbox of this machine: what they can do follows from how they were
allowed."""

import http.server
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.permission.programs import lookup
from agent.permission.programs.record import Program
from agent.process.sandbox import find_sandbox
from agent.records.messages import Completed, Failed, ToolPart
from agent.records.requests import PermissionReply
from agent.records.sandbox import UNSANDBOXED
from agent.runtime.headless import REFUSED, Approval, HeadlessRun
from agent.session.api import PromptInput
from tests.support.harness import Harness, open_harness
from tests.support.hostile_repositories import plain
from tests.support.script import Call, Text, answer
from tests.support.tool_calls import call_tool, output

DONE = answer(Text("done"))

pytestmark = pytest.mark.skipif(
    find_sandbox("auto").name == "none", reason="this machine has no sandbox"
)


async def called(
    harness: Harness, command: str, reply: PermissionReply | None = None, **more: object
) -> ToolPart:
    return await call_tool(harness, "bash", reply, command=command, **more)


BLOCKED = re.compile("The sandbox (probably )?blocked")

needs_mounts = pytest.mark.skipif(
    find_sandbox("auto").name == "landlock", reason="Landlock protects nothing in a writable folder"
)

ONCE = PermissionReply("once")
WITHOUT = PermissionReply("once", unsandboxed=True)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[int]:
    """A web server on this machine; its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def wrong_record() -> Iterator[None]:
    """The program touch, recorded as one that only reads."""
    lookup.records()["touch"] = Program("touch", effect="read", operands="read")
    lookup.program.cache_clear()
    yield
    lookup.records.cache_clear()
    lookup.program.cache_clear()


@pytest.mark.usefixtures("wrong_record")
async def test_a_wrong_proof_does_not_let_a_command_write(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        part = await called(harness, "touch made.txt")
        assert "Exit code 1" in output(part)
        assert BLOCKED.search(output(part))
        assert not (harness.folder / "made.txt").exists()
        assert part.decisions == ()


async def test_a_command_that_only_reads_sees_no_credentials(
    tmp_path: Path, wrong_record: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_harness(tmp_path) as harness:
        keys = harness.home / ".ssh"
        keys.mkdir()
        (keys / "id_ed25519").write_text("the private key")
        (programs := tmp_path / "programs").mkdir()
        (programs / "leak").write_text(f"#!/bin/sh\ncat {keys}/id_ed25519\n")
        (programs / "leak").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        lookup.records()["leak"] = Program("leak", effect="read", operands="none")
        assert "the private key" not in output(await called(harness, "leak"))
        part = await called(harness, "leak; mkdir made", ONCE)
        assert "the private key" in output(part), "the user allowed this one"


async def test_what_the_user_allows_works_in_the_project(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        line = "mkdir -p out && echo data > out/a.txt && cat out/a.txt && mktemp"
        part = await called(harness, line, ONCE)
        assert output(part).startswith("data\n/tmp/") or "data" in output(part)
        assert (harness.folder / "out" / "a.txt").read_text() == "data\n"
        (decision,) = part.decisions
        assert (decision.sandbox, decision.network) == ("workspace-write", False)


async def test_nothing_outside_can_be_written(tmp_path: Path) -> None:
    outside = Path.home() / f"opencode-py-{tmp_path.name}.txt"  # the temporary folder is open
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        (harness.folder / "build.sh").write_text(f"echo x > {outside}\n")
        part = await called(harness, "sh build.sh")
        assert not outside.exists()
        assert BLOCKED.search(output(part))


@needs_mounts
async def test_what_governs_the_repository_or_the_agent_stays_as_it_is(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        git = harness.folder / ".git"
        for name in ("objects", "refs", "hooks"):
            (git / name).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text("")
        (harness.folder / "AGENTS.md").write_text("Be kind.\n")
        for target in (".git/hooks/pre-commit", ".git/config", "AGENTS.md"):
            (harness.folder / "install.sh").write_text(f"echo evil > {target}\n")
            part = await called(harness, "sh install.sh")
            assert "The sandbox blocked a write" in output(part), target
            assert "call bash again with unsandboxed" in output(part)
        assert list((git / "hooks").iterdir()) == []
        assert (harness.folder / "AGENTS.md").read_text() == "Be kind.\n"
        await called(harness, "echo 'exit 0' > .git/hooks/pre-commit", ONCE)
        made = git / "hooks" / "pre-commit"
        assert made.read_text() == "exit 0\n", "the user allowed just that"


@needs_mounts
async def test_the_program_keeps_its_own_data_to_itself(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        (harness.home / "data" / "auth.json").write_text('{"key": "sk-secret"}')
        (harness.folder / "look.sh").write_text(f"cat {harness.home}/data/auth.json\n")
        assert "sk-secret" not in output(await called(harness, "sh look.sh"))
        part = await called(harness, "seq 1 100000")
        assert isinstance(part.state, Completed)
        assert part.state.spill
        part = await called(harness, f"sed -n 54321p {part.state.spill}")
        assert output(part).startswith("54321"), "outputs that were kept can be read"


async def test_without_the_network_not_even_this_machine_is_reached(
    tmp_path: Path, web: int
) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        (harness.folder / "get.py").write_text(
            f"import urllib.request as r\nprint(r.urlopen('http://127.0.0.1:{web}').status)\n"
        )
        part = await called(harness, "python3 get.py")
        assert "The sandbox blocked the network" in output(part)
        assert "call bash again with network" in output(part)
        part = await called(harness, "python3 get.py", ONCE, network="reads the local server")
        assert output(part) == "200"
        assert [(one.sandbox, one.network) for one in part.decisions] == [("workspace-write", True)]
    rules = {"bash": "allow", "network": {"python3 get.py": "allow"}}
    async with open_harness(tmp_path, permission=rules) as harness:
        assert output(await called(harness, "python3 get.py")) == "200"


async def test_a_server_in_the_background_says_that_nobody_reaches_it(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        part = await called(harness, "sleep 60", background=True)
        assert "It runs without network access" in output(part)


async def test_the_end_of_a_background_command_names_what_was_blocked(tmp_path: Path) -> None:
    outside = Path.home() / f"opencode-py-{tmp_path.name}.txt"
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        (harness.folder / "build.sh").write_text(
            f"until [ -e go ]; do sleep 0.02; done; echo x > {outside}\n"
        )
        session = await harness.session()

        async def turn(tool: str, **arguments: object) -> str:
            harness.server.script(answer(Call(tool, arguments)), DONE)
            before = len(harness.events)
            await harness.send(session, "go")
            await harness.idle(session, after=before)
            return output((await harness.tools(session))[-1])

        assert not BLOCKED.search(await turn("bash", command="sh build.sh", background=True))
        (shell,) = harness.runtime.shells.snapshot()
        (harness.folder / "go").touch()
        await harness.runtime.shells.wait_for_exit(shell.id, 30)
        for _ in "ab":  # however much of its output was read before
            text = await turn("bash_output", id=shell.id)
            assert BLOCKED.search(text)
            assert "call bash again with unsandboxed" in text
    assert not outside.exists()


async def test_the_answer_without_the_sandbox(tmp_path: Path, web: int) -> None:
    async with open_harness(tmp_path) as harness:
        (harness.folder / "get.py").write_text(
            f"import urllib.request as r\nprint(r.urlopen('http://127.0.0.1:{web}').status)\n"
        )
        part = await called(harness, "python3 get.py", WITHOUT)
        assert output(part) == "200"
        assert [one.sandbox for one in part.decisions] == ["none"]


async def test_a_call_that_has_to_leave_the_sandbox_asks_in_every_mode(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission="allow") as harness:
        harness.runtime.permissions.mode = "auto"
        reason = "it talks to a daemon"
        harness.server.script(
            answer(Call("bash", {"command": "make it", "unsandboxed": reason})), DONE
        )
        session = await harness.session()
        await harness.send(session, "go")
        request = await harness.permission_request()
        assert request.heading == "Run this command without the sandbox?"
        assert request.sandbox == UNSANDBOXED
        assert any(reason in one.reason for one in request.needs)
        harness.answer(request, "reject", "no")
        await harness.idle(session)


async def test_nobody_answers_that_in_a_script(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission="allow") as harness:
        call = Call("bash", {"command": "make it", "unsandboxed": "it talks to a daemon"})
        for approved, refused in (
            ((Approval("bash"),), ["unsandboxed of `make it`"]),
            ((Approval.parse("unsandboxed:make *"),), []),
        ):
            harness.server.script(answer(call), DONE)
            run = HeadlessRun(harness.runtime, approved)
            session = await harness.session()
            _ = [event async for event in run.run(session, PromptInput(text="go"))]
            assert run.refused == refused
            assert run.result is not None
            assert (run.result.exit_code == REFUSED) == bool(refused)


async def test_without_a_sandbox_nothing_changes(tmp_path: Path) -> None:
    async with open_harness(
        tmp_path, permission={"bash": "allow"}, bash={"sandbox": "off"}
    ) as harness:
        part = await called(harness, "echo x > made.txt", ONCE, unsandboxed="why", network="why")
        assert isinstance(part.state, Completed)
        assert (harness.folder / "made.txt").exists()
        assert [one.sandbox for one in part.decisions] == [None]


async def test_a_command_of_the_user_is_not_sandboxed(tmp_path: Path) -> None:
    async with open_harness(tmp_path, bash={"sandbox": "required"}) as harness:
        session = await harness.session()
        before = len(harness.events)
        (harness.folder / "AGENTS.md").write_text("old\n")
        await harness.runtime.sessions.user_shell.start(session.id, "echo new > AGENTS.md")
        await harness.idle(session, after=before)
        assert (harness.folder / "AGENTS.md").read_text() == "new\n"


async def test_a_refused_call_is_no_command(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"network": "deny"}) as harness:
        part = await called(harness, "curl https://example.org")
        assert isinstance(part.state, Failed)
        assert "denied by network" in part.state.error


async def test_everyday_work_with_git_and_tests_needs_nothing_more(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"bash": "allow"}) as harness:
        (harness.folder / "test_it.py").write_text("def test_it(): assert 1\n")
        await called(harness, "git init -q -b main")
        line = "git add -A && git -c user.name=A -c user.email=a@b commit -qm one && ls -A"
        assert output(await called(harness, line)).split() == [".git", "test_it.py"]
        assert output(await called(harness, "git status --short")) == "(no output)"
        more = "git checkout -qb two && git stash list && git log --oneline | wc -l"
        assert output(await called(harness, more)).strip() == "1"
        run = f"{sys.executable} -m pytest -q test_it.py"
        assert "1 passed" in output(await called(harness, run))


async def test_a_formatter_writes_its_file_and_nothing_outside(tmp_path: Path) -> None:
    outside = Path.home() / f"opencode-py-{tmp_path.name}.txt"
    line = f'echo formatted > "$1"; echo x > {outside}; true'
    loud = {"command": ["sh", "-c", line, "sh", "$FILE"], "extensions": [".tiny"]}
    async with open_harness(
        tmp_path, formatter={"loud": loud}, permission={"edit": "allow"}
    ) as harness:
        new = {"file_path": "a.tiny", "content": "new\n"}
        harness.server.script(answer(Call("write", new)), DONE)
        await harness.turn(await harness.session(), "go")
        assert (harness.folder / "a.tiny").read_text() == "formatted\n"
        assert not outside.exists()


@needs_mounts
async def test_git_notes_branches_and_remotes_but_no_settings(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        plain(harness.folder, "init", "-q", "-b", "main")
        plain(harness.folder, "commit", "-q", "--allow-empty", "-m", "first")
        config = harness.folder / ".git" / "config"
        assert not BLOCKED.search(output(await called(harness, "git remote add up ../up", ONCE)))
        assert not BLOCKED.search(output(await called(harness, "git switch -t -c new main", ONCE)))
        assert "../up" in config.read_text()
        before = config.read_bytes()
        for line in ("git config core.pager 'touch x'", "git branch b; git config core.pager x"):
            assert BLOCKED.search(output(await called(harness, line, ONCE)))
        assert config.read_bytes() == before
