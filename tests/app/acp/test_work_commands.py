"""Goals, loops and worktrees in editors."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from tests.app.acp.conftest import ROOT, Desk, Home
from tests.support.script import Call, Text, answer

WRITE = Call("write", {"file_path": "made.txt", "content": "made\n"})


def git(folder: Path | str, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def make_repository(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.email", "me@example.org")
    git(folder, "config", "user.name", "Me")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")


async def test_one_prompt_works_on_a_goal_to_its_end(home: Home) -> None:
    home.settings(permission={"edit": "allow", "bash": "allow"})
    home.server.script(answer(Text("Looked. ")), answer(WRITE), answer(Text("Written.")))
    async with home.desk() as desk:
        session = await desk.new()
        await desk.editor.until(lambda e: bool(e.of("available_commands_update")))
        (offered,) = desk.editor.of("available_commands_update")
        names = {command.name for command in offered.available_commands}
        assert {"goal", "loop", "merge", "review"} <= names
        done = await desk.prompt(session.session_id, '/goal Write it --check "test -f made.txt"')
        assert done.stop_reason == "end_turn"
        assert "Looked. " in desk.editor.text()
        assert "Written." in desk.editor.text()
        await desk.prompt(session.session_id, "/goal")
        assert "is reached" in desk.editor.text()


async def test_a_cancel_ends_a_loop_between_its_turns(desk: Desk) -> None:
    desk.server.always(answer(Text("Nothing new.")))
    session = await desk.new()
    prompt = asyncio.create_task(desk.prompt(session.session_id, "/loop 10s look around"))
    await desk.editor.until(lambda e: "Nothing new." in e.text())
    await desk.agent.cancel(session_id=session.session_id)
    assert (await prompt).stop_reason == "cancelled"
    await desk.prompt(session.session_id, "hello")


async def test_a_session_of_a_worktree_is_loaded_and_merged(home: Home) -> None:
    make_repository(home.project)
    home.settings(permission={"edit": "allow"})
    home.server.script(
        answer(WRITE),
        answer(Text("Written.")),
        answer(Call("write", {"file_path": "more.txt", "content": "more\n"})),
        answer(Text("More.")),
    )
    launcher = [sys.executable, str(ROOT / "opencode_py.py"), "run", "--format", "json"]
    process = await asyncio.create_subprocess_exec(
        *(*launcher, "-w", "fix", "write it"),
        cwd=home.project,
        env=home.env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    session_id = json.loads(output.splitlines()[0])["session"]
    async with home.desk() as desk:
        await desk.agent.load_session(cwd=str(home.project), session_id=session_id, mcp_servers=[])
        await desk.prompt(session_id, "more")
        await desk.prompt(session_id, "/merge")
        assert "+++ made.txt" in desk.editor.text()
        assert "+++ more.txt" in desk.editor.text()
        await desk.prompt(session_id, "/merge squash")
        assert "are staged in" in desk.editor.text()
    assert git(home.project, "status", "--short") == "A  made.txt\nA  more.txt\n"
