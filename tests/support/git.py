"""Git repositories for tests."""

import subprocess
from pathlib import Path


def git(folder: Path | str, *words: str) -> str:
    """Run git in *folder*; return what it printed."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def make_repository(folder: Path) -> None:
    """Make *folder* a repository whose branch ``main`` has one commit of all its files."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.email", "me@example.org")
    git(folder, "config", "user.name", "Me")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
