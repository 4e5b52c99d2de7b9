"""``opencode-py agent list`` and ``create``."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.command import run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "shop").mkdir()
    return tmp_path


def agent(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(["agent", *arguments], cwd=folder / "shop", home=folder / "home")


def test_a_created_agent_is_listed_with_its_source(folder: Path) -> None:
    made = agent(
        folder, "create", "look", "--description", 'Looks: at "all"', "--mode", "subagent",
        "--model", "lab/big", "--deny", "edit", "--deny", "bash", "--prompt", "Look well.",
        "--json",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    path = Path(json.loads(made.stdout)["path"])
    assert path == folder / "home/config/agents/look.md"
    listed = {each["name"]: each for each in json.loads(agent(folder, "list", "--json").stdout)}
    assert {"build", "plan", "general", "explore", "look"} == set(listed)
    look = listed["look"]
    assert (look["mode"], look["model"]) == ("subagent", "lab/big")
    assert look["description"] == 'Looks: at "all"'
    assert look["source"].endswith("config/agents/look.md")
    assert [(r["permission"], r["action"]) for r in look["permission"]] == [
        ("edit", "deny"),
        ("bash", "deny"),
    ]
    assert "Look well." in path.read_text()
    assert listed["build"]["source"] == "built in"
    plain = agent(folder, "list").stdout
    assert "look   subagent" in plain


def test_no_file_is_overwritten_and_missing_arguments_are_reported(folder: Path) -> None:
    first = agent(folder, "create", "a", "--description", "d", "--project")
    assert first.returncode == 0
    path = folder / "shop/.opencode-py/agents/a.md"
    before = path.read_text()
    again = agent(folder, "create", "a", "--description", "other", "--project")
    assert (again.returncode, path.read_text()) == (1, before)
    assert "already" in again.stderr
    assert agent(folder, "create").returncode == 2
    assert agent(folder, "create", "../x", "--description", "d").returncode == 2
    assert "--description" in agent(folder, "create", "b").stderr
