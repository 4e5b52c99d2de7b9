"""Background commands for tests: records, and real ones."""

from pathlib import Path

from agent.files import FileTracker
from agent.process import Capture, Command, SpillStore, child_environment, shell_argv, start
from agent.records.background import ShellInfo
from agent.tools.core.tool import ToolContext
from tests.app.conftest import Running


def info(command: str, **more: object) -> ShellInfo:
    return ShellInfo(
        id=f"shell_{len(command):04x}",
        session_id="ses_1",
        root_id="ses_1",
        command=command,
        description="",
        directory="/w",
        started=1_000.0,
        **more,
    )


async def run_in_background(running: Running, folder: Path, command: str) -> str:
    """Start *command* as the bash tool does; returns its id."""
    ctx = ToolContext(
        session_id="ses_1",
        root_id="ses_1",
        message_id="msg_1",
        call_id="call_1",
        agent="build",
        directory=str(folder),
        project=str(folder),
        files=FileTracker(),
        progress=lambda _: None,
        ask=None,
    )
    capture = Capture(SpillStore(folder / "spill"), max_lines=2_000, max_bytes=50_000)
    env = child_environment({"PATH": "/usr/bin:/bin"}, ())
    started = await start(
        Command(argv=shell_argv(command), directory=str(folder), env=env, timeout=None), capture
    )
    shells = running.runtime.shells
    return shells.adopt(
        started, ctx, command=command, description="", directory=str(folder), timeout=None
    ).id
