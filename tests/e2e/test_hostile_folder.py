"""The installed program in hostile repositories: nothing of the folder runs, trusted or not."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND, InstalledProgram, Runner, ServerThread
from tests.e2e.program import BUSY, allow_everything
from tests.support.hostile_repositories import TRAPS
from tests.support.script import Call, Text, answer

pytestmark = pytest.mark.e2e

KINDS = ("fsmonitor", "ssh command of a promisor", "submodule", "committed nested repository")


@pytest.fixture(params=KINDS)
def mark(request: pytest.FixtureRequest, installed: InstalledProgram, tmp_path: Path) -> Path:
    """Make the project a hostile repository; return the file that its program would create."""
    mark, script = tmp_path / "sprung", tmp_path / "run"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    shutil.rmtree(installed.project)
    TRAPS[request.param].plant(installed.project, str(script))
    mark.unlink(missing_ok=True)
    return mark


def test_the_screen_a_turn_and_an_undo_run_nothing(
    run: Runner, installed: InstalledProgram, scripted: ServerThread, mark: Path
) -> None:
    allow_everything(installed, scripted)
    scripted.server.script(
        answer(Call("write", {"file_path": "made.txt", "content": "x"})), answer(Text("all done"))
    )
    with run(rows=40) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"all done")
        terminal.wait(BUSY, gone=True)
        terminal.enter("/undo")
        terminal.wait(r"made\.txt +will be deleted")
        terminal.send("\r")
        terminal.until(lambda: not (installed.project / "made.txt").exists(), "nothing was undone")
        assert not mark.exists()


def test_a_headless_run_runs_nothing(
    installed: InstalledProgram, scripted: ServerThread, mark: Path
) -> None:
    allow_everything(installed, scripted)
    scripted.server.script(answer(Text("all done")))
    done = subprocess.run(
        [COMMAND, "run", "go"],
        cwd=installed.project,
        env=installed.env,
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"all done\n", done
    assert not mark.exists()
