"""The command that starts the program again works when it is typed."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.startup.launch import own_command, with_command


def program(folder: Path, name: str = "opencode-py", mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!{sys.executable}\nprint('started')\n")
    file.chmod(mode)
    return file


@pytest.mark.parametrize("linked", [False, True])
def test_a_program_on_the_path_is_its_name(tmp_path: Path, linked: bool) -> None:
    file = program(tmp_path / "venv")
    folder = tmp_path / "bin" if linked else file.parent
    if linked:
        folder.mkdir()
        (folder / "opencode-py").symlink_to(file)
    assert own_command(str(file), str(folder)) == "opencode-py"


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize(("name", "mode"), [("opencode-py", 0o755), ("opencode_py.py", 0o644)])
@pytest.mark.parametrize("inside", [False, True])
def test_any_other_program_is_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: bool, name: str, mode: int, inside: bool
) -> None:
    file = program(tmp_path / "a clone" / "bin", name, mode)
    monkeypatch.chdir(tmp_path / "a clone" if inside else Path("/"))
    path = program(tmp_path / "other").parent if other else tmp_path
    command = own_command(str(file), str(path))
    done = subprocess.run(
        command, shell=True, env={"PATH": str(path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "started\n"
    assert (str(tmp_path) not in command) == inside


def test_a_command_that_is_too_wide_gets_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert with_command("To continue:", "x" * 27) == f"To continue: {'x' * 27}"
    assert with_command("To continue:", "x" * 28) == f"To continue:\n{'x' * 28}"
