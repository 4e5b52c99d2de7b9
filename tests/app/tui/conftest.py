"""A repository in the folder that the app opens."""

from pathlib import Path

import pytest

from tests.app.tui.worktree_steps import git


@pytest.fixture
def shop(work: Path) -> Path:
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.email", "me@example.org"),
        ("config", "user.name", "Me"),
        ("add", "."),
        ("commit", "-q", "-m", "one"),
    ):
        git(work, *words)
    return work
