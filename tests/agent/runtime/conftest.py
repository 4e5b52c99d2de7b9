"""A repository with one commit, and the program's folders."""

from pathlib import Path

import pytest

from agent.config.paths import Paths
from tests.support.git import make_repository


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.find({"HOME": str(tmp_path), "OPENCODE_PY_DATA": str(tmp_path / "data")})


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitignore").write_text(".env\nsecrets/\n")
    make_repository(folder)
    return folder
