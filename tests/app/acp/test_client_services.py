"""The client's terminals: commands run in them and stay under the program's control."""

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import (
    ClientCapabilities,
    CreateTerminalResponse,
    EnvVariable,
    TerminalOutputResponse,
    WaitForTerminalExitResponse,
)

from agent.process.sandbox import find_sandbox
from tests.app.acp.conftest import Desk, Editor, Home
from tests.support.harness import GUARD
from tests.support.processes import gone, pids_in
from tests.support.script import Call, Text, answer

TERMINAL = ClientCapabilities(terminal=True)
KEY = "ANTHROPIC_API_KEY"


@dataclass
class Run:
    """A command in a terminal, as a client sees it."""

    process: asyncio.subprocess.Process
    limit: int
    argv: list[str]
    cwd: str
    reading: asyncio.Task[None] | None = None
    output: bytes = b""
    released: bool = False

    @property
    def kept(self) -> bytes:
        return self.output[-self.limit :]


@dataclass
class Terminals(Editor):
    """A client with terminals, each a process of its own.

    *environment* is the terminals' own environment. With *blind*, the files that start a bash
    cannot be read there; with *quoting*, every command goes through a shell of the client's, as in
    Zed. *fault* is the response to ``terminal/create``.
    """

    environment: dict[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"]})
    runs: list[Run] = field(default_factory=list)
    blind: bool = False
    quoting: bool = False
    fault: Exception | None = None
    limit: int | None = None

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **_: Any,
    ) -> CreateTerminalResponse:
        if self.fault is not None:
            raise self.fault
        given = {each.name: each.value for each in env or ()}
        if self.blind:
            given["BASH_ENV"] = "/nowhere/at/all"
        argv = [command, *(args or ())]
        assert cwd is not None
        started = argv
        if self.quoting:
            started = ["bash", "-c", f"exec </dev/null\n{shlex.join(argv)}"]
        process = await asyncio.create_subprocess_exec(
            *started,
            env={**self.environment, **given},
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        run = Run(process, self.limit or output_byte_limit or 0, argv, cwd)
        run.reading = asyncio.create_task(self._read(run))
        async with self.changed:
            self.runs.append(run)
            self.changed.notify_all()
        return CreateTerminalResponse(terminal_id=f"term_{len(self.runs)}")

    async def _read(self, run: Run) -> None:
        assert run.process.stdout is not None
        while data := await run.process.stdout.read(65_536):
            run.output += data
            async with self.changed:
                self.changed.notify_all()

    def _run(self, terminal_id: str) -> Run:
        run = self.runs[int(terminal_id.removeprefix("term_")) - 1]
        if run.released:
            raise RequestError(-32602, "There is no such terminal")
        return run

    async def terminal_output(
        self, session_id: str, terminal_id: str, **_: Any
    ) -> TerminalOutputResponse:
        run = self._run(terminal_id)
        return TerminalOutputResponse(
            output=run.kept.decode("utf-8", "replace"), truncated=len(run.output) > run.limit
        )

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **_: Any
    ) -> WaitForTerminalExitResponse:
        run = self._run(terminal_id)
        code = await run.process.wait()
        if code < 0:
            return WaitForTerminalExitResponse(signal=signal.Signals(-code).name)
        return WaitForTerminalExitResponse(exit_code=code)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        """Kill one process only, as clients do."""
        run = self._run(terminal_id)
        if run.process.returncode is None:
            run.process.kill()

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        run = self._run(terminal_id)
        if run.process.returncode is None:
            run.process.kill()
        async with self.changed:
            run.released = True
            self.changed.notify_all()

    def shown(self) -> list[str]:
        """Return the ids of the terminals in the contents of calls."""
        updates = [u for u in self.updates if u.session_update.startswith("tool_call")]
        contents = [c for update in updates for c in update.content or ()]
        return [each.terminal_id for each in contents if each.type == "terminal"]

    def printed(self, text: str) -> bool:
        return any(text.encode() in run.output for run in self.runs)


@contextlib.asynccontextmanager
async def opened(home: Home, client: Terminals) -> AsyncGenerator[tuple[Desk, str]]:
    home.settings(permission={"bash": "allow", "edit": "allow"}, bash={"sandbox": "off"})
    async with home.desk(client, TERMINAL) as desk:
        yield desk, (await desk.new()).session_id


async def ran(desk: Desk, session: str, command: str, **given: Any) -> str:
    """Return the result of a command as the model reads it."""
    call = Call("bash", {"command": command, **given})
    desk.server.script(answer(call), answer(Text("done")))
    await desk.prompt(session, "go")
    return str(desk.server.requests[-1].body["messages"][-1]["content"])


def _text(path: str) -> str:
    return Path(path).read_text()


@pytest.fixture(params=["relay", "quoting", "blind"])
def client(request: pytest.FixtureRequest) -> Terminals:
    return Terminals(blind=request.param == "blind", quoting=request.param == "quoting")


async def test_a_command_runs_in_the_clients_terminal(home: Home, client: Terminals) -> None:
    async with opened(home, client) as (desk, session):
        result = await ran(desk, session, "pwd; echo 'a  b' >&2; exit 3")
        assert str(home.project) in result
        assert "a  b" in result
        assert "Exit code 3." in result
        assert set(client.shown()) == {"term_1"}
        [run] = client.runs
        assert run.released
        assert run.argv[-1] == "pwd; echo 'a  b' >&2; exit 3"
        assert run.cwd == str(home.project)
        await client.until(lambda it: it.printed("a  b"))
        last = [u for u in client.updates if u.session_update == "tool_call_update"][-1]
        assert last.status == "completed"
        assert last.raw_output["exit_code"] == 3


async def test_the_terminal_is_shown_while_the_command_runs(home: Home, client: Terminals) -> None:
    go = home.project / "go"
    async with opened(home, client) as (desk, session):
        waits = f"echo begun; until [ -e {go} ]; do sleep 0.01; done"
        turn = asyncio.create_task(ran(desk, session, waits))
        await client.until(lambda it: it.shown() == ["term_1"])
        await client.until(lambda it: it.printed("begun"))
        assert not client.runs[0].released
        go.touch()
        assert "begun" in await turn


async def test_the_terminals_environment_secrets_do_not_reach_a_command(
    home: Home, client: Terminals
) -> None:
    client.environment |= {KEY: "sk-of-the-client", "MINE": "kept", "PAGER": "less"}
    async with opened(home, client) as (desk, session):
        result = await ran(desk, session, f"echo [${KEY}] $MINE $PAGER; read x; echo end $x")
    assert "sk-of" not in result
    assert "[] kept cat" in result
    assert "end" in result


async def test_a_removed_variable_of_the_terminal_is_unset_not_empty(home: Home) -> None:
    client = Terminals()
    client.environment |= {KEY: "sk-of-the-client", "OTHER": "x"}
    home.settings(permission={"bash": "allow"}, bash={"env": "strict"})
    async with home.desk(client, TERMINAL) as desk:
        session = (await desk.new()).session_id
        result = await ran(desk, session, f"echo ${{{KEY}-unset}} ${{OTHER-unset}} $TERM; tty")
    assert "unset unset dumb" in result
    assert "not a tty" in result


async def test_permission_comes_before_the_terminal(home: Home) -> None:
    home.settings(permission={"bash": "ask"}, bash={"sandbox": "off"})
    client = Terminals(answers=["reject"])
    async with home.desk(client, TERMINAL) as desk:
        session = (await desk.new()).session_id
        desk.server.script(answer(Call("bash", {"command": "touch made"})))
        await desk.prompt(session, "go")
    assert len(client.permission_requests) == 1
    assert client.runs == []
    assert not (home.project / "made").exists()


def _left(home: Home) -> tuple[str, Callable[[], bool]]:
    """Return a command that starts a process group of its own and waits, and a function that checks
    whether all of its processes have ended."""
    pids = home.project / "pids"
    line = f"setsid sleep 600 & echo $! >> {pids}; sleep 601 & echo $! >> {pids}; echo up; wait"
    return line, lambda: bool(pids_in(pids, 2)) and all(gone(pid) for pid in pids_in(pids, 2))


async def test_a_time_limit_ends_every_process_of_a_terminal(home: Home, client: Terminals) -> None:
    line, ended = _left(home)
    async with opened(home, client) as (desk, session):
        result = await ran(desk, session, line, timeout=1500)
        assert "Timed out after 1.5s" in result
        assert "up" in result
        assert client.runs[0].released
        assert ended()


async def test_a_cancel_ends_every_process_of_a_terminal(home: Home, client: Terminals) -> None:
    line, ended = _left(home)
    async with opened(home, client) as (desk, session):
        desk.server.script(answer(Call("bash", {"command": line})))
        turn = asyncio.create_task(desk.prompt(session, "go"))
        await client.until(lambda it: it.printed("up"))
        await desk.agent.cancel(session_id=session)
        assert (await turn).stop_reason == "cancelled"
        await client.until(lambda it: it.runs[0].released)
        assert ended()
        assert set(client.shown()) == {"term_1"}


async def test_a_client_that_stops_the_command_ends_it(home: Home) -> None:
    client = Terminals()
    async with opened(home, client) as (desk, session):
        turn = asyncio.create_task(ran(desk, session, "echo up; sleep 600"))
        await client.until(lambda it: it.printed("up"))
        client.runs[0].process.terminate()
        assert "Ended by SIGTERM." in await turn


async def test_a_huge_output_is_stored_completely(home: Home) -> None:
    client = Terminals()
    async with opened(home, client) as (desk, session):
        result = await ran(desk, session, "seq 400000")
        assert "it had 400,000 lines" in result
        assert "400000" in result
        place = result.partition("All of it is in ")[2].partition(":")[0]
        assert _text(place).startswith("1\n2\n")


async def test_output_cut_by_the_terminal_is_reported(home: Home) -> None:
    client = Terminals(blind=True, limit=100)
    async with opened(home, client) as (desk, session):
        result = await ran(desk, session, "seq 1000")
    assert "1000" in result
    assert "kept only part of the output" in result


@pytest.mark.parametrize(
    "fault", [RequestError.method_not_found("terminal/create"), RequestError(-32603, "No pty left")]
)
async def test_without_a_terminal_the_command_runs_locally(home: Home, fault: RequestError) -> None:
    client = Terminals(fault=fault)
    async with opened(home, client) as (desk, session):
        assert "hello" in await ran(desk, session, "echo hello")
    assert client.shown() == []


async def test_a_command_that_the_editors_user_refuses_does_not_run_locally(home: Home) -> None:
    client = Terminals(
        fault=RequestError.internal_error({"details": "Permission denied for terminal/create"})
    )
    async with opened(home, client) as (desk, session):
        result = await ran(desk, session, "touch made")
    assert "The user's editor did not run the command: Permission denied" in result
    assert not (home.project / "made").exists()


async def test_without_the_capability_commands_run_locally(home: Home) -> None:
    client = Terminals()
    home.settings(permission={"bash": "allow", "edit": "allow"}, bash={"sandbox": "off"})
    async with home.desk(client) as desk:
        session = (await desk.new()).session_id
        assert "hello" in await ran(desk, session, "echo hello")
    assert client.runs == []


async def test_background_commands_run_locally(home: Home) -> None:
    client = Terminals()
    async with opened(home, client) as (desk, session):
        result = await ran(desk, session, "echo served; sleep 600", background=True)
        assert "shell_" in result
    assert client.runs == []


async def test_a_process_left_in_the_background_ends_with_the_program(home: Home) -> None:
    client = Terminals()
    pids = home.project / "pids"
    async with opened(home, client) as (desk, session):
        result = await ran(desk, session, f"sleep 600 & echo $! >> {pids}; echo up")
        assert "A background process of this command still runs" in result
        [pid] = pids_in(pids, 1)
        assert not gone(pid)
    await asyncio.wait_for(desk.process.wait(), GUARD)
    assert gone(pid)


async def test_each_command_starts_in_the_sessions_folder(home: Home) -> None:
    client = Terminals()
    (home.project / "sub").mkdir()
    async with opened(home, client) as (desk, session):
        await ran(desk, session, "cd sub")
        assert f"{home.project}\n" in (await ran(desk, session, "pwd; true")) + "\n"
        assert "sub" in await ran(desk, session, "pwd", workdir="sub")
    assert [Path(run.cwd).name for run in client.runs][2] == "sub"


async def test_a_killed_agent_leaves_no_process_in_a_terminal(home: Home) -> None:
    client = Terminals()
    pids = home.project / "pids"
    # The SDK's client complains of an agent that is gone when it is closed.
    with contextlib.suppress(ConnectionResetError):
        async with opened(home, client) as (desk, session):
            line = f"echo $$ >> {pids}; echo up; sleep 600"
            desk.server.script(answer(Call("bash", {"command": line})))
            turn = asyncio.create_task(desk.prompt(session, "go"))
            await client.until(lambda it: it.printed("up"))
            desk.process.kill()
            await asyncio.wait_for(client.runs[0].process.wait(), GUARD)
            [pid] = pids_in(pids, 1)
            assert gone(pid)
            turn.cancel()
            await asyncio.gather(turn, return_exceptions=True)


async def test_a_sandboxed_command_runs_in_no_terminal(home: Home) -> None:
    """A terminal of the editor cannot be put into a sandbox of this program."""
    home.settings(permission={"bash": "allow", "edit": "allow"})
    client = Terminals()
    async with home.desk(client, TERMINAL) as desk:
        session = (await desk.new()).session_id
        assert "inside" in await ran(desk, session, "echo inside > made; cat made")
    sandboxed = find_sandbox("auto").name != "none"
    assert bool(client.runs) != sandboxed
