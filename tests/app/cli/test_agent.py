"""``opencode-py agent list`` and ``create``."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.command import run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "shop").mkdir()
    return tmp_path


def agent(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(["agent", *arguments], cwd=place / "shop", home=place / "home")


def test_a_created_agent_is_listed_with_its_source(place: Path) -> None:
    made = agent(
        place, "create", "look", "--description", 'Looks: at "all"', "--mode", "subagent",
        "--model", "lab/big", "--deny", "edit", "--deny", "bash", "--prompt", "Look well.",
        "--json",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    path = Path(json.loads(made.stdout)["path"])
    assert path == place / "home/config/agents/look.md"
    listed = {each["name"]: each for each in json.loads(agent(place, "list", "--json").stdout)}
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
    plain = agent(place, "list").stdout
    assert "look   subagent" in plain


def test_no_file_is_overwritten_and_missing_arguments_are_reported(place: Path) -> None:
    first = agent(place, "create", "a", "--description", "d", "--project")
    assert first.returncode == 0
    path = place / "shop/.opencode-py/agents/a.md"
    before = path.read_text()
    again = agent(place, "create", "a", "--description", "other", "--project")
    assert (again.returncode, path.read_text()) == (1, before)
    assert "already" in again.stderr
    assert agent(place, "create").returncode == 2
    assert agent(place, "create", "../x", "--description", "d").returncode == 2
    assert "--description" in agent(place, "create", "b").stderr
