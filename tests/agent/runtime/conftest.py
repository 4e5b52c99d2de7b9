"""A repository with one commit, and the program's folders."""

import os
import subprocess
from pathlib import Path

import pytest

from agent.config.paths import Paths


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.find({"HOME": str(tmp_path), "OPENCODE_PY_DATA": str(tmp_path / "data")})


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitignore").write_text(".env\nsecrets/\n")
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "config", "user.email", "me@example.org")
    _git(folder, "config", "user.name", "Me")
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "one")
    return folder


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ})
