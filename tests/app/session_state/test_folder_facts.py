"""The facts of a folder for the status line."""

from pathlib import Path

from agent.config.paths import Paths
from agent.runtime.worktrees import git_status
from app.session_state.folder_facts import parse_git_status
from tests.support.git import git, make_repository


async def test_files_are_counted_whatever_their_names_contain(tmp_path: Path) -> None:
    """A renamed file is one."""
    paths = Paths.find({"HOME": str(tmp_path), "OPENCODE_PY_DATA": str(tmp_path / "data")})
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    make_repository(folder)
    git(folder, "mv", "a.txt", "b.txt")
    (folder / "x\r1\u2028y\n# z").touch()
    branch = git(folder, "branch", "--show-current").strip()
    assert parse_git_status(await git_status(paths, folder)) == (branch, 2)
    assert parse_git_status(None) == (None, None)
