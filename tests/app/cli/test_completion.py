"""``opencode-py completion``: each script is run by its shell."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.completion import SCRIPTS, installed_command_words
from app.cli.main import COMMANDS

LAUNCHER = [sys.executable, str(Path(__file__).parents[3] / "opencode_py.py"), "completion"]

BASH = """\
source /dev/stdin
COMP_WORDS=({words}) COMP_CWORD={at}
_opencode_py
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(*words: str) -> list[str]:
    """Return what bash offers for the last of *words*."""
    typed = " ".join(f"'{word}'" for word in ("opencode-py", *words))
    done = subprocess.run(
        ["bash", "-c", BASH.format(words=typed, at=len(words))],
        input=SCRIPTS["bash"](installed_command_words()),
        capture_output=True,
        text=True,
        check=True,
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
    assert offered("somewhere", "--resu") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_every_word_is_in_every_script(shell: str) -> None:
    script = SCRIPTS[shell](installed_command_words())
    for place in installed_command_words():
        for word in place.words:
            assert word.text.lstrip("-") in script
    program = shutil.which(shell)
    if program is not None:  # the syntax, where the shell is there
        subprocess.run([program, "-n"], input=script.encode(), check=True)


def test_the_command_prints_the_script_and_explains_its_use() -> None:
    done = subprocess.run([*LAUNCHER, "bash"], capture_output=True, text=True, check=True)
    assert "complete -o" in done.stdout
    wrong = subprocess.run([*LAUNCHER, "tcsh"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "bash" in wrong.stderr
