"""``opencode-py completion``: each script is run by its shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.completion import SHELLS, script
from app.cli.main import COMMANDS
from tests.support.installed import InstalledProgram, ServerThread

LAUNCHER = [sys.executable, str(Path(__file__).parents[3] / "opencode_py.py"), "completion"]

BASH = """\
source /dev/stdin
COMP_WORDS=({words}) COMP_CWORD={at}
_shtab_opencode_py
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(*words: str, **more: object) -> list[str]:
    """Return what bash offers for the last of *words*."""
    typed = " ".join(f"'{word}'" for word in ("opencode-py", *words))
    done = subprocess.run(
        ["bash", "-c", BASH.format(words=typed, at=len(words))],
        input=script("bash"),
        capture_output=True,
        text=True,
        check=True,
        **more,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_offers_the_words_that_can_follow() -> None:
    assert set(COMMANDS) <= set(offered(""))
    assert offered("comp") == ["completion"]
    assert offered("completion", "z") == ["zsh"]
    assert offered("run", "--format", "o") == ["opencode"]
    assert offered("run", "--form") == ["--format"]
    assert {"config", "paths", "info"} <= set(offered("debug", ""))
    assert offered("debug", "paths", "--j") == ["--json"]
    assert offered("mcp", "ad") == ["add"]


def test_bash_offers_models_sessions_and_files(
    installed: InstalledProgram, scripted: ServerThread, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "opencode-py").write_text(f'#!/bin/sh\nexec {" ".join(LAUNCHER[:2])} "$@"\n')
    (folder / "opencode-py").chmod(0o755)
    path = f"{folder}:{installed.env['PATH']}"
    more = {"env": {**installed.env, "PATH": path}, "cwd": installed.project}
    subprocess.run(
        [*LAUNCHER[:2], "run", "-m", "demo/offline", "hello"],
        stdin=subprocess.DEVNULL, capture_output=True, check=True, **more,
    )  # fmt: skip
    assert offered("run", "--model", "scr", **more) == ["scripted/model-1"]
    (session,) = offered("run", "--session", "", **more)
    assert session.startswith("ses_")
    assert offered("session", "show", "ses_", **more) == [session]
    assert offered("run", "--file", "READ", **more) == ["README.md"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_word_is_in_every_script(shell: str) -> None:
    text = script(shell)
    for word in (*COMMANDS, "max-steps", "from-claude-code", "completion models"):
        assert word in text
    program = shutil.which(shell)
    if program is not None:  # the syntax, where the shell is there
        subprocess.run([program, "-n"], input=text.encode(), check=True)


def test_the_command_prints_the_script_and_explains_its_use() -> None:
    done = subprocess.run([*LAUNCHER, "bash"], capture_output=True, text=True, check=True)
    assert "complete -o" in done.stdout
    assert os.fspath(Path.home()) not in done.stdout
    wrong = subprocess.run([*LAUNCHER, "tcsh"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "bash" in wrong.stderr
