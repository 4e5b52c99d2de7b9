"""Shells in the background."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.process import SpillStore, kill_all
from agent.records.errors import ToolError
from agent.records.events import ShellChanged
from agent.tools.bash import BashArgs, BashTool
from agent.tools.bash_output import BashOutputTool
from agent.tools.core.tool import Result, ToolContext
from agent.tools.core.truncate import Limits, Truncator
from agent.tools.shell.settings import BashSettings
from agent.tools.shell.shells import Shells
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import run
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

GUARD = 60.0
MOST = 3


class Desk:
    """The three tools over one service, and its events."""

    def __init__(self, tmp_path: Path, ctx: ToolContext) -> None:
        self.bus = Bus()
        self.events = self.bus.subscribe()
        self.shells = Shells(self.bus, max_running=MOST)
        truncator = Truncator(Limits(), SpillStore(tmp_path / "spill"))
        self.bash = BashTool(BashSettings(), truncator, self.shells)
        self.ctx = ctx
        self.folder = Path(ctx.directory)

    async def start(self, command: str, **more: object) -> tuple[str, Result]:
        done = await run(self.bash, self.ctx, command=command, background=True, **more)
        return self.shells.snapshot()[-1].id, done

    async def read(self, shell_id: str, wait: int = 60_000) -> str:
        result = await run(BashOutputTool(self.shells), self.ctx, id=shell_id, wait=wait)
        return result.output

    async def until(self, shell_id: str, text: str) -> str:
        """Read until *text* has arrived; return everything that was read."""
        seen = ""
        async with asyncio.timeout(GUARD):
            while text not in seen:
                seen += await self.read(shell_id)
        return seen

    async def kill(self, shell_id: str) -> Result:
        return await run(BashOutputTool(self.shells), self.ctx, id=shell_id, kill=True)

    def go(self, name: str) -> None:
        (self.folder / name).touch()


@pytest.fixture
def desk(tmp_path: Path, make_context: MakeContext) -> Iterator[Desk]:
    work = tmp_path / "work"
    work.mkdir()
    yield Desk(tmp_path, make_context(work))
    kill_all()


def wait_for(name: str) -> str:
    return f"while [ ! -f {name} ]; do sleep 0.02; done"


def alive(pid: int) -> bool:
    try:
        return b"Z" not in Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2][:3]
    except OSError:
        return False


async def test_it_is_left_running_and_read_in_pieces(desk: Desk) -> None:
    shell_id, done = await desk.start(f"echo one; {wait_for('go')}; echo two; exit 3")
    assert done.facts == ("background",)
    assert not done.failed
    assert f"started in the background: {shell_id} is running" in done.output
    seen = done.output if "one" in done.output else await desk.until(shell_id, "one")
    assert "two" not in seen
    assert "(no new output)" in await desk.read(shell_id, 0)
    desk.go("go")
    seen = await desk.until(shell_id, "ended with exit code 3")
    assert "one" not in seen
    assert seen.count("two") == 1
    assert desk.shells.snapshot()[0].exit_code == 3


async def test_waiting_ends_with_the_shell(desk: Desk) -> None:
    shell_id, _ = await desk.start(wait_for("go"))
    reading = asyncio.create_task(desk.read(shell_id))
    await asyncio.sleep(0)
    desk.go("go")
    async with asyncio.timeout(GUARD):
        assert "ended with exit code 0" in await reading


async def test_an_immediate_error_is_a_failure(desk: Desk) -> None:
    _, done = await desk.start("no-such-program-here")
    assert "It has already ended" in done.output
    assert "exit code 127" in done.output
    assert "not found" in done.output
    assert done.failed
    assert done.exit_code == 127


async def test_kill_ends_all_processes_and_returns_the_last_output(desk: Desk) -> None:
    command = "echo pid=$$; (trap '' TERM; sleep 300) & echo sub=$!; wait"
    shell_id, done = await desk.start(command)
    seen = done.output if "sub=" in done.output else await desk.until(shell_id, "sub=")
    pids = [
        int(line.partition("=")[2]) for line in seen.splitlines() if line[:4] in ("pid=", "sub=")
    ]
    assert len(pids) == 2
    killed = await desk.kill(shell_id)
    assert f"{shell_id} was ended after" in killed.output
    assert killed.facts == ("killed",)
    assert not any(alive(pid) for pid in pids)
    again = await desk.kill(shell_id)
    assert "was no longer running" in again.output


async def test_a_given_time_limit_applies(desk: Desk) -> None:
    shell_id, _ = await desk.start("sleep 300", timeout=1_000)
    assert "ended at its time limit" in await desk.read(shell_id)
    plan = await desk.bash.prepare(BashArgs(command="sleep 1", background=True), desk.ctx)
    assert plan.payload.timeout is None


async def test_other_sessions_do_not_see_it(desk: Desk) -> None:
    """A sub-agent shares its parent's shells, another session does not."""
    shell_id, _ = await desk.start(wait_for("go"))
    child = replace(desk.ctx, session_id="ses_2")
    await run(BashOutputTool(desk.shells), child, id=shell_id)
    other = replace(desk.ctx, session_id="ses_3", root_id="ses_3")
    with pytest.raises(ToolError, match="There is none in this session"):
        await run(BashOutputTool(desk.shells), other, id=shell_id, kill=True)
    with pytest.raises(ToolError, match=f"There are: {shell_id} \\(running\\): while"):
        await desk.read("shell_none")
    assert desk.shells.snapshot()[0].state == "running"


async def test_an_unfinished_line_is_shown_and_comes_again_whole(desk: Desk) -> None:
    shell_id, done = await desk.start(f"printf 'port '; {wait_for('go')}; echo 8080")
    first = done.output if "port" in done.output else await desk.until(shell_id, "port")
    assert "8080" not in first
    desk.go("go")
    assert "port 8080" in await desk.until(shell_id, "ended")


async def test_a_process_that_the_shell_leaves_is_still_read(desk: Desk) -> None:
    shell_id, _ = await desk.start(f"({wait_for('go')}; echo late) & exit 0")
    assert await desk.shells.wait_for_exit(shell_id, GUARD)
    assert "Something that it started still runs" in await desk.read(shell_id, 0)
    desk.go("go")
    await desk.until(shell_id, "late")
    await desk.until(shell_id, "exit code 0 after")
    assert "still runs" not in await desk.read(shell_id)


async def test_processes_left_by_a_shell_end_with_it(desk: Desk) -> None:
    shell_id, done = await desk.start("sleep 300 & echo $!")
    pid = int(done.output.split("\n", 1)[0])
    assert alive(pid)
    await desk.kill(shell_id)
    assert not alive(pid)


async def test_each_start_and_end_is_an_event(desk: Desk) -> None:
    shell_id, _ = await desk.start(f"{wait_for('go')}; exit 1")
    desk.go("go")
    await desk.until(shell_id, "exit code 1")
    events = [event for event in desk.events.drain() if isinstance(event, ShellChanged)]
    assert [(e.session_id, e.shell.state, e.shell.exit_code) for e in events] == [
        ("ses_1", "running", None),
        ("ses_1", "exited", 1),
    ]
    assert events[0].shell.command == f"{wait_for('go')}; exit 1"


async def test_too_many_are_refused(desk: Desk) -> None:
    for _ in range(MOST):
        await desk.start(wait_for("go"))
    with pytest.raises(ToolError, match="3 commands are already running"):
        await desk.start("true")
    desk.go("go")


async def test_a_running_command_is_sent_to_the_background(desk: Desk) -> None:
    """The call returns; the command continues and keeps its output."""
    shown = asyncio.Event()
    ctx = replace(desk.ctx, progress=lambda _: shown.set())
    calling = asyncio.create_task(
        run(desk.bash, ctx, command=f"echo first; {wait_for('go')}; echo last", timeout=600_000)
    )
    async with asyncio.timeout(GUARD):
        await shown.wait()
    assert desk.shells.detach("ses_other") == 0
    assert desk.shells.detach("ses_1") == 1
    done = await calling
    assert done.output.startswith("first\n")
    assert "The user moved it to the background" in done.output
    assert not done.failed
    assert desk.shells.detach("ses_1") == 0
    desk.go("go")
    (info,) = desk.shells.snapshot()
    assert "last" in await desk.until(info.id, "ended with exit code 0")


async def test_a_cancel_while_it_starts_leaves_nothing(desk: Desk) -> None:
    calling = asyncio.create_task(desk.start("sleep 300"))
    async with asyncio.timeout(GUARD):
        await desk.events.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert desk.shells.snapshot()[0].state == "killed"


async def test_deleting_a_session_ends_its_shells(desk: Desk) -> None:
    _, done = await desk.start(f"echo $$; {wait_for('go')}")
    await desk.shells.end_session("ses_1")
    assert desk.shells.snapshot() == ()
    assert not done.failed


def marked(environ: bytes) -> list[int]:
    """Pids of living processes with *environ* in their environment."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if environ in (path / "environ").read_bytes() and alive(int(path.name)):
                found.append(int(path.name))
        except OSError:
            continue
    return found


async def test_they_outlive_the_turn_and_end_with_the_program(tmp_path: Path) -> None:
    """Also processes under nohup, and processes that ignore SIGTERM."""
    mark = f"MARK=shells-{os.getpid()}-{tmp_path.name}"
    stubborn = f"export {mark}; trap '' TERM; nohup sleep 300 & echo up; wait"
    async with open_harness(tmp_path, permission="allow") as harness:
        harness.server.script(
            answer(Call("bash", {"command": stubborn, "background": True})),
            answer(Call("bash", {"command": f"{mark} setsid nohup sleep 300 >/dev/null 2>&1 &"})),
            answer(Text("done")),
        )
        session = await harness.session()
        await harness.turn(session, "serve")
        (info,) = harness.runtime.shells.snapshot()
        assert info.state == "running"
        assert info.session_id == session.id
        assert marked(mark.encode())
    assert marked(mark.encode()) == []
